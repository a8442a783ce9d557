"""Motions in which steps are timed: the same joint references for softground and for its rigid peers.

walking    a trot, open loop: feet land, stick, slide and lift. What users live with.
swaying    the feet stay where they are while the load on them changes: every solve starts near its end.
standing   the posture is held: the easiest there is.
falling    no torques at all, dropped from 10 cm: legs fold, joints meet their limits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from softground.control.posture import actuator_positions, pd_gains
from softground.control.trot import trot
from softground.errors import OptionError, unknown_name
from softground.robots import Robot
from softground.simulation import Control, State

SWAY, FREQUENCY = 0.03, 1.5  # rad, Hz
#: Gains of a swaying robot, N m/rad and N m s/rad per kg of robot.
STIFFNESS, DAMPING = 20.0, 1.0
TROT: dict[str, Any] = {"period": 0.6, "duty": 0.6, "step_length": 0.1, "lift": 0.06}
#: RoboSimian trots as in the demonstration, with long steps and bent knees.
LONG_TROT: dict[str, Any] = {"period": 1.0, "duty": 0.65, "step_length": 0.25, "lift": 0.15}


class Motion(NamedTuple):
    """Joint references over time and the PD gains that follow them, for every actuator."""

    robot: Robot
    height: float  # m, of the lowest foot at the start
    kp: np.ndarray  # (nu,) N m/rad
    kd: np.ndarray  # (nu,) N m s/rad
    reference: Callable[[Any], tuple[Any, Any]]  # time (s) -> positions (rad), velocities (rad/s)

    def policy(self, state: State) -> Control:
        if not self.kp.any():
            return Control()
        dtype = state.q.dtype
        kp, kd = (jnp.asarray(gain, dtype) for gain in (self.kp, self.kd))
        position, velocity = (jnp.asarray(x, dtype) for x in self.reference(state.time))
        return Control(position=position, velocity=velocity, kp=kp, kd=kd)

    def target(self, time) -> Any:
        """What a position actuator without a reference velocity must be told at a time, rad, to do the same."""
        position, velocity = self.reference(jnp.asarray(time))
        return position + velocity * np.divide(self.kd, self.kp, out=np.zeros_like(self.kd), where=self.kp > 0)


def walking(name: str) -> Motion:
    """A robot of the catalogue with four feet trots."""
    if not walks(name):
        raise OptionError(f"{name} does not walk without feedback: time it swaying, standing or falling")
    long = name == "robosimian"
    robot = Robot.load(name, posture="crouched" if long else None)
    with jax.enable_x64(True):  # joints for the feet's path need it
        gait = trot(robot, **(LONG_TROT if long else TROT), start=0.1, ramp=0.2)
    return Motion(robot, 0.005, np.asarray(gait.kp), np.asarray(gait.kd), gait.reference)


def walks(name: str) -> bool:
    """Whether a robot walks without feedback: on four feet."""
    return len(Robot.load(name).feet) == 4


def swaying(name: str) -> Motion:
    """Every actuator swings about its posture, neighbours a quarter period apart; gains follow the robot's mass."""
    robot = Robot.load(name)
    middle, phase = actuator_positions(robot, np.asarray(robot.posture)), np.pi / 2 * np.arange(robot.nu)

    def reference(time):
        position = middle + SWAY * jnp.sin(2 * np.pi * FREQUENCY * time + phase)
        return position, jnp.zeros_like(position)

    gains = float(robot.total_mass) * np.ones(robot.nu)
    return Motion(robot, 0.01, STIFFNESS * gains, DAMPING * gains, reference)


def standing(name: str) -> Motion:
    """The posture is held."""
    robot = Robot.load(name)
    posture = actuator_positions(robot, np.asarray(robot.posture))
    kp, kd = pd_gains(robot)
    return Motion(robot, 0.01, kp, kd, lambda time: (posture + 0 * time, np.zeros_like(posture)))


def falling(name: str) -> Motion:
    """Limp, from 10 cm."""
    robot = Robot.load(name)
    none = np.zeros(robot.nu)
    return Motion(robot, 0.1, none, none, lambda time: (none + 0 * time, none))


MOTIONS = {motion.__name__: motion for motion in (walking, swaying, standing, falling)}


def motion_named(motion: str, robot: str) -> Motion:
    """A motion of `MOTIONS` of a robot of the catalogue."""
    if motion not in MOTIONS:
        raise OptionError(unknown_name("motion", motion, MOTIONS))
    return MOTIONS[motion](robot)
