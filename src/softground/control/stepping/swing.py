"""The way of a swinging foot: a cycloid, at rest over the ground when it leaves and when it lands."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array

Motion = tuple[Float[Array, "3"], Float[Array, "3"], Float[Array, "3"]]


def cycloid(start: Float[Array, "3"], end: Float[Array, "3"], height, duration, time) -> Motion:
    """Position (m), velocity and acceleration at a time (s) since lift-off.

    With s = time / duration the foot has gone the share s - sin(2 pi s) / (2 pi) of its way, and is
    height (1 - cos(2 pi s)) / 2 above the line from start to end.
    """
    s = jnp.clip(time / duration, 0.0, 1.0)
    turn = 2 * np.pi / duration
    angle = 2 * np.pi * s
    way, up = end - start, height / 2 * np.array([0.0, 0.0, 1.0])
    return (
        start + way * (s - jnp.sin(angle) / (2 * np.pi)) + up * (1 - jnp.cos(angle)),
        way * (1 - jnp.cos(angle)) / duration + up * turn * jnp.sin(angle),
        way * turn * jnp.sin(angle) / duration + up * turn**2 * jnp.cos(angle),
    )
