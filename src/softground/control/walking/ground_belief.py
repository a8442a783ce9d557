"""What a walking robot believes of the ground under its feet: where each foot would feel nothing, and k and b.

When a foot comes down, its pose of rest is where it meets the ground: its place and heading, level, at the ground's
height. From then on its wrench says how stiff and how damped the ground is (`control.estimation`), unless the
controller was told. Pure functions over arrays with a leading axis of feet.

*The wrench that a controller should use.* A controller that asks for wrench rates answers every jump of the wrench that
it is given, with accelerations of a foot of jump / (b A w2 / 12): for 1 N m of roll within a tick, thousands of rad/s2.
Measured wrenches jump, by noise and when points of the sole lift off; those of the model, which follow from pose and
twist, do not, but know nothing of what the model leaves out. So we take the model's, and of the difference to the
measured ones only what remains after a low-pass: an observer of the disturbance. It must not be slower than the ground
itself, whose wrenches settle with the time b / k, else foot and observer drive each other.
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
#: Time constant with which unmodelled wrenches are followed, of the ground's own b / k.
SMOOTHING = 0.5


class GroundBelief(NamedTuple):
    """Per foot (leading axis)."""

    estimate: Estimate
    ground: Float[Array, "f 2"]
    """Stiffness and damping to use: the estimate, within bounds."""
    rest: Pose
    in_contact: Bool[Array, " f"]
    """As planned, one tick ago."""
    unmodelled: Float[Array, "f 6"]
    """What the measured wrenches have and the model's have not, low-passed (N, N m)."""
    wrenches: Float[Array, "f 6"]
    """What to take for the wrenches: the model's and the unmodelled part (N, N m)."""


def believe(robot: Robot, q, estimate: Estimate, ground_height: float) -> GroundBelief:
    """Belief of a robot that stands at q: the same first guess under every foot."""
    count = len(robot.feet)
    position, rotation = robot.foot_poses(q)
    spread = jax.tree.map(lambda part: jnp.broadcast_to(part, (count, *part.shape)), estimate)
    none = np.zeros((count, 6))
    level = _level(position, rotation, ground_height)
    return GroundBelief(spread, spread.parameters, level, np.ones(count, bool), none, none)


def observe(
    robot: Robot,
    soles: Patch,
    estimator: Estimator | None,
    ground_height: float,
    period: float,
    step: float,
    guess: Float[Array, "2"],
    belief: GroundBelief,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    wrenches: Float[Array, "f 6"],
    in_contact: Bool[Array, " f"],
) -> GroundBelief:
    """Belief after one more look at the feet; without an estimator k and b stay as they are.

    period: of the looks (s). guess: of k and b, at the start. wrenches: of the step (of `step` s) that led to q and v;
    springs push as they are stretched at its start, dampers with the velocity at its end (docs/estimation.md).
    """
    position, rotation = robot.foot_poses(q)
    impact = in_contact & ~belief.in_contact
    met = _level(position, rotation, ground_height)
    rest = jax.tree.map(
        lambda new, old: jnp.where(impact.reshape(-1, *(new.ndim - 1) * (1,)), new, old), met, belief.rest
    )
    estimate = belief.estimate
    before = robot.kinematics(robot.integrate(q, v, -step))
    rows = jax.vmap(regressor)(soles, rest, Pose(*robot.foot_poses(before)), robot.foot_twists(before, v))
    if estimator is not None:
        weight = jnp.sum(jnp.asarray(robot.parameters.mass)) * jnp.linalg.norm(jnp.asarray(robot.gravity))
        carries = in_contact & (wrenches[:, 2] > LEAST_LOAD * weight)
        estimate = jax.vmap(estimator.update)(estimate, wrenches, rows, carries, impact)
    ground = jnp.clip(estimate.parameters, LEAST * guess, MOST * guess)
    modelled = jnp.einsum("fij,fj->fi", rows, ground)
    followed = 1 - jnp.exp(-period * ground[:, :1] / (SMOOTHING * ground[:, 1:]))
    unmodelled = belief.unmodelled + followed * (wrenches - modelled - belief.unmodelled)
    stands = in_contact[:, None]
    unmodelled = jnp.where(stands, unmodelled, 0.0)
    used = jnp.where(stands, modelled + unmodelled, wrenches)
    return GroundBelief(estimate, ground, rest, in_contact, unmodelled, used)


def _level(position: Float[Array, "f 3"], rotation: Float[Array, "f 3 3"], height: float) -> Pose:
    """Poses with the same place and heading, level on the ground."""
    yaw = jnp.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
    c, s, zero, one = jnp.cos(yaw), jnp.sin(yaw), jnp.zeros_like(yaw), jnp.ones_like(yaw)
    level = jnp.stack([jnp.stack([c, -s, zero], -1), jnp.stack([s, c, zero], -1), jnp.stack([zero, zero, one], -1)], 1)
    return Pose(jnp.concatenate([position[:, :2], jnp.full_like(position[:, 2:], height)], axis=1), level)
