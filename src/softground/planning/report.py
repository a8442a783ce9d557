"""How a solve went, and the optimiser's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class StageReport:
    """How one stage went."""

    eps: float
    hessian: str
    coarse: int  # steps of the problem joined to one
    converged: bool
    reason: str
    iterations: int
    objective: float
    violation: float
    optimality: float
    seconds: float
    callback_seconds: dict[str, float]
    callback_calls: dict[str, int]
    history: list[tuple[float, float, float]] = field(repr=False)  # objective, violation, optimality

    def within(self, feasibility: float, optimality: float) -> bool:
        """Whether its end is a solution to these tolerances."""
        return self.violation <= feasibility and self.optimality <= optimality


@dataclass(frozen=True)
class Report:
    """How a solve went. Violations are in the rows' units: m/s, rad/s, 100 N, 100 N m, decimetres, rad."""

    status: str  # "converged", "feasible", "interrupted" or "failed"
    reason: str
    iterations: int
    objective: float
    violation: float
    optimality: float
    seconds: float  # of the optimiser with its callbacks
    compile_seconds: float  # before: patterns and compilation
    stages: list[StageReport]
    clashes: list[str] = field(default_factory=list)  # of a failed solve: rows that are violated most, in words
    start_lifts: tuple[int, ...] = ()  # how often each foot left the ground in the guess (of the stride, if repeated)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Report:
        """The report of a dictionary as `dataclasses.asdict` makes it, also by way of JSON."""
        stages = [
            StageReport(**stage | {"history": [tuple(point) for point in stage["history"]]})
            for stage in fields["stages"]
        ]
        return cls(**{**fields, "stages": stages, "start_lifts": tuple(fields.get("start_lifts", ()))})

    def summary(self) -> dict:
        """The report without histories, for JSON."""
        result = asdict(self)
        for stage in result["stages"]:
            stage.pop("history")
        return result


class Solution(NamedTuple):
    """The optimiser's own numbers, from which derivatives of the optimum follow (`planning.sensitivity`)."""

    unknowns: np.ndarray
    multipliers: np.ndarray  # of rows: cost + multipliers . rows is stationary
    eps: float  # W
