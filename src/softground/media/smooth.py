"""Corners, rounded: functions that are twice differentiable where a clamp or a step would have a kink.

They take arrays of NumPy (when fitting) or of JAX (when simulating), as `xp` says. One comparison chooses the
piece: two that round differently would both count at the seam, and the slope there would be twice what it is.
"""

from __future__ import annotations

from types import ModuleType

import jax.numpy as jnp


def smooth_ramp(value, length: float, xp: ModuleType = jnp):
    """max(value, 0), its corner rounded over `length`: `value - length/2` beyond."""
    x = xp.maximum(value / length, 0.0)
    return length * xp.where(x < 1, x**3 - x**4 / 2, x - 0.5)


def smooth_step(x, xp: ModuleType = jnp):
    """0 below 0, 1 above 1: the quintic of minimum jerk, without velocity or acceleration at either end."""
    x = xp.clip(x, 0.0, 1.0)
    return x**3 * (10 - 15 * x + 6 * x**2)


def smooth_step_rate(x, xp: ModuleType = jnp):
    """Derivative of `smooth_step`."""
    x = xp.clip(x, 0.0, 1.0)
    return 30 * x**2 * (1 - x) ** 2
