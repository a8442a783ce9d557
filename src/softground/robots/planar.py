"""Planar robots: motion in the x-z plane only, with the base free in x, z and pitch about +y."""

import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.locking import drop_references, set_body_pose
from softground.robots.posture import Posture, join
from softground.robots.rotations import quaternion_matrix_numpy
from softground.robots.tree import FREE, HINGE, SLIDE

BASE_JOINTS = ("base_x", "base_z", "base_pitch")
IN_PLANE = 1e-6  # sine of the greatest tilt of an axis that still counts as in the plane


def out_of_plane_joints(model: mujoco.MjModel, posture: Posture) -> list[str]:
    """Joints that leave the x-z plane from the posture: all but hinges about y and slides normal to it."""
    data = mujoco.MjData(model)
    data.qpos[:] = join(model, posture)
    mujoco.mj_kinematics(model, data)
    names = []
    for j in range(model.njnt):
        x, y, z = data.xaxis[j]
        kind = model.jnt_type[j]
        hinge_in_plane = kind == HINGE and np.hypot(x, z) < IN_PLANE
        slide_in_plane = kind == SLIDE and abs(y) < IN_PLANE
        if not (hinge_in_plane or slide_in_plane):
            names.append(model.joint(j).name)
    return names


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
