"""Paths over time made of polynomials, two times continuously differentiable: what every reference here is built of.

A `scipy.interpolate.PPoly` holds for each piece i its powers of (t - t_i), the highest first, so that values, rates
and everything derived from them are closed forms.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.interpolate import PPoly

# Powers of s in [0, 1], the highest first. All but the ends of RISE and FALL that meet have zero rate and acceleration.
MINIMUM_JERK = np.array([6.0, -15.0, 10.0, 0.0, 0.0, 0.0])
"""From 0 to 1."""
MINIMUM_SNAP = np.array([-20.0, 70.0, -84.0, 35.0, 0.0, 0.0, 0.0, 0.0])
"""From 0 to 1, with zero jerk at both ends too."""
BUMP = 64 * np.array([-1.0, 3.0, -3.0, 1.0, 0.0, 0.0, 0.0])
"""64 s^3 (1 - s)^3, from 0 to 1 and back."""
RISE = np.array([8.0, -25.0, 20.0, 0.0, 0.0, 0.0]) / 3
"""From 0 to 1, the first half of the path of least jerk that goes up and down again: at s = 1 its rate and its jerk are
zero, so that its mirror image FALL continues it with four derivatives."""
FALL = np.array(np.poly1d(RISE)(np.poly1d([-1.0, 1.0])))
"""RISE(1 - s)."""


def transitions(
    times: Float[np.ndarray, " n"], values: Float[np.ndarray, "n d"], shape: Float[np.ndarray, " k"] = MINIMUM_JERK
) -> PPoly:
    """From value to value, by default by minimum jerk, at rest at each of the times (s); equal values are a hold."""
    coefficients = stretched(times, shape, np.diff(values, axis=0))
    coefficients[-1] = values[:-1]
    return PPoly(coefficients, times)


def stretched(
    times: Float[np.ndarray, " n"], shape: Float[np.ndarray, " k"], size: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "k m d"]:
    """Coefficients of a shape over [0, 1] stretched over every piece and scaled by the piece's size, n = m + 1."""
    power = np.arange(len(shape))[::-1, None]
    return (shape[:, None] / np.diff(times) ** power)[..., None] * size


def added(first: PPoly, second: PPoly) -> PPoly:
    """Sum of two paths on the same pieces."""
    missing = len(first.c) - len(second.c)
    low, high = (second.c, first.c) if missing >= 0 else (first.c, second.c)
    return PPoly(high + np.pad(low, ((abs(missing), 0), (0, 0), (0, 0))), first.x)


def piece_ends(path: PPoly) -> Float[np.ndarray, "m d"]:
    """Value of every piece at its own right end, which at a jump is not the value of the path."""
    power = np.arange(len(path.c))[::-1, None]
    return np.einsum("km,kmd->md", np.diff(path.x) ** power, path.c)
