"""What goes from one step to the next."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from softground.arrays import Array
from softground.bridges.mujoco.carrying import Carrier
from softground.bridges.mujoco.pushing import Memory as OfGround


class Memory(NamedTuple):
    """What goes from one step to the next, and what there is to read of the last one (zeros before the first)."""

    wrenches: Float[Array, "f 6"]
    """Force (N) and torque (N m) of the ground on each foot, about its origin, world frame."""
    body_wrenches: Float[Array, "b 6"]
    """The same of bodies beside the feet, N and N m."""
    depth: Float[Array, " f"]
    """m, of the feet, positive below the surface, where the step began."""
    power: Float[Array, ""]
    """W, of the ground on the robot as the step ended: at most what elastic ground gives back."""
    stored_energy: Float[Array, ""]
    """J, elastic, in the ground as the step began."""
    rounds: Int[Array, ""]
    """How often the step was taken again with the ground's wrenches."""
    mismatch: Float[Array, ""]
    """m/s, rad/s: by which the end of the step that the ground saw differs from MJX's, at the feet."""
    converged: Bool[Array, ""]
    """Whether the ground's problem was solved, agrees with MJX's end of the step, and all of it is finite."""
    applied: Float[Array, "c 6"]
    """What the last step left in `xfrc_applied`, on the bodies that the ground may touch (N, N m)."""
    pushed: Float[Array, "c 6"]
    """What of it was the ground's, N and N m."""
    ground: OfGround


def fresh_memory(carrier: Carrier, ground: OfGround, dtype: jnp.dtype) -> Memory:
    """Before the first step."""
    zero, rows = jnp.zeros((), dtype), jnp.zeros((len(carrier.touched), 6), dtype)
    return Memory(
        wrenches=jnp.zeros((len(carrier.feet), 6), dtype),
        body_wrenches=jnp.zeros((len(carrier.bodies), 6), dtype),
        depth=jnp.zeros(len(carrier.feet), dtype),
        power=zero,
        stored_energy=zero,
        rounds=jnp.zeros((), jnp.int32),
        mismatch=zero,
        converged=jnp.ones((), bool),
        applied=rows,
        pushed=rows,
        ground=ground,
    )
