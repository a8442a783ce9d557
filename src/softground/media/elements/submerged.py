"""How an element lies in the ground: its mean depth, and where the load on it has its centre.

The depths of an element's points are taken to spread evenly over d - h .. d + h. With r the depth that counts (zero
above the surface, its corner rounded over `ROUNDING`) and R, S its first and second integral,

    mean depth    = (R(d + h) - R(d - h)) / 2h
    mean of (depth - d) r = (R(d + h) + R(d - h)) / 2 - (S(d + h) - S(d - h)) / 2h
    share in the ground    = (r(d + h) - r(d - h)) / 2h,

exact for a rectangle that is tilted about one of its sides, all in the ground or in part, also in its torque.
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
    q, m = jnp.clip(depth / ROUNDING, 0.0, 1.0), jnp.maximum(depth - ROUNDING, 0.0)
    ramp = ROUNDING * q**4 * (2.5 - 3 * q + q * q) + m
    first = ROUNDING**2 * q**5 * (0.5 - 0.5 * q + q * q / 7) + m * ROUNDING / 2 + m * m / 2
    second = ROUNDING**3 * q**6 * (1 / 12 - q / 14 + q * q / 56)
    return ramp, first, second + m * (ROUNDING**2 / 7 + m * (ROUNDING / 4 + m / 6))


def submerged(depth: Float[Array, " e"], variance: Float[Array, " e"]):
    """Mean depth that counts (m), how much deeper than its centre an element's load has its centre, over the variance
    of its depths (1/m), and the share of it that is in the ground: (e,) each."""
    square = 3 * variance + FLAT**2
    half = jnp.sqrt(square)
    (deep, lower, low), (shallow, upper, high) = counted(depth - FLAT + half), counted(depth - FLAT - half)
    mean = (lower - upper) / (2 * half)
    moment = (lower + upper) / 2 - (low - high) / (2 * half)
    return mean, 3 / square * moment / (mean + 1e-9), (deep - shallow) / (2 * half)
