"""Loading: from a recipe to a compiled MuJoCo model, and from that to the fields of a Robot."""

import hashlib
import xml.etree.ElementTree as ElementTree
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots import catalogue
from softground.robots.actuators import actuators, rotors, switched_off
from softground.robots.bodies import FEET, find_bodies
from softground.robots.catalogue import Recipe
from softground.robots.feet import find_feet
from softground.robots.names import close_matches
from softground.robots.posture import (
    Posture,
    find_posture,
    join,
    lock_joints,
    match_joints,
    out_of_plane_joints,
    plane_base,
    split,
)
from softground.robots.shapes import Shape
from softground.robots.tree import FREE, HINGE, SLIDE, build_tree
from softground.robots.unsupported import leave_out, refuse
from softground.robots.urdf import read_urdf


@dataclass(frozen=True)
class Built:
    """A model ready for use, with the posture as its configuration."""

    spec: mujoco.MjSpec
    model: mujoco.MjModel
    posture: np.ndarray
    entry: catalogue.Entry
    feet: dict[str, Shape | None] | None
    """Names of the feet with their shapes (None: from the model); None: those marked in the model."""
    actuators_given: bool
    """Whether the file says which joints have actuators."""


def load_fields(recipe: Recipe) -> dict:
    """Everything `Robot` holds, read from the model that the recipe describes."""
    built = build(recipe)
    model, source = built.model, recipe.source
    tree, parameters, attachments = build_tree(model)
    armature, damping = rotors(model)
    moving = [b for b in range(1, model.nbody) if model.body_jntnum[b] > 0]
    joint_range = _joint_range(model)
    planar = not out_of_plane_joints(model, split(model, built.posture))
    feet = find_feet(model, attachments, built.posture, planar, built.feet, source)
    fields: dict[str, Any] = dict(
        name=built.entry.name,
        tree=tree,
        joint_names=tuple(model.joint(j).name for j in range(model.njnt)),
        body_names=tuple(model.body(b).name for b in moving),
        limited=tuple(int(i) for i in np.flatnonzero(np.isfinite(joint_range).any(axis=1))),
        planar=planar,
        parameters=replace(parameters, armature=parameters.armature + armature),
        feet=feet,
        gravity=_unless_off(model, model.opt.gravity, "gravity"),
        damping=_unless_off(model, model.dof_damping + damping, "damper"),
        stiffness=_unless_off(model, model.jnt_stiffness[model.dof_jntid], "spring"),
        spring_reference=_per_dof(model, model.qpos_spring),
        friction_loss=_unless_off(model, model.dof_frictionloss, "frictionloss", "constraint"),
        joint_range=joint_range,
        posture=built.posture,
        **actuators(model, built.actuators_given, source),
    )
    if recipe.contacts != FEET:
        names = [model.body(b).name for b in moving]
        fields["bodies"] = find_bodies(model, attachments, built.posture, names, feet, recipe.contacts, source)
    sha256 = _digest(fields)
    _remember(sha256, False, model)
    return fields | dict(recipe=recipe, sha256=sha256)


def build(recipe: Recipe, meshes: bool = False) -> Built:
    """Compile the model: read the file, lock joints, make it planar; refuse what the dynamics do not have."""
    entry = catalogue.resolve(recipe.source)
    source = recipe.source
    feet = entry.feet_argument() if recipe.feet is None else recipe.feet_argument()
    unshaped = [name for name, shape in (feet or {}).items() if shape is None]
    spec, actuators_given = read_spec(entry.path, source, meshes, unshaped, recipe.contacts != FEET)
    _name_everything(spec)
    for frame in entry.frames:
        spec.body(frame.body).add_site(name=frame.name, pos=frame.position)
    model = compile_spec(spec, source)
    if recipe.ignore:
        leave_out(spec, recipe.ignore, source)
        model = compile_spec(spec, source)
    wanted = recipe.posture if recipe.posture is not None else entry.posture()
    posture = find_posture(model, dict(wanted) if isinstance(wanted, tuple) else wanted, source)
    edited = bool(entry.lock or entry.keep or recipe.lock)
    if edited:
        lock = [(name, None) for name in entry.locked_joints(posture)]
        spec, model, posture = _lock(spec, model, posture, [*lock, *recipe.lock], source)
    if recipe.planar:
        spec, model, posture = _lock_out_of_plane(spec, model, posture, source)
        edited = True
    if model.njnt == 0:
        raise RobotError(f"{source}: the model has no joints: nothing in it can move")
    refuse(model, source)  # what the locked joints had is gone; the planar base may yet take actuators with it
    if recipe.planar and out_of_plane_joints(model, posture):
        posture = plane_base(spec, model, posture, source)
        model = compile_spec(spec, source)
    qpos = join(model, posture)
    if edited or model.nkey == 0:
        for key in list(spec.keys):  # of a model that was planar already: they may bear the same name
            spec.delete(key)
        spec.add_key(name="stand", qpos=qpos)
        model = compile_spec(spec, source)
    return Built(spec, model, qpos, entry, feet, actuators_given)


def read_spec(
    path: Path, source: str, meshes: bool, feet: list[str], collisions: bool = False
) -> tuple[mujoco.MjSpec, bool]:
    """Parse an MJCF or URDF file, told apart by its root element; also whether it says where actuators are.

    `feet` are those that take their shape from the file. collisions: whether collision meshes are wanted.
    """
    if not path.is_file():
        raise RobotError(
            f"no robot {source!r}: neither a file nor in the catalogue. " + close_matches(source, catalogue.NAMES)
        )
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise RobotError(f"{path}: not well-formed XML: {error}") from error
    try:
        if root.tag == "robot":
            return read_urdf(root, path, meshes, feet, collisions), True
        if root.tag == "mujoco":
            spec = mujoco.MjSpec.from_file(str(path))
            return spec, len(spec.actuators) > 0
    except RobotError:
        raise
    except ValueError as error:
        raise RobotError(f"{path}: MuJoCo cannot read it: {error}") from error
    raise RobotError(f"{path}: the root element must be <mujoco> (MJCF) or <robot> (URDF), got <{root.tag}>")


def compile_spec(spec: mujoco.MjSpec, source: str) -> mujoco.MjModel:
    """Compile, with MuJoCo's complaint as our error."""
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        hint = ""
        if "mass" in str(error) or "inertia" in str(error):
            hint = " (every body that moves needs mass and inertia, of its own or of bodies fixed to it)"
        raise RobotError(f"{source}: MuJoCo cannot compile it: {error}{hint}") from error


def compiled_model(recipe: Recipe, sha256: str, meshes: bool) -> mujoco.MjModel:
    """The MuJoCo model of a loaded robot, from memory or built again."""
    if (sha256, meshes) not in _models:
        try:
            model = build(recipe, meshes).model
        except RobotError:
            if not meshes:
                raise
            model = build(recipe).model  # meshes are for looks: a bad one must not stop anything
        _remember(sha256, meshes, model)
    return _models[sha256, meshes]


_models: OrderedDict[tuple[str, bool], mujoco.MjModel] = OrderedDict()
_MODELS_KEPT = 32


def _remember(sha256: str, meshes: bool, model: mujoco.MjModel) -> None:
    _models[sha256, meshes] = model
    while len(_models) > _MODELS_KEPT:
        _models.popitem(last=False)


def _name_everything(spec: mujoco.MjSpec) -> None:
    """Give names to bodies and joints without one: feet, locks and postures go by name."""
    for number, body in enumerate(spec.bodies[1:], start=1):
        if not body.name:
            body.name = f"body{number}"
    taken = {joint.name for joint in spec.joints}
    for joint in spec.joints:
        if not joint.name:
            stem = f"{joint.parent.name}_joint"
            names = [stem, *(f"{stem}{k}" for k in range(2, 100))]
            joint.name = next(name for name in names if name not in taken)
            taken.add(joint.name)


def _lock(spec, model, posture: Posture, lock, source: str):
    values = match_joints(lock, posture, source)
    if len(values) == model.njnt:
        raise RobotError(f"{source}: lock leaves no joint free")
    if spec.frames:  # poses inside <frame> are relative to it: write them out flat first
        spec = mujoco.MjSpec.from_string(spec.to_xml(), assets=spec.assets)
    lock_joints(spec, model, values, source)
    posture = {name: value for name, value in posture.items() if name not in values}
    return spec, compile_spec(spec, source), posture


def _lock_out_of_plane(spec, model, posture: Posture, source: str):
    """Lock every joint that leaves the plane, but for free ones: the base becomes x, z and pitch."""
    outside = out_of_plane_joints(model, posture)
    leaving = [(name, None) for name in outside if model.joint(name).type[0] != FREE]
    if outside and len(outside) == len(posture):
        raise RobotError(
            f"{source}: cannot be made planar: at the posture none of its joints turns about "
            "world y or slides in x-z (joints that spread the legs can be set upright with lock={...: 0})"
        )
    return _lock(spec, model, posture, leaving, source) if leaving else (spec, model, posture)


def _unless_off(model: mujoco.MjModel, values: np.ndarray, *flags: str) -> np.ndarray:
    """A copy of the values; zeros where a flag of the file switches them off."""
    return np.zeros_like(values) if switched_off(model, *flags) else np.array(values, float)


def _per_dof(model: mujoco.MjModel, per_q: np.ndarray) -> np.ndarray:
    """Values of slides and hinges by dof; zero for other joints."""
    values = np.zeros(model.nv)
    for j in range(model.njnt):
        if model.jnt_type[j] in (SLIDE, HINGE):
            values[model.jnt_dofadr[j]] = per_q[model.jnt_qposadr[j]]
    return values


def _joint_range(model: mujoco.MjModel) -> np.ndarray:
    """(nv, 2) limits of slides and hinges, infinite elsewhere.

    MuJoCo's limits push back from `margin` before the end of the range on, to which they bring the joint back: that is
    where the limit is.
    """
    limits = np.tile([-np.inf, np.inf], (model.nv, 1))
    if switched_off(model, "limit", "constraint"):
        return limits
    for j in range(model.njnt):
        if model.jnt_limited[j] and model.jnt_type[j] in (SLIDE, HINGE):
            limits[model.jnt_dofadr[j]] = model.jnt_range[j] + model.jnt_margin[j] * np.array([1.0, -1.0])
    return limits


def _digest(fields: dict) -> str:
    """SHA-256 over structure and every array."""
    digest = hashlib.sha256()
    leaves, structure = jax.tree.flatten({k: v for k, v in fields.items() if k != "name"})
    digest.update(str(structure).encode())
    for leaf in leaves:
        digest.update(leaf.tobytes() if isinstance(leaf, np.ndarray) else repr(leaf).encode())
    return digest.hexdigest()
