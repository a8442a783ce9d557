"""RoboSimian as the quadruped studies use it: in sand twice as strong as measured, on bent limbs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.robots import Robot

STRENGTH = 2.0
"""Of sand and pebbles. In sand as measured four vertical feet carry 920 N within the depths that were measured, and
RoboSimian weighs 980 N: it could lift no foot. zhu2021 doubles the sand for this; so do we."""
STRENGTH_NOTE = (
    "The ground is twice as strong as measured (strength 2, as in zhu2021's planning data): the measured sand carries "
    "920 N on four feet within the depths measured, RoboSimian weighs 980 N and could lift no foot."
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


def foot_positions(robot: Robot, run: xr.Dataset) -> np.ndarray:
    """Soles (time, foot, 3) of a run, m, world."""
    place = jax.jit(jax.vmap(lambda q: robot.foot_poses(robot.kinematics(q))[0]))
    return np.asarray(place(run["configuration"].values))
