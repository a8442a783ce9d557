"""RoboSimian as the quadruped studies use it: in sand of strength 2, on bent limbs."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.media.named import REFERENCE_FOOT
from softground.robots import Robot
from softground.robots.tree import RigidInertia, from_com

STRENGTH = 2.0
"""Strength of sand and pebbles (resistive force theory). At 1 four vertical feet carry RoboSimian's 980 N at 5.9 cm,
two at no depth in the data: it could lift no foot. zhu2021 doubles the measured sand, which carries 920 N on four, for
this."""
STRENGTH_NOTE = (
    "The ground is resistive force theory of strength 2: at 1 it carries RoboSimian's 980 N on four feet at 5.9 cm, on "
    "two at no depth in the data. zhu2021 doubles the measured sand, which carries 920 N on four feet at most."
)
FOOT = 0.3436  # m, from ankle to sole
FOOT_MASS = 5.735 - 4.404
"""Mass of a foot of size 1, kg: what the lowest part of a limb weighs more than the two above it, an assumption. As a
solid cylinder of that size its density is 1130 kg/m3, that of hard rubber."""


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


def weighing(robot: Robot, size) -> Robot:
    """A robot with the feet at the ends of its limbs scaled, soles in place: masses, their centres and inertias.

    The lowest part of a limb loses a cylinder of size 1 that stands on the sole and gains one of the size given.
    """
    inertias = lambda one: (one.parameters.mass, one.parameters.com, one.parameters.inertia)  # noqa: E731
    parts = [jnp.asarray(leaf) for leaf in inertias(robot)]
    for foot in robot.feet:
        sole = np.asarray(robot.parameters.body_origin)[foot.body] + np.asarray(foot.position)
        limb = from_com(*(part[foot.body] for part in parts)) - _cylinder(1.0, sole) + _cylinder(size, sole)
        parts = [part.at[foot.body].set(new) for part, new in zip(parts, (limb.mass, *limb.about_com()), strict=True)]
    return eqx.tree_at(inertias, robot, tuple(parts))


def _cylinder(size, sole) -> RigidInertia:
    """A foot that stands on its sole, m."""
    radius, length = size * REFERENCE_FOOT.radius, size * REFERENCE_FOOT.length
    mass = jnp.asarray(FOOT_MASS * size**3)
    across, along = mass * (3 * radius**2 + length**2) / 12, mass * radius**2 / 2
    centre = sole + jnp.array([0.0, 0.0, 1.0]) * length / 2
    return from_com(mass, centre, jnp.diag(jnp.stack([across, across, along])))
