"""What grains bear at the surface: resistive force theory has no stress there, bearing-capacity theory has.

Under a level sole of width B at depth z in sand of density rho and angle of internal friction phi the greatest pressure
is (Terzaghi 1943; factors of Vesic 1973, shapes of De Beer 1970)

    q = rho g z N_q s_q + 1/2 rho g B N_gamma s_gamma,      N_q = exp(pi t) tan(pi/4 + phi/2)^2,
    N_gamma = 2 (N_q + 1) t,      s_q = 1 + t B/L,      s_gamma = 1 - 0.4 B/L,      t = tan(phi).

The first term is the stress of resistive force theory, in proportion to depth. The second, of the wedge of grains that
a sole of width B pushes aside, is as if the sole were deeper by

    D = B t (1 + 1/N_q) (1 - 0.4 B/L) / (1 + t B/L),

some 0.2 B, whatever the density. It is reached after a settlement of 4 to 10 % of the width (Vesic): with m = 1 -
exp(-z / 0.05 B). An element that looks down (n_z < 0) is thus loaded as at the depth z - n_z m D: its set of stresses
is scaled by a number that is known before the step, which leaves the step convex.

**Width of what is in the ground.** B and L are the sides of the rectangle that has the second moments of the area in
the ground, seen from above: sqrt(12 times their eigenvalues). So an edge that dips in bears little, and a ball more the
deeper it is.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array

SETTLEMENT = 0.05
"""Settlement over width at which 63 % of what grains bear at the surface is there."""
TINY = 1e-12


def depth_more(
    friction_angle: Float[Array, ""], width: Float[Array, ""], length: Float[Array, ""], depth: Float[Array, " e"]
) -> Float[Array, " e"]:
    """By how much level elements at depths (m) are loaded as if they were deeper, m: of a sole of width and length."""
    slope = jnp.tan(friction_angle)
    surcharge = jnp.exp(np.pi * slope) * jnp.tan(np.pi / 4 + friction_angle / 2) ** 2
    square = width / length
    whole = width * slope * (1 + 1 / surcharge) * (1 - 0.4 * square) / (1 + slope * square)
    return -whole * jnp.expm1(-depth / (SETTLEMENT * width + TINY))


def width_and_length(
    weight: Float[Array, " e"], place: Float[Array, "e 2"], moments: Float[Array, "e 2 2"], symmetric: Float[Array, "2"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Sides of the rectangle with the second moments of weighted elements at places (m), which have some of their own.

    symmetric: 1 for axes across which there is a mirror image, so that the middle is at zero, else 0.
    """
    share = weight / (weight.sum() + TINY)
    middle = (1 - symmetric) * (share[:, None] * place).sum(0)
    off = place - middle
    second = (share[:, None, None] * (off[:, :, None] * off[:, None, :] + moments)).sum(0)
    mean, half = (second[0, 0] + second[1, 1]) / 2, (second[0, 0] - second[1, 1]) / 2
    mixed = (1 - symmetric.max()) * second[0, 1]
    apart = jnp.sqrt(half**2 + mixed**2 + TINY**2)
    return jnp.sqrt(12 * jnp.maximum(mean - apart, 0.0) + TINY), jnp.sqrt(12 * (mean + apart) + TINY)
