"""Actuators: which dofs they drive, how hard they can, and what they add to the joint.

An actuator of ours is a source of torque within its limits; the law that it follows (a torque, PD control) is given at
run time. So of MuJoCo's actuators the transmission and the limits are read, and the rotor's inertia and damping; the
gains of position and velocity servos are not.
"""

from collections.abc import Iterator

import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.tree import HINGE, SLIDE


def switched_off(model: mujoco.MjModel, *flags: str) -> bool:
    """Whether any of these flags of <option><flag .../></option> is "disable"."""
    bits = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}") for flag in flags)
    return any(model.opt.disableflags & int(bit) for bit in bits)


_ON_JOINTS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_GAINS = tuple(int(kind) for name, kind in mujoco.mjtGain.__members__.items() if name in ("mjGAIN_FIXED", "mjGAIN_PID"))
_BIASES = (int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE))
SAME = 1e-9  # relative difference between two ends of a range that still counts as symmetric


def actuators(model: mujoco.MjModel, given: bool, source: str) -> dict:
    """Fields `actuated` and `torque_limit` of a robot: those of the model if any are `given`, else one at every joint.

    Several actuators of one joint act as one actuator; where the file gives none, every slide and hinge but the base
    has a actuator without limit. Every actuator is one that `drives_a_joint`.
    """
    if switched_off(model, "actuation"):
        return dict(actuated=(), torque_limit=np.zeros(0))
    effort = {dof: np.zeros(2) for _, dof in working(model)}
    for actuator, dof in working(model):
        effort[dof] = effort[dof] + _effort(model, actuator)
    if not given:
        effort = {
            int(model.jnt_dofadr[j]): np.array([-np.inf, np.inf])
            for j in range(model.njnt)
            if model.jnt_type[j] in (SLIDE, HINGE) and not _is_base(model, j)
        }
    limits = {dof: _symmetric(model, dof, span, source) for dof, span in effort.items()}
    return dict(actuated=tuple(limits), torque_limit=np.array(list(limits.values()), float))


def rotors(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Inertia and damping (nv,) that actuators add to the dofs: their own times the gear ratio squared."""
    armature, damping = np.zeros(model.nv), np.zeros(model.nv)
    for actuator, dof in working(model, switched=False):
        ratio = float(model.actuator_gear[actuator, 0]) ** 2
        armature[dof] += ratio * getattr(model, "actuator_armature", np.zeros(model.nu))[actuator]
        damping[dof] += ratio * getattr(model, "actuator_damping", np.zeros(model.nu))[actuator]
    return armature, damping


def drives_a_joint(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether it is a source of torque or force on one slide or hinge: MuJoCo's motor or one of its servos."""
    if int(model.actuator_trntype[actuator]) not in _ON_JOINTS:
        return False
    scalar = model.jnt_type[model.actuator_trnid[actuator, 0]] in (SLIDE, HINGE)
    gain, bias = int(model.actuator_gaintype[actuator]), int(model.actuator_biastype[actuator])
    return scalar and gain in _GAINS and bias in _BIASES


def is_enabled(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether neither the flag `actuation` nor `actuatorgroupdisable` switches it off."""
    group = int(model.actuator_group[actuator])
    grouped = 0 <= group <= 30 and bool(model.opt.disableactuator & (1 << group))
    return not grouped and not switched_off(model, "actuation")


def working(model: mujoco.MjModel, switched: bool = True) -> Iterator[tuple[int, int]]:
    """Actuators that drive a joint, with its dof; if `switched`, only those that are not switched off."""
    for actuator in range(len(model.actuator_trntype)):  # nu counts controls, of which one actuator can have several
        if drives_a_joint(model, actuator) and (not switched or is_enabled(model, actuator)):
            yield actuator, int(model.jnt_dofadr[model.actuator_trnid[actuator, 0]])


def _effort(model: mujoco.MjModel, actuator: int) -> np.ndarray:
    """Least and greatest joint effort of one actuator (N m, N): gear * clip(gain * control, forcerange)."""
    span = np.array([-np.inf, np.inf])
    direct = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE
    control = getattr(model, "actuator_ctrladr", np.arange(model.nu))[actuator]
    if direct and model.actuator_ctrllimited[control] and not switched_off(model, "clampctrl"):
        span = np.sort(float(model.actuator_gainprm[actuator, 0]) * model.actuator_ctrlrange[control])
    if model.actuator_forcelimited[actuator]:
        span = np.clip(span, *model.actuator_forcerange[actuator])
    gear = float(model.actuator_gear[actuator, 0])
    return np.sort(gear * span) if gear else np.zeros(2)


def _symmetric(model: mujoco.MjModel, dof: int, span: np.ndarray, source: str) -> float:
    """Greatest effort either way; RobotError if it is not the same both ways."""
    joint = model.dof_jntid[dof]
    if model.jnt_actfrclimited[joint]:
        span = np.clip(span, *model.jnt_actfrcrange[joint])
    lower, upper = (float(end) for end in span)
    if lower == -upper or abs(upper + lower) <= SAME * (upper - lower):
        return upper
    raise RobotError(
        f"{source}: the actuator of joint {model.joint(joint).name!r} can exert {lower:g} to {upper:g} (N m, N): it "
        "must be as strong one way as the other. Make its ctrlrange, forcerange and actuatorfrcrange symmetric, and "
        "let the controller keep to one side"
    )


def _is_base(model: mujoco.MjModel, joint: int) -> bool:
    """Whether the joint is one of several that carry a root body (a planar or spatial base)."""
    body = model.jnt_bodyid[joint]
    return bool(model.body_parentid[body] == 0 and model.body_jntnum[body] > 1)
