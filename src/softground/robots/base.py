"""The base of a robot: the body that carries all others, and the coordinates that move it.

No model file says which coordinates these are: a base may hang on a free joint, or on a chain of slides and hinges.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from softground.errors import OptionError
from softground.robots.robot import Robot
from softground.robots.tree import FREE, HINGE, SLIDE


class BaseMotion(NamedTuple):
    """Entries of q and v that carry the whole robot."""

    forward_q: int  # x of the base, m
    up_q: int  # z of the base, m
    attitude_q: tuple[int, ...]  # zero when level: the pitch; in space the vector part of the quaternion
    attitude_factor: float  # from those entries to angles, rad
    forward_v: int  # m/s


def base_motion(robot: Robot) -> BaseMotion:
    """The base of a robot with a free joint, or of a planar one with two slides and a hinge at its root."""
    kinds, address = robot.tree.joint_type, robot.tree.q_address
    if kinds[0] == FREE:
        return BaseMotion(address[0], address[0] + 2, (address[0] + 4, address[0] + 5, address[0] + 6), 2.0, 0)
    found: dict[str, int] = {}
    for link, kind in enumerate(kinds[:3]):
        axis = np.asarray(robot.parameters.axis)[link]
        if kind == SLIDE:
            found["forward" if abs(axis[0]) > 0.999 else "up" if abs(axis[2]) > 0.999 else "other"] = link
        if kind == HINGE and abs(axis[1]) > 0.999:
            found["attitude"] = link
    if not {"forward", "up", "attitude"} <= set(found):
        raise OptionError(
            f"{robot.name} has no base to plan for: its first joints must be a free joint, or in the plane slides "
            "along x and z and a hinge about y (Robot.load(..., planar=True) makes them)"
        )
    forward, up, attitude = (address[found[name]] for name in ("forward", "up", "attitude"))
    return BaseMotion(forward, up, (attitude,), 1.0, found["forward"])


def vertical_coordinate(robot: Robot) -> int:
    """Index in q of the coordinate that lifts the whole robot."""
    dof = carrying_dof(robot, (0.0, 0.0, 1.0))
    if dof is None:
        raise OptionError(f"{robot.name} cannot be lifted: it has no vertical base coordinate; give q itself")
    coordinate = robot.dof_q[dof]
    return coordinate if coordinate >= 0 else robot.tree.q_address[robot.tree.dof_link[dof]] + 2


def carrying_dof(robot: Robot, direction: tuple[float, float, float]) -> int | None:
    """The dof that moves all feet along a direction of the world, without turning them, from the posture; or None."""
    model = robot.mujoco_model()
    data = mujoco.MjData(model)
    data.qpos[:] = robot.posture
    mujoco.mj_kinematics(model, data)
    tree, feet = robot.tree, [foot.body for foot in robot.feet]
    for name, kind, first in zip(robot.joint_names, tree.joint_type, tree.dof_address, strict=True):
        axes = {FREE: np.eye(3), SLIDE: data.joint(name).xaxis[None]}.get(kind, np.zeros((0, 3)))
        for dof, axis in enumerate(axes, first):
            if np.allclose(axis, direction, atol=1e-5) and tree.body_support[feet, dof].all():
                return dof
    return None


def base_body(robot: Robot, model: mujoco.MjModel) -> int:
    """The body of MuJoCo's model that is the robot's base: the first that moves.

    A base may be written as a chain of bodies, each on a slide or a hinge: then it is the last of those that hang on
    one another without an actuator and have, together, no more freedom than a free base (6, in the plane 3).
    """
    driven = {int(model.dof_bodyid[dof]) for dof in robot.actuated}
    moving = [model.body(name).id for name in robot.body_names]
    base, most = moving[0], 3 if robot.planar else 6
    freedoms = int(model.body_dofnum[base])
    while base not in driven:
        next_ones = [b for b in moving if model.body_weldid[model.body_parentid[b]] == base]
        freedoms += sum(int(model.body_dofnum[b]) for b in next_ones)
        if len(next_ones) != 1 or next_ones[0] in driven or freedoms > most:
            break
        base = next_ones[0]
    return base
