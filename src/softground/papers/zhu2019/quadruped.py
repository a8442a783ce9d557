"""RoboSimian as the quadruped studies use it: in sand of strength 2, on bent limbs."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.robots import Robot

STRENGTH = 2.0
"""Strength of sand and pebbles (resistive force theory). At 1 four vertical feet carry RoboSimian's 980 N at 5.9 cm,
two at no depth in the data: it could lift no foot. zhu2021 doubles the measured sand, which carries 920 N on four, for
this."""
STRENGTH_NOTE = (
    "The ground is resistive force theory of strength 2: at 1 it carries RoboSimian's 980 N on four feet at 5.9 cm, on "
    "two at no depth in the data. zhu2021 doubles the measured sand, which carries 920 N on four feet at most."
)
FOOT = 0.3436  # m, from ankle to sole


def bent(robot: Robot, outwards: float, ankle_below_hip: float, forwards: float = 0.0) -> np.ndarray:
    """Configuration with bent limbs and vertical feet: `outwards` of the hips, all moved `forwards` (m)."""
    thigh = [body for body in range(len(robot.body_names)) if robot.body_names[body].endswith("thigh")]
    hips = np.asarray(robot.body_poses(robot.kinematics(jnp.asarray(robot.posture)))[0])
    hips = hips[thigh] - hips[0]
    side = np.sign(hips[:, :1])
    targets = hips + np.concatenate(
        [outwards * side + forwards, 0 * side, -(ankle_below_hip + FOOT) + 0 * side], axis=1
    )
    guess = np.array(robot.posture, dtype=float)
    guess[3:] = (side * np.array([-0.9, 1.2, -0.3])).reshape(-1)
    pitch = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))[:, 3]
    return joints_for_feet(robot, targets, pitch, guess)
