"""Loading: from a recipe to a compiled MuJoCo model, and from that to the fields of a Robot."""

import hashlib
import warnings
import xml.etree.ElementTree as ElementTree
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import jax
import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots import catalogue
from softground.robots.feet import find_feet
from softground.robots.locking import lock_joints, match_joints
from softground.robots.names import close_matches
from softground.robots.planar import out_of_plane_joints, plane_base
from softground.robots.posture import Posture, find_posture, join, split
from softground.robots.recipe import Recipe
from softground.robots.tree import BALL, FREE, HINGE, SLIDE, build_tree
from softground.robots.urdf import read_urdf


@dataclass(frozen=True)
class Built:
    """A model ready for use, with the posture as its configuration."""

    spec: mujoco.MjSpec
    model: mujoco.MjModel
    posture: np.ndarray
    entry: catalogue.Entry


def load_fields(recipe: Recipe) -> dict:
    """Everything `Robot` holds, read from the model that the recipe describes."""
    built = build(recipe)
    model, source = built.model, recipe.source
    _check_supported(model, source)
    tree, parameters, attachments = build_tree(model)
    wanted_feet = built.entry.feet_argument() if recipe.feet is None else recipe.feet_argument()
    moving = [b for b in range(1, model.nbody) if model.body_jntnum[b] > 0]
    joint_range = _joint_range(model)
    fields = dict(
        name=built.entry.name,
        tree=tree,
        joint_names=tuple(model.joint(j).name for j in range(model.njnt)),
        body_names=tuple(model.body(b).name for b in moving),
        limited=tuple(int(i) for i in np.flatnonzero(np.isfinite(joint_range).any(axis=1))),
        planar=not out_of_plane_joints(model, split(model, built.posture)),
        parameters=parameters,
        feet=find_feet(model, attachments, built.posture, wanted_feet, source),
        gravity=model.opt.gravity.copy(),
        damping=_linear(model.dof_damping, model.nv),
        stiffness=_linear(model.jnt_stiffness, model.njnt)[model.dof_jntid],
        spring_reference=_per_dof(model, model.qpos_spring),
        friction_loss=model.dof_frictionloss.copy(),
        joint_range=joint_range,
        posture=built.posture,
        **_motors(model),
    )
    sha256 = _digest(fields)
    _remember(sha256, False, model)
    return fields | dict(recipe=recipe, sha256=sha256)


def build(recipe: Recipe, meshes: bool = False) -> Built:
    """Compile the model: read the file, lock joints, make it planar."""
    entry = catalogue.resolve(recipe.source)
    source = recipe.source
    spec = read_spec(entry.path, source, meshes)
    _name_everything(spec)
    for frame in entry.frames:
        spec.body(frame.body).add_site(name=frame.name, pos=frame.position)
    model = compile_spec(spec, source)
    wanted = recipe.posture if recipe.posture is not None else entry.posture()
    posture = find_posture(model, dict(wanted) if isinstance(wanted, tuple) else wanted, source)
    edited = bool(entry.lock or entry.keep or recipe.lock)
    if edited:
        lock = [(name, None) for name in entry.locked_joints(posture)]
        spec, model, posture = _lock(spec, model, posture, [*lock, *recipe.lock], source)
    if recipe.planar:
        spec, model, posture = _make_planar(spec, model, posture, source)
        edited = True
    qpos = join(model, posture)
    if edited or model.nkey == 0:
        for key in list(spec.keys):  # of a model that was planar already: they may bear the same name
            spec.delete(key)
        spec.add_key(name="stand", qpos=qpos)
        model = compile_spec(spec, source)
    return Built(spec, model, qpos, entry)


def read_spec(path: Path, source: str, meshes: bool) -> mujoco.MjSpec:
    """Parse an MJCF or URDF file, told apart by its root element."""
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
            return read_urdf(root, path, meshes)
        if root.tag == "mujoco":
            return mujoco.MjSpec.from_file(str(path))
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
    lock_joints(spec, model, values)
    posture = {name: value for name, value in posture.items() if name not in values}
    return spec, compile_spec(spec, source), posture


def _make_planar(spec, model, posture: Posture, source: str):
    """Free base to x, z, pitch; every other joint that leaves the plane locked."""
    outside = out_of_plane_joints(model, posture)
    if not outside:
        return spec, model, posture
    free = [name for name in outside if model.joint(name).type[0] == FREE]
    leaving = [(name, None) for name in outside if name not in free]
    if len(outside) == len(posture):
        raise RobotError(
            f"{source}: cannot be made planar: at the posture none of its joints turns about "
            "world y or slides in x-z (joints that spread the legs can be set upright with lock={...: 0})"
        )
    if leaving:
        spec, model, posture = _lock(spec, model, posture, leaving, source)
    posture = plane_base(spec, model, posture, source)
    return spec, compile_spec(spec, source), posture


def _check_supported(model: mujoco.MjModel, source: str) -> None:
    """Refuse what would be wrong, warn of what is left out."""
    if model.njnt == 0:
        raise RobotError(f"{source}: the model has no joints: nothing in it can move")
    sprung = [
        model.joint(j).name
        for j in range(model.njnt)
        if model.jnt_type[j] in (FREE, BALL) and np.any(model.jnt_stiffness[j])
    ]
    if sprung:
        raise RobotError(f"{source}: springs on free or ball joints are not supported: {', '.join(sprung)}")
    left_out = {"equality constraints": model.neq, "tendons": model.ntendon}
    found = [f"{count} {what}" for what, count in left_out.items() if count]
    if found:
        warnings.warn(f"{source}: {' and '.join(found)} are not part of the dynamics and are ignored", stacklevel=4)


def _linear(coefficients: np.ndarray, count: int) -> np.ndarray:
    """The linear coefficient of springs or dampers (MuJoCo may store those of a polynomial after it)."""
    return np.array(coefficients, float).reshape(count, -1)[:, 0].copy()


def _per_dof(model: mujoco.MjModel, per_q: np.ndarray) -> np.ndarray:
    """Values of slides and hinges by dof; zero for other joints."""
    values = np.zeros(model.nv)
    for j in range(model.njnt):
        if model.jnt_type[j] in (SLIDE, HINGE):
            values[model.jnt_dofadr[j]] = per_q[model.jnt_qposadr[j]]
    return values


def _joint_range(model: mujoco.MjModel) -> np.ndarray:
    """(nv, 2) limits of slides and hinges, infinite elsewhere."""
    limits = np.tile([-np.inf, np.inf], (model.nv, 1))
    for j in range(model.njnt):
        if model.jnt_limited[j] and model.jnt_type[j] in (SLIDE, HINGE):
            limits[model.jnt_dofadr[j]] = model.jnt_range[j]
    return limits


def _motors(model: mujoco.MjModel) -> dict:
    """Actuated dofs and their effort limits: motors on slides and hinges; if none, all but the base."""
    limit: dict[int, float] = {}
    for actuator in range(model.nu):
        joint = model.actuator_trnid[actuator, 0]
        on_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
        if on_joint and model.jnt_type[joint] in (SLIDE, HINGE):
            dof = int(model.jnt_dofadr[joint])
            limit[dof] = limit.get(dof, 0.0) + _motor_limit(model, actuator)
    if model.nu == 0:
        limit = {
            int(model.jnt_dofadr[j]): np.inf
            for j in range(model.njnt)
            if model.jnt_type[j] in (SLIDE, HINGE) and not _is_base(model, j)
        }
    for dof in limit:
        joint = model.dof_jntid[dof]
        if model.jnt_actfrclimited[joint]:
            limit[dof] = min(limit[dof], float(np.abs(model.jnt_actfrcrange[joint]).max()))
    return dict(actuated=tuple(limit), torque_limit=np.array(list(limit.values()), float))


def _is_base(model: mujoco.MjModel, joint: int) -> bool:
    """Whether the joint is one of several that carry a root body (a planar or spatial base)."""
    body = model.jnt_bodyid[joint]
    return bool(model.body_parentid[body] == 0 and model.body_jntnum[body] > 1)


def _motor_limit(model: mujoco.MjModel, actuator: int) -> float:
    """Greatest joint effort of one actuator (N m, N)."""
    gear = abs(float(model.actuator_gear[actuator, 0]))
    limit = np.inf
    if model.actuator_forcelimited[actuator]:
        limit = gear * float(np.abs(model.actuator_forcerange[actuator]).max())
    direct = (
        model.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_FIXED
        and model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE
    )
    if direct and model.actuator_ctrllimited[actuator]:
        gain = abs(float(model.actuator_gainprm[actuator, 0]))
        limit = min(limit, gear * gain * float(np.abs(model.actuator_ctrlrange[actuator]).max()))
    return limit


def _digest(fields: dict) -> str:
    """SHA-256 over structure and every array."""
    digest = hashlib.sha256()
    leaves, structure = jax.tree.flatten({k: v for k, v in fields.items() if k != "name"})
    digest.update(str(structure).encode())
    for leaf in leaves:
        digest.update(leaf.tobytes() if isinstance(leaf, np.ndarray) else repr(leaf).encode())
    return digest.hexdigest()
