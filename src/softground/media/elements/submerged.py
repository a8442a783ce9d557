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
    """The depth that counts and its first and second integral, lengths in units of `ROUNDING`."""
    q, m = jnp.clip(depth, 0.0, 1.0), jnp.maximum(depth - 1.0, 0.0)
    square = q * q
    fourth = square * square
    ramp = fourth * (2.5 + q * (q - 3)) + m
    first = fourth * q * (0.5 + q * (q * (1 / 7) - 0.5)) + m * (0.5 + 0.5 * m)
    second = fourth * square * (1 / 12 + q * (q * (1 / 56) - 1 / 14))
    return ramp, first, second + m * (1 / 7 + m * (1 / 4 + m * (1 / 6)))


def submerged(depth: Float[Array, " e"], variance: Float[Array, " e"], reach: Float[Array, " e"] | None = None):
    """Mean depth that counts (m), how much deeper than its centre an element's load has its centre, over the variance
    of its depths (1/m), and the share of it that is in the ground: (e,) each. reach: H, m."""
    unit, flat = 1 / ROUNDING, (FLAT / ROUNDING) ** 2
    depth, square = depth * unit - FLAT * unit, variance * (3 * unit**2) + flat
    if reach is None:
        inverse = 1 / jnp.sqrt(square)
        mean, moment, share = _evenly(depth, square * inverse, inverse)
        inverse_square = inverse * inverse
    else:
        farthest = jnp.maximum(square, (jnp.maximum(reach, 0.0) * unit) ** 2 + flat)
        of_far = 1 / jnp.sqrt(farthest)
        outer = 0.25 * square * of_far * of_far
        rest = 1 - outer
        both = 1 / (square * rest)  # one quotient for two: they take longest
        inverse_square = rest * both
        inner = jnp.sqrt(0.75 * square * square * both)
        of_near = inner * rest * inverse_square * (1 / 0.75)
        far, near = _evenly(depth, farthest * of_far, of_far), _evenly(depth, inner, of_near)
        mean, moment, share = (outer * one + rest * other for one, other in zip(far, near, strict=True))
    mean = ROUNDING * mean
    return mean, 3 * moment * inverse_square / (mean + 1e-9), share


def _evenly(depth, half, inverse):
    """Mean depth that counts, mean of it times how much deeper it is than the centre, and the share in the ground, of
    depths that spread evenly, in units of `ROUNDING`. half, inverse: half their range, and 1 over it."""
    (deep, lower, low), (shallow, upper, high) = counted(depth + half), counted(depth - half)
    inverse = 0.5 * inverse
    return (lower - upper) * inverse, 0.5 * (lower + upper) - (low - high) * inverse, (deep - shallow) * inverse
