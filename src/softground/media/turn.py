"""How far a foot is turned about the surface's normal, and wrench sets that turn with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import FootInGround


def turn_about_normal(rotation: Float[Array, "3 3"]) -> Float[Array, "3 3"]:
    """The turn about z in a rotation, once the shortest tilt of the z axis is taken out.

    rotation = turn tilt gives rotation_xx + rotation_yy = (1 + cos tilt) cos turn, and likewise for the sine.
    """
    size = jnp.maximum(1 + rotation[2, 2], 1e-6)  # zero only upside down, where no turn is defined
    cos, sin = (rotation[0, 0] + rotation[1, 1]) / size, (rotation[1, 0] - rotation[0, 1]) / size
    zero, one = jnp.zeros_like(cos), jnp.ones_like(cos)
    return jnp.stack([cos, -sin, zero, sin, cos, zero, zero, zero, one]).reshape(3, 3)


def turned_with_foot(
    vertices: Callable[[FootInGround], Float[Array, "k 6"]], foot: FootInGround
) -> Float[Array, "k 6"]:
    """Vertices of a foot that is not round, from a function that knows feet which are tilted but not turned."""
    turn = turn_about_normal(foot.rotation)
    return each_turned(vertices(replace(foot, rotation=turn.T @ foot.rotation)), turn)


@jax.jit  # a function of its own, which native code makes a loop over the vertices of
def each_turned(straight: Float[Array, "k 6"], turn: Float[Array, "3 3"]) -> Float[Array, "k 6"]:
    """Forces and torques turned alike; sums of products, which XLA fuses, instead of a product of matrices."""
    return (straight.reshape(-1, 2, 1, 3) * turn).sum(-1).reshape(straight.shape)
