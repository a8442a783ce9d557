"""Postures: a reference configuration as joint values, from a keyframe, an SRDF state or the caller.

And the joints that leave the model at these values: those that are locked, each baked into the pose of its body, and
those that leave the x-z plane. A planar robot keeps x, z and pitch (about +y) of its base.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.names import close_matches
from softground.robots.rotations import (
    axis_angle_quaternion_numpy,
    quaternion_matrix_numpy,
    quaternion_product_numpy,
)
from softground.robots.tree import BALL, FREE, HINGE, JOINT_NQ, SLIDE
from softground.robots.unsupported import delete_all, has_effect

Posture = dict[str, np.ndarray]
"""Joint name -> its entries of q."""

KEYFRAMES = ("home", "stand")


def find_posture(model: mujoco.MjModel, wanted: str | Mapping | None, source: str) -> Posture:
    """The posture asked for: a keyframe's name, joint values, or None for the usual keyframe."""
    keyframes = [model.key(k).name for k in range(model.nkey)]
    if wanted is None:
        wanted = next((name for name in KEYFRAMES if name in keyframes), {})
    if isinstance(wanted, str):
        if wanted not in keyframes:
            raise RobotError(f"{source}: unknown keyframe {wanted!r}: must be one of {', '.join(keyframes) or 'none'}")
        return split(model, model.key(wanted).qpos)
    posture = split(model, model.qpos0)
    for name, value in wanted.items():
        if name not in posture:
            raise RobotError(f"{source}: unknown joint {name!r} in the posture. {close_matches(name, posture)}")
        entry = np.atleast_1d(np.asarray(value, float))
        if entry.shape != posture[name].shape:
            raise RobotError(
                f"{source}: posture of joint {name!r} must have {len(posture[name])} values, got {len(entry)}"
            )
        posture[name] = entry
    return posture


def read_srdf(path: Path, state: str, free_joint: str) -> dict[str, tuple[float, ...]]:
    """Joint values of a <group_state> of an SRDF; the quaternion of its root_joint (xyzw) turned to wxyz."""
    root = ElementTree.parse(path).getroot()
    for group in root.iter("group_state"):
        if group.get("name") == state:
            break
    else:
        raise RobotError(f"{path}: no group_state {state!r}")
    values = {}
    for joint in group.iter("joint"):
        value = tuple(float(x) for x in joint.get("value", "").split())
        if len(value) == JOINT_NQ[FREE]:
            values[free_joint] = (*value[:3], value[6], *value[3:6])
        else:
            values[joint.get("name", "")] = value
    return values


def split(model: mujoco.MjModel, qpos: np.ndarray) -> Posture:
    """A configuration by joint name."""
    return {model.joint(j).name: np.array(qpos[_entries(model, j)]) for j in range(model.njnt)}


def join(model: mujoco.MjModel, posture: Posture) -> np.ndarray:
    """The configuration of the model's joints in a posture, quaternions normalised."""
    qpos = model.qpos0.copy()
    for j in range(model.njnt):
        name = model.joint(j).name
        if name in posture:
            qpos[_entries(model, j)] = posture[name]
    mujoco.mj_normalizeQuat(model, qpos)
    return qpos


def _entries(model: mujoco.MjModel, joint: int) -> slice:
    start = model.jnt_qposadr[joint]
    return slice(start, start + JOINT_NQ[int(model.jnt_type[joint])])


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


BASE_JOINTS = ("base_x", "base_z", "base_pitch")
IN_PLANE = 1e-6  # sine of the greatest tilt of an axis that still counts as in the plane


def out_of_plane_joints(model: mujoco.MjModel, posture: Posture) -> list[str]:
    """Joints that leave the x-z plane from the posture: all but hinges about y and slides normal to it."""
    return [model.joint(j).name for j in leaving_the_plane(model, join(model, posture))]


def leaving_the_plane(model: mujoco.MjModel, qpos: np.ndarray) -> list[int]:
    """The same by numbers, from a configuration."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    numbers = []
    for j in range(model.njnt):
        x, y, z = data.xaxis[j]
        kind = model.jnt_type[j]
        hinge_in_plane = kind == HINGE and np.hypot(x, z) < IN_PLANE
        slide_in_plane = kind == SLIDE and abs(y) < IN_PLANE
        if not (hinge_in_plane or slide_in_plane):
            numbers.append(j)
    return numbers


def plane_base(spec: mujoco.MjSpec, model: mujoco.MjModel, posture: Posture, source: str) -> Posture:
    """Replace the free base by x, z and pitch, in place; the posture with the new joints.

    q of the base is its place in the world: x and z of the body's origin, and the pitch from the posture's
    attitude.
    """
    free = [model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] == FREE]
    if len(free) != 1:
        raise RobotError(
            f"{source}: cannot be made planar: it must have one free base or move in the x-z plane already, "
            f"but it has {len(free)} free joints ({', '.join(free) or 'none'})"
        )
    taken = [name for name in BASE_JOINTS if name in posture]
    if taken:
        raise RobotError(f"{source}: cannot be made planar: joints are already named {', '.join(taken)}")
    pose = join(model, posture)[model.joint(free[0]).qposadr[0] :][:7]
    body = spec.body(model.body(model.joint(free[0]).bodyid[0]).name)
    drop_references(spec, free, source)
    spec.delete(spec.joint(free[0]))
    set_body_pose(body, pose[:3], pose[3:])
    to_body = quaternion_matrix_numpy(pose[3:]).T  # joint axes are written in the body frame
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    first = list(body.joints)
    if first:
        raise RobotError(f"{source}: cannot be made planar: its base has joints beside the free one")
    body.add_joint(name=BASE_JOINTS[0], type=slide, axis=to_body[:, 0], ref=pose[0])
    body.add_joint(name=BASE_JOINTS[1], type=slide, axis=to_body[:, 2], ref=pose[2])
    body.add_joint(name=BASE_JOINTS[2], type=hinge, axis=to_body[:, 1])
    base = dict(zip(BASE_JOINTS, np.array([[pose[0]], [pose[2]], [0.0]]), strict=True))
    return base | {name: value for name, value in posture.items() if name != free[0]}
