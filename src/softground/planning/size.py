"""The size of a robot, and what goes with it.

zhu2021's weights, times and temperatures were chosen for RoboSimian. Another robot walks alike if weight and inertia
are to each other as they are there (Froude): lengths go with the height h of the base over the feet, times and speeds
with its root, forces with the weight W, torques with W h and powers with W h^(1/2).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from softground.robots import Robot
from softground.robots.base import base_motion

REFERENCE_HEIGHT = 1.026998  # m, of RoboSimian's base over its feet
REFERENCE_WEIGHT = 979.9013  # N, of RoboSimian
STEP, STEPS_OF = 0.05, 0.002
"""s: step of RoboSimian's gaits; steps of others are whole numbers of those in which gaits are replayed."""


def standing(robot: Robot) -> np.ndarray:
    """The robot's posture (nq,) with every joint within its limits: files that say nothing of a posture have all at 0,
    where a knee may not be able to go."""
    return within_limits(robot, np.asarray(robot.posture, dtype=float))


def within_limits(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Configurations (..., nq) with every joint that has an actuator within its limits."""
    q = q.copy()
    for dof in robot.actuated:
        entry = robot.dof_q[dof]
        q[..., entry] = np.clip(q[..., entry], *np.asarray(robot.joint_range)[dof])
    return q


def posture_height(robot: Robot) -> float:
    """Height of the base over the lowest foot when the robot stands, m."""
    q = standing(robot)
    place = np.asarray(robot.foot_poses(jnp.asarray(q))[0])
    lowest = min(float(z) - foot.clearance for z, foot in zip(place[:, 2], robot.feet, strict=True))
    return float(q[base_motion(robot).up_q]) - lowest


def size_of(robot: Robot) -> float:
    """Height of a robot's base, in heights of RoboSimian's; 1 for what has no legs (a single foot on its rig)."""
    height = posture_height(robot)
    return height / REFERENCE_HEIGHT if height > 2 * max(foot.clearance for foot in robot.feet) + 1e-6 else 1.0


def weight_of(robot: Robot) -> float:
    """Weight of a robot, in weights of RoboSimian; 1 where nothing pulls it down."""
    weight = float(robot.weight)
    return weight / REFERENCE_WEIGHT if weight > 0 else 1.0


def walking_step(robot: Robot) -> float:
    """Time from knot to knot of a robot's gait, s: as many to a stride as RoboSimian has."""
    return STEPS_OF * max(round(STEP / STEPS_OF * size_of(robot) ** 0.5), 1)


def walking_eps(robot: Robot) -> float:
    """Temperature (W) that blurs the ground for a robot as 1 W does for RoboSimian."""
    return float(f"{weight_of(robot) * size_of(robot) ** 0.5:.3g}")
