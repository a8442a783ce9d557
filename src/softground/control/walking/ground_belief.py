"""What a walking robot believes of the ground under its feet: where each foot would feel nothing, and k and b.

When a foot comes down, its pose of rest is where it meets the ground: its place and heading, level, at the ground's
height. From then on its wrench says how stiff and how damped the ground is (`control.estimation`), unless the
controller was told. Pure functions over arrays with a leading axis of feet.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.control.estimation import Estimate, Estimator
from softground.media.visco_elastic.lemma import Pose, regressor
from softground.media.visco_elastic.sole import Patch
from softground.robots import Robot

#: A sample teaches only while the foot carries at least this share of the weight: less, and parts of it may hang free.
LEAST_LOAD = 0.1
#: Bounds of what is believed, as factors of the first guess: noise must not make the ground weightless or negative.
LEAST, MOST = 0.02, 50.0


class GroundBelief(NamedTuple):
    """Per foot (leading axis)."""

    estimate: Estimate
    rest: Pose
    in_contact: Bool[Array, " f"]
    """As planned, one tick ago."""


def believe(robot: Robot, q, estimate: Estimate, ground_height: float) -> GroundBelief:
    """Belief of a robot that stands at q: the same first guess under every foot."""
    count = len(robot.feet)
    position, rotation = robot.foot_poses(q)
    spread = jax.tree.map(lambda part: jnp.broadcast_to(part, (count, *part.shape)), estimate)
    return GroundBelief(spread, _level(position, rotation, ground_height), np.ones(count, bool))


def observe(
    robot: Robot,
    soles: Patch,
    estimator: Estimator | None,
    ground_height: float,
    belief: GroundBelief,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    wrenches: Float[Array, "f 6"],
    in_contact: Bool[Array, " f"],
) -> GroundBelief:
    """Belief after one more look at the feet; without an estimator k and b stay as they are."""
    kin = robot.kinematics(q)
    position, rotation = robot.foot_poses(kin)
    impact = in_contact & ~belief.in_contact
    met = _level(position, rotation, ground_height)
    rest = jax.tree.map(
        lambda new, old: jnp.where(impact.reshape(-1, *(new.ndim - 1) * (1,)), new, old), met, belief.rest
    )
    estimate = belief.estimate
    if estimator is not None:
        rows = jax.vmap(regressor)(soles, rest, Pose(position, rotation), robot.foot_twists(kin, v))
        weight = jnp.sum(jnp.asarray(robot.parameters.mass)) * jnp.linalg.norm(jnp.asarray(robot.gravity))
        carries = in_contact & (wrenches[:, 2] > LEAST_LOAD * weight)
        estimate = jax.vmap(estimator.update)(estimate, wrenches, rows, carries, impact)
    return GroundBelief(estimate, rest, in_contact)


def _level(position: Float[Array, "f 3"], rotation: Float[Array, "f 3 3"], height: float) -> Pose:
    """Poses with the same place and heading, level on the ground."""
    yaw = jnp.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
    c, s, zero, one = jnp.cos(yaw), jnp.sin(yaw), jnp.zeros_like(yaw), jnp.ones_like(yaw)
    level = jnp.stack([jnp.stack([c, -s, zero], -1), jnp.stack([s, c, zero], -1), jnp.stack([zero, zero, one], -1)], 1)
    return Pose(position.at[:, 2].set(height), level)
