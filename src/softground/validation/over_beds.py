"""How the errors of two laws compare, and what the scatter of beds leaves open.

What is measured in a bed is the grains' mean and what this bed scatters about it, so that also a law that is right errs
in every single bed, and the ratio of two laws' errors there tends to one. Two beds scatter independently: with e_a the
error in bed a, the mean product of the errors in two different of n beds,

    E = sum over a != b of e_a.e_b / (n (n - 1)),

is the square of the law's own error, free of scatter. The interval leaves out one bed after the other (the
jackknife), with Student's t for as many beds less one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit


class Ratio(NamedTuple):
    """Of the errors of two laws, with its 95 % interval over beds."""

    value: float
    low: float
    high: float


def ratio_of_errors(one: np.ndarray, other: np.ndarray) -> Ratio:
    """one, other: errors (beds, n) of two laws in the same three beds or more."""
    beds = len(one)
    rest = [np.delete(np.arange(beds), bed) for bed in range(beds)]
    square = own_square(one) / own_square(other)
    without = np.array([own_square(one[left]) / own_square(other[left]) for left in rest])
    pseudo = beds * square - (beds - 1) * without
    wide = float(stdtrit(beds - 1, 0.975)) * pseudo.std(ddof=1) / np.sqrt(beds)
    return Ratio(*(float(np.sqrt(max(x, 0.0))) for x in (square, pseudo.mean() - wide, pseudo.mean() + wide)))


def own_square(errors: np.ndarray) -> float:
    """E of errors (beds, n); below zero where scatter hides it."""
    beds = len(errors)
    return float(((errors.sum(0) ** 2).sum() - (errors**2).sum()) / (beds * (beds - 1)))
