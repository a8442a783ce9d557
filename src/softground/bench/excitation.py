"""The motion that benchmarks simulate: a robot dropped from a small height that sways on its feet.

Every actuator swings a little about its posture, so that the load on the feet changes all the time while they stay in
contact: a robot that stands still would be too easy, one that jumps would have no contacts to solve.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from softground.robots import Robot
from softground.simulation import Control, State

AMPLITUDE = 0.03  # rad
FREQUENCY = 1.5  # Hz
STIFFNESS = 20.0  # N m/rad per kg of robot
DAMPING = 1.0  # N m s/rad per kg of robot


class ExcitationMotion(NamedTuple):
    """PD gains and the targets of the actuators as a function of time."""

    middle: np.ndarray  # (nu,) rad
    phase: np.ndarray  # (nu,) rad
    kp: float
    kd: float

    def target(self, time):
        """Actuator positions at a time (or at many: leading axis), rad."""
        angle = 2 * np.pi * FREQUENCY * jnp.asarray(time)[..., None] + self.phase
        return self.middle + AMPLITUDE * jnp.sin(angle)

    def policy(self, state: State) -> Control:
        dtype = state.q.dtype
        return Control(position=self.target(state.time).astype(dtype), kp=self.kp, kd=self.kd)


def excitation_motion(robot: Robot) -> ExcitationMotion:
    """An excitation with gains in proportion to the robot's mass; neighbouring actuators are out of step."""
    actuators = np.array(robot.actuated)
    middle = np.asarray(robot.posture)[np.array(robot.dof_q)[actuators]]
    mass = float(robot.total_mass)
    return ExcitationMotion(middle, np.pi / 2 * np.arange(robot.nu), STIFFNESS * mass, DAMPING * mass)
