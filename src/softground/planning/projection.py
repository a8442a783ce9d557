"""The positive part of a step's curvature.

The Lagrangian of a gait bends by its costs, which are sums of squares, and by each step's multipliers times the
curvature of its rows. The latter has either sign. Its positive part,

    H+ = D^(1/2) [ D^(-1/2) H D^(-1/2) ]+ D^(1/2),

keeps what stops a step (rows that bend up by more than the costs know) and drops what would send it off; D is the
diagonal in which unknowns are of one size (`Damping`). A sum of such blocks is positive semidefinite, whatever the
multipliers.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from softground.planning.blocks import CurvaturePlan


def filled(plan: CurvaturePlan) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the lower triangle that a positive part can have: of all columns that bend at all."""
    used = np.union1d(plan.row, plan.column)
    row, column = np.tril_indices(len(used))
    return used[row], used[column]


def positive_part(
    plan: CurvaturePlan, entries: Float[np.ndarray, "places e"], size: Float[np.ndarray, "places width"]
) -> Float[np.ndarray, "places f"]:
    """The positive part of curvatures, as entries at `filled(plan)`; size: the diagonal D of each place."""
    used = np.union1d(plan.row, plan.column)
    row, column = np.searchsorted(used, plan.row), np.searchsorted(used, plan.column)
    scale = size[:, used] ** -0.5
    matrix = np.zeros((len(entries), len(used), len(used)))
    matrix[:, row, column] = entries * scale[:, row] * scale[:, column]
    value, vector = np.linalg.eigh(matrix)  # reads the lower triangle
    part = (vector * np.maximum(value, 0.0)[:, None]) @ vector.transpose(0, 2, 1)
    row, column = np.tril_indices(len(used))
    return part[:, row, column] / (scale[:, row] * scale[:, column])
