"""What the controller is asked to do at one tick, as plain data.

Named tuples, not modules: a walking loop makes a new one every millisecond, and these cost a microsecond.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.robots import Robot


class PointMotion(NamedTuple):
    """A point on its way, world frame (m, m/s, m/s2, m/s3)."""

    position: Float[Array, "3"]
    velocity: Float[Array, "3"]
    acceleration: Float[Array, "3"]
    jerk: Float[Array, "3"]


class FrameMotion(NamedTuple):
    """A frame on its way: origin (m), orientation, twist and acceleration (linear, angular), world axes."""

    position: Float[Array, "3"]
    rotation: Float[Array, "3 3"]
    twist: Float[Array, "6"]
    acceleration: Float[Array, "6"]


class AngularMomentum(NamedTuple):
    """About the centre of mass, world axes (kg m2/s), with its first and second rate."""

    value: Float[Array, "3"]
    rate: Float[Array, "3"]
    second_rate: Float[Array, "3"]


class GroundUnderFeet(NamedTuple):
    """The visco-elastic ground that the controller believes in, for every foot."""

    stiffness: Float[Array, " F"]  # k, N/m per m2
    damping: Float[Array, " F"]  # b, N s/m per m2
    rest_position: Float[Array, "F 3"]  # m: where the foot's wrench would vanish
    rest_rotation: Float[Array, "F 3 3"]
    covariance: Float[Array, "F 2 2"]
    """Covariance of (k, b), in their units, as far as they are estimates; zero: taken for sure.

    Only `ContactUncertainty` uses it.
    """


class References(NamedTuple):
    """Everything that tasks and constraints follow. Subclass or extend it for tasks of your own."""

    com: PointMotion
    angular_momentum: AngularMomentum
    frames: dict[str, FrameMotion]
    """By frame: feet while they swing, bodies whose orientation is controlled."""
    posture: Float[Array, " nu"]
    """Joint positions of the actuators (rad, m)."""
    wrenches: Float[Array, "F 6"]
    """What the feet should feel where nothing else decides (N, N m)."""
    wrench_rates: Float[Array, "F 6"]
    """How that changes (N/s, N m/s)."""
    in_contact: Bool[Array, " F"]
    ground: GroundUnderFeet


def holding(robot: Robot, frames: tuple[str, ...], q, stiffness: float = 8e5, damping: float = 1e4) -> References:
    """References that hold the robot where it is at q, all feet in contact, the weight shared among them."""
    q = np.asarray(q, dtype=float)
    com, moving = _places(robot, frames, q)
    position, rotation = np.array(moving.position), np.array(moving.rotation)
    count = len(robot.feet)
    zero, still = np.zeros(3), np.zeros(6)
    motion = PointMotion(np.asarray(com), zero, zero, zero)
    return References(
        com=motion,
        angular_momentum=AngularMomentum(zero, zero, zero),
        frames={name: FrameMotion(position[k], rotation[k], still, still) for k, name in enumerate(frames)},
        posture=q[np.array(robot.dof_q)[list(robot.actuated)]],
        wrenches=supporting_wrenches(robot, motion, position[:count]),
        wrench_rates=np.zeros((count, 6)),
        in_contact=np.ones(count, dtype=bool),
        ground=GroundUnderFeet(
            np.full(count, float(stiffness)),
            np.full(count, float(damping)),
            position[:count].copy(),
            rotation[:count],
            np.zeros((count, 2, 2)),
        ),
    )


@eqx.filter_jit
def _places(robot: Robot, frames: tuple[str, ...], q: Float[Array, " nq"]):
    """Centre of mass and frames of the robot at q."""
    return robot.center_of_mass(q), robot.frames(q, jnp.zeros(robot.nv, q.dtype), frames)


def supporting_wrenches(
    robot: Robot,
    com: PointMotion,
    feet: Float[np.ndarray, "F 3"],
    in_contact: Bool[np.ndarray, " F"] | None = None,
) -> Float[np.ndarray, "F 6"]:
    """Wrenches (N, N m) on the feet that give a centre of mass its acceleration, and no angular momentum.

    The ground must give the force m (x'' - g) along a line through the centre of mass, which meets the ground at the
    zero-moment point. Feet in contact share the force with as little torque as can be: shares s nearest to equal
    ones with sum s = 1 and sum s p = that point, horizontally, none of them negative. What moment remains where the
    point is not between the feet is shared as torque.
    """
    feet = np.asarray(feet, dtype=float)
    touching = np.ones(len(feet), bool) if in_contact is None else np.asarray(in_contact, bool)
    wrenches = np.zeros((len(feet), 6))
    if not touching.any():
        return wrenches
    force = float(robot.total_mass) * (com.acceleration - np.asarray(robot.gravity))
    arms = feet[touching] - com.position
    miss = arms - force * (arms[:, 2:] / force[2])  # from where the line passes at the foot's height to the foot
    shares = _shares(miss[:, :2])[:, None]
    moment = (shares * np.cross(arms, force)).sum(0)
    wrenches[touching] = shares * np.concatenate([force, -moment])
    return wrenches


def _shares(arms: Float[np.ndarray, "F 2"]) -> Float[np.ndarray, " F"]:
    """Shares of feet at `arms` from a point: sum 1, weighted mean at the point where that takes no pull."""
    equal = np.full(len(arms), 1 / len(arms))
    spread = arms - arms.mean(0)
    shares = np.maximum(equal - spread @ np.linalg.pinv(spread.T @ spread) @ arms.mean(0), 0.0)
    return shares / shares.sum()
