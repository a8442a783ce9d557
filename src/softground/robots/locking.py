"""Locking joints: the joint leaves the model and its value is baked into the pose of its body."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.names import close_matches
from softground.robots.posture import Posture
from softground.robots.rotations import (
    axis_angle_quaternion_numpy,
    quaternion_matrix_numpy,
    quaternion_product_numpy,
)
from softground.robots.tree import BALL, FREE, SLIDE
from softground.robots.unsupported import delete_all, has_effect


def match_joints(lock: Iterable[tuple[str, float | None]], posture: Posture, source: str) -> dict[str, np.ndarray]:
    """Joints that the patterns name, each with the value to weld it at (by default the posture's)."""
    values: dict[str, np.ndarray] = {}
    for pattern, value in lock:
        names = [name for name in posture if fnmatchcase(name, pattern)]
        if not names:
            raise RobotError(f"{source}: no joint matches {pattern!r} in lock. {close_matches(pattern, posture)}")
        for name in names:
            entry = posture[name] if value is None else np.atleast_1d(np.asarray(value, float))
            if entry.shape != posture[name].shape:
                raise RobotError(
                    f"{source}: joint {name!r} must be locked at {len(posture[name])} values, got {value!r}"
                )
            values[name] = entry
    return values


def lock_joints(spec: mujoco.MjSpec, model: mujoco.MjModel, values: dict[str, np.ndarray], source: str) -> None:
    """Weld the joints at the given values, in place. `model` is the spec as compiled before."""
    for body in {model.joint(name).bodyid[0] for name in values}:
        _bake_body(spec, model, int(body), values)
    drop_references(spec, values, source)
    for name in values:
        spec.delete(spec.joint(name))


def drop_references(spec: mujoco.MjSpec, joints: Iterable[str], source: str) -> None:
    """Delete what would not compile without the joints: keyframes, sensors, their actuators, equalities between them.

    An equality or tendon that ties a joint which stays to one that goes cannot be kept, nor dropped in silence.
    """
    joints = set(joints)
    delete_all(spec, spec.keys)
    delete_all(spec, spec.sensors)
    on_joint = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    delete_all(spec, [a for a in spec.actuators if a.trntype in on_joint and a.target in joints])
    for equality in [e for e in spec.equalities if e.type == mujoco.mjtEq.mjEQ_JOINT]:
        ends = {equality.name1, equality.name2} - {""}
        if ends & joints and ends - joints and equality.active:
            raise RobotError(
                f"{source}: an equality ties joint {min(ends - joints)!r} to {min(ends & joints)!r}, which is locked: "
                "lock both, or load it without: ignore=['equality']"
            )
        if ends & joints:
            spec.delete(equality)
    for tendon in list(spec.tendons):
        if not any(wrap.type == mujoco.mjtWrap.mjWRAP_JOINT and wrap.target.name in joints for wrap in tendon.path):
            continue
        if has_effect(tendon) or tendon.name in {a.target for a in spec.actuators}:
            raise RobotError(
                f"{source}: tendon {tendon.name!r} pulls a joint that is locked: load it without: ignore=['tendon']"
            )
        spec.delete(tendon)


def set_body_pose(body: mujoco.MjsBody, position: np.ndarray, quaternion: np.ndarray) -> None:
    """Place a body in its parent, whatever way its orientation was written."""
    body.pos, body.quat = position, quaternion
    body.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT


def _bake_body(spec: mujoco.MjSpec, model: mujoco.MjModel, body: int, values: dict[str, np.ndarray]) -> None:
    """Turn the locked joints of one body into a constant pose.

    A body with joints J1 J2 stands at T J1 J2. With J2 = D constant, T J1 D = (T D) (D^-1 J1 D): the body
    is placed at T D, and the anchors and axes of joints before the locked one (given in the body frame)
    turn by D^-1.
    """
    position, quaternion = model.body_pos[body].copy(), model.body_quat[body].copy()
    first = model.body_jntadr[body]
    kept: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for j in range(first, first + model.body_jntnum[body]):
        name = model.joint(j).name
        if name not in values:
            kept[name] = (model.jnt_pos[j].copy(), model.jnt_axis[j].copy())
            continue
        if model.jnt_type[j] == FREE:
            position, quaternion = values[name][:3], values[name][3:]
            continue
        shift, turn = _joint_transform(model, j, values[name])
        position = position + quaternion_matrix_numpy(quaternion) @ shift
        quaternion = quaternion_product_numpy(quaternion, turn)
        back = quaternion_matrix_numpy(turn).T
        kept = {other: (back @ (anchor - shift), back @ axis) for other, (anchor, axis) in kept.items()}
    set_body_pose(spec.body(model.body(body).name), position, quaternion)
    for name, (anchor, axis) in kept.items():
        joint = spec.joint(name)
        joint.pos, joint.axis = anchor, axis


def _joint_transform(model: mujoco.MjModel, joint: int, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shift and turn (quaternion) of the body frame by the joint at `value`, in the body frame before it."""
    axis, anchor = model.jnt_axis[joint], model.jnt_pos[joint]
    kind = model.jnt_type[joint]
    if kind == BALL:
        turn = value / np.linalg.norm(value)
    else:
        motion = float(value[0] - model.qpos0[model.jnt_qposadr[joint]])
        if kind == SLIDE:
            return axis * motion, np.array([1.0, 0.0, 0.0, 0.0])
        turn = axis_angle_quaternion_numpy(axis, motion)
    return anchor - quaternion_matrix_numpy(turn) @ anchor, turn
