"""The size of a robot, and what goes with it.

A walk is scaled by the height of the robot's base over its feet (Froude): weight and inertia are to each other as they
are in RoboSimian, for which zhu2021's weights and temperatures were chosen, if lengths go with the height h, times with
its root, and so powers with weight times speed.
"""

from __future__ import annotations

from softground.planning.problem import posture_height
from softground.robots import Robot

REFERENCE_HEIGHT = 1.027  # m, of RoboSimian's base over its feet
REFERENCE_WEIGHT = 979.9  # N, of RoboSimian


def size_of(robot: Robot) -> float:
    """Height of a robot's base, in heights of RoboSimian's."""
    return posture_height(robot) / REFERENCE_HEIGHT


def weight_of(robot: Robot) -> float:
    """Weight of a robot, in weights of RoboSimian."""
    return float(robot.weight) / REFERENCE_WEIGHT


def power_of(robot: Robot) -> float:
    """Weight times speed of a walk, in RoboSimian's: by which temperatures (W) of the ground go."""
    return weight_of(robot) * size_of(robot) ** 0.5
