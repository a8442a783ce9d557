"""How a biped without a motor about the vertical turns: it nods.

To pitch its trunk with an acceleration alpha the robot needs a moment about its centre of mass, which the ground gives
by a force along x at the foot that carries, h below:  -h F_x = I alpha.  That foot is W/2 beside the centre of mass, so
the same force turns the robot about the vertical by

    M = -y F_x = +- I alpha W / (2 h),         + on the left foot, - on the right one.

A trunk that is accelerated forwards (alpha > 0) while the left foot carries, and backwards while the right one does, is
turned to the left in both stances. It is upright whenever the feet change, and ends a stance at minus the rate with
which it began, so stances follow on each other: with t since the stance began and T its duration the pitch is
alpha t (t - T) / 2. Over the left foot it leans back, by alpha T^2 / 8 at most, and over the right one forwards.

By where feet are put this robot hardly turns. While a robot's angular momentum about the level axes does not change,
the ground's force points from its foot to its centre of mass and has no moment about the vertical.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.references import FrameMotion
from softground.robots.rotations import quaternion_exp, quaternion_matrix


def nodding_trunk(
    upright: Float[Array, "3 3"], nod: float | Float[Array, ""], side: float | Float[Array, ""], duration, time
) -> FrameMotion:
    """Wanted motion of a trunk that is `upright` between stances.

    nod: rad/s2. side: 1 while the left foot carries, -1 while the right one does. time: s, since the stance began.
    """
    axis, size = upright[:, 1], side * nod
    zero = jnp.zeros(3)
    turned = quaternion_matrix(quaternion_exp(axis * size * time * (time - duration) / 2))
    rate, acceleration = (jnp.append(zero, axis * x) for x in (size * (time - duration / 2), size))
    return FrameMotion(zero, turned @ upright, rate, acceleration)
