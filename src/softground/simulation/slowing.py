"""The fastest motion that a step can follow.

A step takes Coriolis and centrifugal forces at its start. Of a motion that turns by an angle a within a step, energy
grows in the step by a share of a^2: nothing at the speeds of robots (10 rad/s and 2 ms: 4e-4), twice as much as before
at a radian, and from there on without bound. Where a joint, or the robot as a whole, would turn by more than a radian
in a step, all of its motion is slowed down until none does. Slower motions are not changed at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array

if TYPE_CHECKING:
    from softground.robots import Robot

#: Angle by which a dof may turn in a step, rad: 500 rad/s at 2 ms.
MOST_TURN = 1.0


def slowed(robot: Robot, v: Float[Array, " nv"], dt) -> tuple[Float[Array, " nv"], Bool[Array, ""]]:
    """The velocity at which a step ends, and whether it had to be made smaller."""
    turns = np.flatnonzero(robot.tree.dof_turns)
    if not len(turns):
        return v, jnp.zeros((), bool)
    turn = dt * jnp.abs(v[turns]).max()
    too_far = turn > MOST_TURN
    return v * jnp.where(too_far, MOST_TURN / jnp.where(too_far, turn, 1.0), 1.0), too_far
