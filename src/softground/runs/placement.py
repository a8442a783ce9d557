"""Where the base and the centre of mass of a robot are, by MuJoCo: no compilation for a few thousand samples."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from jaxtyping import Float

from softground.robots import Robot


class Place(NamedTuple):
    """Of the base body and the centre of mass, in the world."""

    base_position: Float[np.ndarray, "3"]  # m
    base_quaternion: Float[np.ndarray, "4"]  # wxyz
    center_of_mass: Float[np.ndarray, "3"]  # m


class Placement:
    """Callable: the `Place` of a robot in a configuration. Masses are the robot's own, which may have been changed."""

    def __init__(self, robot: Robot):
        self._model = robot.mujoco_model()
        self._data = mujoco.MjData(self._model)
        self._base = base_body(robot, self._model)
        self._moving = [self._model.body(name).id for name in robot.body_names]
        mass = np.asarray(robot.parameters.mass, dtype=float)
        self._share = mass / mass.sum()
        origin = np.asarray(robot.parameters.body_origin, dtype=float)
        self._inside = np.asarray(robot.parameters.com, dtype=float) - origin  # in the bodies' own frames

    def __call__(self, q: Float[np.ndarray, " nq"]) -> Place:
        data = self._data
        data.qpos[:] = q
        mujoco.mj_kinematics(self._model, data)
        rotation = data.xmat[self._moving].reshape(-1, 3, 3)
        centers = data.xpos[self._moving] + np.einsum("bij,bj->bi", rotation, self._inside)
        return Place(data.xpos[self._base].copy(), data.xquat[self._base].copy(), self._share @ centers)


def base_body(robot: Robot, model: mujoco.MjModel) -> int:
    """The body of MuJoCo's model that is the robot's base: the first that moves.

    A base may be written as a chain of bodies, each on a slide or a hinge: then it is the last of those that hang on
    one another without a motor and have, together, no more freedom than a free base (6, in the plane 3).
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
