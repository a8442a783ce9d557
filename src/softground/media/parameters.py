"""Checks of a medium's parameters: numbers or arrays of them, for batches.

A parameter that is being traced cannot be looked at and passes, so that media can be made inside functions that are
differentiated, batched or compiled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softground.arrays import is_known
from softground.errors import MediumError


def check_positive(label: str, value) -> None:
    """Raise MediumError unless a parameter is positive and finite."""
    _check(label, value, lambda known: known > 0, "positive")


def check_not_negative(label: str, value) -> None:
    """Raise MediumError unless a parameter is zero or positive, and finite."""
    _check(label, value, lambda known: known >= 0, ">= 0")


def _check(label: str, value, holds: Callable[[np.ndarray], np.ndarray], what: str) -> None:
    if not is_known(value):
        return
    known = np.asarray(value)
    if known.dtype.kind in "USO":
        raise MediumError(f"{label} must be a number, got {value!r}")
    if not (np.isfinite(known) & holds(known)).all():
        raise MediumError(f"{label} must be {what} and finite, got {known}")
