"""A convex quadratic program, its solution, and how good the solution is."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Problem(NamedTuple):
    """minimise 1/2 x'H x + g'x  subject to  E x = e,  lower <= G x <= upper (bounds may be infinite)."""

    hessian: Float[np.ndarray, "n n"]
    gradient: Float[np.ndarray, " n"]
    equality_matrix: Float[np.ndarray, "e n"]
    equality_target: Float[np.ndarray, " e"]
    inequality_matrix: Float[np.ndarray, "i n"]
    lower: Float[np.ndarray, " i"]
    upper: Float[np.ndarray, " i"]


class Status(Enum):
    """How a solve ended."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    """No x meets the constraints."""
    FAILED = "failed"
    """The solver gave up, or was given or returned numbers that are not finite."""


class Solution(NamedTuple):
    """x and the multipliers of the constraints: H x + g + E'y + G'z = 0, z > 0 at upper and z < 0 at lower bounds."""

    x: Float[np.ndarray, " n"]
    equality_multipliers: Float[np.ndarray, " e"]
    inequality_multipliers: Float[np.ndarray, " i"]
    status: Status


class Residual(NamedTuple):
    """The Karush-Kuhn-Tucker conditions, each relative to the size of what it balances: 0 is optimal."""

    stationarity: float
    primal: float
    dual: float
    complementarity: float

    @property
    def worst(self) -> float:
        return max(self)


def kkt_residual(problem: Problem, solution: Solution) -> Residual:
    """How far a solution is from the conditions that only the optimum meets.

    Stationarity: the gradient of the Lagrangian, against the greatest of its terms. Primal: violation of each row,
    against the terms of that row. Dual: multipliers of a bound that is not there (infinite), against the greatest
    multiplier. Complementarity: multiplier times distance to its bound, against the cost's own terms.
    """
    h, g, e_matrix, e_target, g_matrix, lower, upper = problem
    x, y, z = solution.x, solution.equality_multipliers, solution.inequality_multipliers
    terms = [h @ x, g, e_matrix.T @ y, g_matrix.T @ z]
    stationarity = _largest(sum(terms)) / _scale(*terms)
    rows, e_rows = g_matrix @ x, e_matrix @ x
    e_scale = 1 + np.abs(e_matrix) @ np.abs(x)
    i_scale = 1 + np.abs(g_matrix) @ np.abs(x)
    violation = np.maximum(np.maximum(lower - rows, rows - upper), 0.0) / i_scale
    primal = max(_largest((e_rows - e_target) / e_scale), _largest(violation))
    above, below = np.maximum(z, 0.0), np.maximum(-z, 0.0)
    unbounded = np.where(np.isinf(upper), above, 0.0) + np.where(np.isinf(lower), below, 0.0)
    dual = _largest(unbounded) / _scale(z)
    gap = above * _finite(upper - rows) + below * _finite(rows - lower)
    complementarity = _largest(gap) / _scale(x * (h @ x), x * g)
    return Residual(stationarity, primal, dual, complementarity)


def _largest(values) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _scale(*terms) -> float:
    return max([1.0, *(_largest(term) for term in terms)])


def _finite(values) -> np.ndarray:
    return np.where(np.isfinite(values), values, 0.0)
