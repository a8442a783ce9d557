"""What a model file may say that our dynamics do not have: refused by name, or left out if that is asked for.

Nothing that moves a robot is dropped in silence. docs/model_files.md lists every feature of a file: kept, refused (one
`Refusal` below, or an error where the file is read), or without effect on us.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from softground.errors import RobotError, unknown_name
from softground.robots.actuators import drives_a_joint, is_enabled, switched_off
from softground.robots.tree import BALL, FREE


@dataclass(frozen=True)
class Refusal:
    """One feature that is refused."""

    name: str
    """By which `Robot.load(..., ignore=[name])` leaves it out."""
    what: str
    """What is found, as the start of a message."""
    find: Callable[[mujoco.MjModel], Iterator[str]]
    """Names of the elements at fault."""
    remedy: str
    remove: Callable[[mujoco.MjSpec], None] | None
    """Takes the feature out of a model; None: only an edit of the file can."""


def refuse(model: mujoco.MjModel, source: str) -> None:
    """RobotError that names all that the dynamics would not have, with the remedies."""
    messages = []
    for refusal in REFUSALS:
        names = list(refusal.find(model))
        if names:
            ignore = f", or load it without: ignore=[{refusal.name!r}]" if refusal.remove else ""
            messages.append(f"{refusal.what} ({', '.join(names)}). {refusal.remedy}{ignore}")
    if messages:
        raise RobotError(f"{source}: " + "; ".join(messages))


def leave_out(spec: mujoco.MjSpec, ignore: Iterable[str], source: str) -> None:
    """Take the named features out of the model, in place."""
    removable = {refusal.name: refusal.remove for refusal in REFUSALS if refusal.remove}
    for name in ignore:
        if name not in removable:
            raise RobotError(f"{source}: {unknown_name('feature to ignore', name, removable)}")
        removable[name](spec)
    delete_all(spec, spec.sensors)  # without effect on us, and one of what has gone would not compile
    for key in spec.keys:
        key.ctrl, key.act = [], []  # of the actuators that there were


def delete_all(spec: mujoco.MjSpec, elements: Iterable) -> None:
    """Delete elements of the model."""
    for element in list(elements):
        spec.delete(element)


def has_effect(tendon: mujoco.MjsTendon) -> bool:
    """Whether a tendon does anything by itself, without an actuator or equality."""
    parameters = (tendon.stiffness, tendon.damping, tendon.frictionloss, getattr(tendon, "armature", 0.0))
    limited = tendon.limited == mujoco.mjtLimited.mjLIMITED_TRUE or tendon.range[0] < tendon.range[1]
    return bool(limited or any(np.any(np.asarray(value) != 0) for value in parameters))


def _named(model: mujoco.MjModel, kind: mujoco.mjtObj, number: int) -> str:
    """Name of an element, or its number where it has none."""
    return mujoco.mj_id2name(model, kind, int(number)) or f"number {number}"


def _moving_bodies(model: mujoco.MjModel) -> Iterator[int]:
    """Bodies that some joint moves."""
    return (b for b in range(1, model.nbody) if model.body_dofnum[model.body_weldid[b]] > 0)


def _weightless(model: mujoco.MjModel) -> Iterator[str]:
    if np.any(model.opt.gravity) and not switched_off(model, "gravity"):
        yield from (model.body(b).name for b in _moving_bodies(model) if model.body_gravcomp[b] and model.body_mass[b])


def _fluid(model: mujoco.MjModel) -> Iterator[str]:
    for name in ("density", "viscosity"):
        if getattr(model.opt, name) > 0:
            yield f"{name} {getattr(model.opt, name):g}"


def _equalities(model: mujoco.MjModel) -> Iterator[str]:
    if switched_off(model, "equality", "constraint"):
        return
    for e in range(model.neq):
        if model.eq_active0[e]:
            yield f"{mujoco.mjtEq(model.eq_type[e]).name.removeprefix('mjEQ_').lower()} {_equality_name(model, e)}"


def _equality_name(model: mujoco.MjModel, equality: int) -> str:
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, equality)
    kinds = {mujoco.mjtEq.mjEQ_JOINT: mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtEq.mjEQ_TENDON: mujoco.mjtObj.mjOBJ_TENDON}
    kind = kinds.get(mujoco.mjtEq(model.eq_type[equality]), mujoco.mjtObj(model.eq_objtype[equality]))
    ends = [n for n in (model.eq_obj1id[equality], model.eq_obj2id[equality]) if n >= 0]
    return name or "-".join(_named(model, kind, n) for n in ends)


def _tendons(model: mujoco.MjModel) -> Iterator[str]:
    fields = ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss", "armature", "limited")
    for t in range(model.ntendon):
        if any(np.any(getattr(model, f"tendon_{field}", np.zeros(model.ntendon))[t]) for field in fields):
            yield _named(model, mujoco.mjtObj.mjOBJ_TENDON, t)


def _remove_tendons(spec: mujoco.MjSpec) -> None:
    pulled = [a for a in spec.actuators if a.trntype == mujoco.mjtTrn.mjTRN_TENDON]
    coupled = [e for e in spec.equalities if e.type == mujoco.mjtEq.mjEQ_TENDON]
    for elements in (pulled, coupled, spec.tendons):
        delete_all(spec, elements)


def _actuators(model: mujoco.MjModel) -> Iterator[str]:
    for a in range(len(model.actuator_trntype)):
        if is_enabled(model, a) and not drives_a_joint(model, a):
            yield _named(model, mujoco.mjtObj.mjOBJ_ACTUATOR, a)


def _remove_actuators(spec: mujoco.MjSpec) -> None:
    model = spec.compile()
    delete_all(spec, [a for a in spec.actuators if not drives_a_joint(model, a.id)])


def _by_actuator(field: str) -> Callable[[mujoco.MjModel], Iterator[str]]:
    """Enabled actuators for which a field of the model is not zero."""

    def find(model: mujoco.MjModel) -> Iterator[str]:
        values = getattr(model, field, None)
        for a in range(0 if values is None else len(model.actuator_trntype)):
            if values is not None and np.any(values[a]) and is_enabled(model, a):
                yield _named(model, mujoco.mjtObj.mjOBJ_ACTUATOR, a)

    return find


def _remove_activations(spec: mujoco.MjSpec) -> None:
    for actuator in spec.actuators:
        actuator.dyntype = mujoco.mjtDyn.mjDYN_NONE
        actuator.actlimited, actuator.actrange = mujoco.mjtLimited.mjLIMITED_FALSE, [0.0, 0.0]


def _remove_delays(spec: mujoco.MjSpec) -> None:
    for actuator in spec.actuators:
        actuator.delay, actuator.nsample = 0.0, 0


def _polynomials(model: mujoco.MjModel) -> Iterator[str]:
    springs = getattr(model, "jnt_stiffnesspoly", np.zeros((model.njnt, 1)))
    dampers = getattr(model, "dof_dampingpoly", np.zeros((model.nv, 1)))
    for j in range(model.njnt):
        if np.any(springs[j]) or np.any(dampers[model.jnt_dofadr[j]]):
            yield f"joint {model.joint(j).name}"
    for name in _by_actuator("actuator_dampingpoly")(model):
        yield f"actuator {name}"


def _remove_polynomials(spec: mujoco.MjSpec) -> None:
    for joint in spec.joints:
        joint.stiffness, joint.damping = _first(joint.stiffness), _first(joint.damping)
    for actuator in spec.actuators:
        actuator.damping = _first(actuator.damping)


def _first(coefficients: np.ndarray) -> np.ndarray:
    """The linear coefficient alone."""
    return coefficients * (np.arange(len(coefficients)) == 0)


def _sprung_balls(model: mujoco.MjModel) -> Iterator[str]:
    for j in range(model.njnt):
        if model.jnt_type[j] in (FREE, BALL) and model.jnt_stiffness[j] and not switched_off(model, "spring"):
            yield model.joint(j).name


def _remove_ball_springs(spec: mujoco.MjSpec) -> None:
    for joint in spec.joints:
        if joint.type in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            joint.stiffness = 0 * joint.stiffness


def _limited_balls(model: mujoco.MjModel) -> Iterator[str]:
    for j in range(model.njnt):
        if model.jnt_type[j] == BALL and model.jnt_limited[j] and not switched_off(model, "limit", "constraint"):
            yield model.joint(j).name


def _remove_ball_limits(spec: mujoco.MjSpec) -> None:
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_BALL:
            joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE


def _by_geom(field: str) -> Callable[[mujoco.MjModel], Iterator[str]]:
    """Geoms of moving bodies for which a field of the model is not zero, and pairs that have it."""

    def find(model: mujoco.MjModel) -> Iterator[str]:
        values = getattr(model, f"geom_{field}", None)
        moving = set(_moving_bodies(model))
        for g in range(0 if values is None else model.ngeom):
            if values is not None and np.any(values[g]) and int(model.geom_bodyid[g]) in moving:
                yield f"geom {_named(model, mujoco.mjtObj.mjOBJ_GEOM, g)}"
        for p in range(model.npair):
            if np.any(getattr(model, f"pair_{field}", np.zeros(model.npair))[p]):
                yield f"pair {_named(model, mujoco.mjtObj.mjOBJ_PAIR, p)}"

    return find


def _clear_geoms(field: str) -> Callable[[mujoco.MjSpec], None]:
    def remove(spec: mujoco.MjSpec) -> None:
        for element in (*spec.geoms, *spec.pairs):
            if hasattr(element, field):
                setattr(element, field, 0 * getattr(element, field))

    return remove


def _clear_gravcomp(spec: mujoco.MjSpec) -> None:
    for body in spec.bodies:
        body.gravcomp = 0.0


def _clear_fluid(spec: mujoco.MjSpec) -> None:
    spec.option.density = spec.option.viscosity = 0.0


def _flexes(model: mujoco.MjModel) -> Iterator[str]:
    return (_named(model, mujoco.mjtObj.mjOBJ_FLEX, f) for f in range(model.nflex))


def _plugins(model: mujoco.MjModel) -> Iterator[str]:
    yield from (f"body {model.body(b).name}" for b in range(model.nbody) if model.body_plugin[b] >= 0)
    for a in range(len(model.actuator_trntype)):
        if model.actuator_plugin[a] >= 0:
            yield f"actuator {_named(model, mujoco.mjtObj.mjOBJ_ACTUATOR, a)}"


REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "gravcomp",
        "bodies without part of their weight",
        _weightless,
        "A robot carries its weight with its motors: remove gravcomp and command Control(torque=...) from "
        "robot.bias_force",
        _clear_gravcomp,
    ),
    Refusal(
        "fluid",
        "a fluid around the robot",
        _fluid,
        "Drag is not part of the dynamics: remove density and viscosity from <option>",
        _clear_fluid,
    ),
    Refusal(
        "equality",
        "equality constraints",
        _equalities,
        "Only trees of bodies can be simulated: remove them, or lock their joints with lock=[...]",
        lambda spec: delete_all(spec, spec.equalities),
    ),
    Refusal(
        "tendon",
        "tendons",
        _tendons,
        "Tendons are not part of the dynamics: remove them, or write springs and limits on the joints themselves",
        _remove_tendons,
    ),
    Refusal(
        "actuator",
        "actuators other than motors and servos on one hinge or slide",
        _actuators,
        "Write <motor joint=...> instead",
        _remove_actuators,
    ),
    Refusal(
        "activation",
        "actuators with a state of their own",
        _by_actuator("actuator_dyntype"),
        "A motor gives the torque it is told to at once: remove dyntype, timeconst and integral gains, and write the "
        "lag into the controller",
        _remove_activations,
    ),
    Refusal(
        "delay",
        "actuators with a delay",
        _by_actuator("actuator_delay"),
        "Remove delay, and write it into the controller",
        _remove_delays,
    ),
    Refusal(
        "polynomial",
        "springs or dampers that are not linear",
        _polynomials,
        "Give stiffness and damping one coefficient",
        _remove_polynomials,
    ),
    Refusal(
        "ball_spring",
        "springs on free or ball joints",
        _sprung_balls,
        "Only hinges and slides have springs: write the joint as three hinges",
        _remove_ball_springs,
    ),
    Refusal(
        "ball_limit",
        "limits of ball joints",
        _limited_balls,
        "Only hinges and slides have limits: write the joint as three hinges",
        _remove_ball_limits,
    ),
    Refusal(
        "adhesion",
        "sticky geoms",
        _by_geom("adhesion"),
        "Contact is the ground's: remove adhesion, and choose a medium",
        _clear_geoms("adhesion"),
    ),
    Refusal(
        "surfacevel",
        "geoms with a moving surface",
        _by_geom("surfacevel"),
        "Feet are rigid: remove surfacevel",
        _clear_geoms("surfacevel"),
    ),
    Refusal(
        "flex", "deformable bodies", _flexes, "Bodies must be rigid: remove <flex> and <flexcomp> from the file", None
    ),
    Refusal(
        "plugin", "forces of plugins", _plugins, "Plugins do not run here: remove them from the file", None
    ),
)  # fmt: skip
