"""Gains of a task, one for each of its directions."""

from __future__ import annotations

import numpy as np


def alike(value: float) -> np.ndarray:
    """The same gain along x, y and z."""
    return np.full(3, float(value))


def critical(kp) -> np.ndarray:
    """Derivative gain of critical damping."""
    return 2 * np.sqrt(np.asarray(kp, dtype=float))
