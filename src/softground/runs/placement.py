"""Where the base and the centre of mass of a robot are, by MuJoCo: no compilation for a few thousand samples."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from jaxtyping import Float

from softground.robots import Robot
from softground.robots.base import base_body


class Place(NamedTuple):
    """Where the base body and the centre of mass are, in the world."""

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
