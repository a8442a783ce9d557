"""A nonlinear program (NLP) as an optimiser sees it: numbers, sparse derivatives, and how long each takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Nlp:
    """min f(z) subject to lower <= z <= upper and row_lower <= c(z) <= row_upper.

    Jacobian and Hessian are given by the places of their entries (Hessian: lower triangle) and functions that fill
    them. The Hessian is that of the Lagrangian sigma f + multipliers . c, or a model of it.
    """

    lower: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    jacobian_rows: np.ndarray
    jacobian_columns: np.ndarray
    hessian_rows: np.ndarray
    hessian_columns: np.ndarray
    objective: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    constraints: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray, float, np.ndarray], np.ndarray]
    clock: Clock = field(default_factory=lambda: Clock())

    @property
    def size(self) -> int:
        return len(self.lower)

    @property
    def n_rows(self) -> int:
        return len(self.row_lower)

    def violation(self, z: np.ndarray) -> float:
        """Greatest violation of a row or bound."""
        rows = self.constraints(z)
        outside = [self.row_lower - rows, rows - self.row_upper, self.lower - z, z - self.upper]
        return max(float(np.max(one, initial=0.0)) for one in outside)


@dataclass
class Clock:
    """Seconds spent in each callback, and how often it was called."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget all calls."""
        for name in self.seconds:
            self.seconds[name], self.calls[name] = 0.0, 0

    def timed(self, name: str, function: Callable) -> Callable:
        """The function, its calls counted under a name."""
        self.seconds.setdefault(name, 0.0)
        self.calls.setdefault(name, 0)

        def counted(*args):
            began = time.perf_counter()
            result = function(*args)
            self.seconds[name] += time.perf_counter() - began
            self.calls[name] += 1
            return result

        return counted
