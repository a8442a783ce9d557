"""The planar twin of a robot in space: it walks in the x-z plane, with the joints that would leave the plane locked.

Its strides are found in a tenth of the time, half a stride is mostly enough (`robots.mirror`), and what walks in the
plane is a good start in space, where little is left to do but to hold the trunk level.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import RobotError
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.robots.base import base_motion


@lru_cache(maxsize=4)
def _twin(recipe) -> Robot | None:
    try:
        return Robot.from_recipe(replace(recipe, planar=True))
    except RobotError:
        pass
    robot = Robot.from_recipe(recipe)
    upright = {name: 0.0 for name in _spreading(robot)}  # limbs that are spread can walk in a plane once they are not
    locked = tuple(sorted({**dict(recipe.lock), **upright}.items()))
    try:
        return Robot.from_recipe(replace(recipe, planar=True, lock=locked))
    except RobotError:
        return None


def twin_of(robot: Robot) -> Robot | None:
    """The twin; None for robots that are planar already, or have none."""
    return None if robot.planar else _twin(robot.recipe)


def in_space(robot: Robot, twin: Robot, stride: Trajectory) -> Trajectory:
    """What the twin does, done by the robot: joints that the twin has locked stay at the middle, 0 or their posture."""
    flat, base = base_motion(twin), base_motion(robot)
    q = np.tile(np.asarray(robot.posture, dtype=float), (stride.knots, 1))
    v, torque = np.zeros((stride.knots, robot.nv)), np.zeros((stride.knots - 1, robot.nu))
    sign = np.sign(np.asarray(twin.parameters.axis)[flat.attitude_q[0], 1])
    pitch = sign * stride.q[:, flat.attitude_q[0]]
    q[:, base.forward_q], q[:, base.up_q] = stride.q[:, flat.forward_q], stride.q[:, flat.up_q]
    q[:, 3], q[:, 4], q[:, 5], q[:, 6] = np.cos(pitch / 2), 0.0, np.sin(pitch / 2), 0.0
    v[:, 0], v[:, 2], v[:, 4] = stride.v[:, 0], stride.v[:, 1], sign * stride.v[:, 2]
    known = {name: dof for dof, name in enumerate(twin.dof_names)}
    column = {dof: number for number, dof in enumerate(twin.actuated)}
    for number, dof in enumerate(robot.actuated):
        there = known.get(robot.dof_names[dof])
        if there is None:
            q[:, robot.dof_q[dof]] = 0.0 if robot.dof_names[dof] in _spreading(robot) else q[:, robot.dof_q[dof]]
            continue
        q[:, robot.dof_q[dof]], v[:, dof] = stride.q[:, twin.dof_q[there]], stride.v[:, there]
        torque[:, number] = stride.torque[:, column[there]]
    return Trajectory(q, v, torque, stride.dt)


def _spreading(robot: Robot) -> list[str]:
    """Joints that turn about the longitudinal axis when the robot stands and all of them are at 0."""
    q = np.asarray(robot.posture, dtype=float)
    kin = jax.jit(lambda q: robot.kinematics(q))(jnp.asarray(q))
    along = np.abs(np.asarray(kin.screw)[:, 0]) > 0.9
    return [robot.dof_names[dof] for dof in robot.actuated if along[dof]]
