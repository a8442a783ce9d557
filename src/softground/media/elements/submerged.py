"""How an element lies in the ground: its mean depth, and where the load on it has its centre.

The depths of an element's points are taken to spread evenly over d - h .. d + h. With r the depth that counts (zero
above the surface, its corner rounded over `ROUNDING`) and R, S its first and second integral,

    mean depth    = (R(d + h) - R(d - h)) / 2h
    mean of (depth - d) r = (R(d + h) + R(d - h)) / 2 - (S(d + h) - S(d - h)) / 2h
    share in the ground    = (r(d + h) - r(d - h)) / 2h,

exact for a rectangle that is tilted about one of its sides, all in the ground or in part, also in its torque.

**Corners.** The even spread with the variance s of an element's depths has h = sqrt(3 s). A rectangle that is tilted
about both of its sides, by h1 and h2, has 3 s = h1^2 + h2^2 but reaches down by H = h1 + h2: a corner goes in unfelt
for up to 0.41 h, 90 mm of the base of a large robot. A triangle's tip reaches 1.6 h. So where H is known, depths spread
in two parts that have the same mean and variance together and reach as far,

    a share a = 3 s / 4 H^2 evenly over d +- H,     the others evenly over d +- g,     g^2 = 3/4 3 s / (1 - a),

which is the even spread again where H = h.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array

ROUNDING = 4e-4
"""Depth over which an element that lies flat meets the ground, m. Below, it feels half of this less than its depth."""
FLAT = 2e-5
"""Half the range of depths of an element that lies flat, m: keeps the slopes of `spread` finite."""


def counted(depth):
    """The depth that counts and its first and second integral: m, m2, m3."""
    q, m = jnp.clip(depth * (1 / ROUNDING), 0.0, 1.0), jnp.maximum(depth - ROUNDING, 0.0)
    ramp = ROUNDING * q**4 * (2.5 - 3 * q + q * q) + m
    first = ROUNDING**2 * q**5 * (0.5 - 0.5 * q + q * q / 7) + m * ROUNDING / 2 + m * m / 2
    second = ROUNDING**3 * q**6 * (1 / 12 - q / 14 + q * q / 56)
    return ramp, first, second + m * (ROUNDING**2 / 7 + m * (ROUNDING / 4 + m / 6))


def submerged(depth: Float[Array, " e"], variance: Float[Array, " e"], reach: Float[Array, " e"] | None = None):
    """Mean depth that counts (m), how much deeper than its centre an element's load has its centre, over the variance
    of its depths (1/m), and the share of it that is in the ground: (e,) each. reach: H, m."""
    square = 3 * variance + FLAT**2
    if reach is None:
        mean, moment, share = _evenly(depth, jnp.sqrt(square))
    else:
        farthest = jnp.maximum(square, jnp.maximum(reach, 0.0) ** 2 + FLAT**2)
        outer = 0.25 * square / farthest
        inner = jnp.sqrt(0.75 * square / (1 - outer))
        parts = zip(_evenly(depth, jnp.sqrt(farthest)), _evenly(depth, inner), strict=True)
        mean, moment, share = (outer * far + (1 - outer) * near for far, near in parts)
    return mean, 3 * moment / (square * (mean + 1e-9)), share


def _evenly(depth, half):
    """Mean depth that counts, mean of it times how much deeper it is than the centre, and the share in the ground, of
    depths that spread evenly: m, m2, 1."""
    (deep, lower, low), (shallow, upper, high) = counted(depth - FLAT + half), counted(depth - FLAT - half)
    inverse = 0.5 / half
    return (lower - upper) * inverse, (lower + upper) / 2 - (low - high) * inverse, (deep - shallow) * inverse
