"""The way to a solution: a sequence of easier or rougher problems, each started from the last one's solution."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from softground.errors import OptionError, unknown_name
from softground.planning.damping import Damping
from softground.planning.transcription import HESSIANS


@dataclass(frozen=True)
class Stage:
    """One call of the optimiser."""

    eps: float  # W, smoothing of the contact (the barrier coefficient mu in the bilevel form)
    hessian: str = "gauss-newton"
    optimality: float | None = None  # tolerance, dimensionless; None: that of the solve
    iterations: int = 200
    coarse: int = 1  # steps of the problem that are joined to one
    damping: Damping = field(default_factory=Damping)
    barrier: float = 1e-3  # dimensionless, of the interior-point method

    def __post_init__(self):
        if not (np.isfinite(self.eps) and self.eps > 0):
            raise OptionError(f"eps of a stage must be a positive power in watts, got {self.eps}")
        if self.hessian not in HESSIANS:
            raise OptionError(unknown_name("Hessian model", self.hessian, HESSIANS))


def standard_stages(eps: float = 1.0, final_eps: float | None = None) -> tuple[Stage, ...]:
    """Gauss-Newton at `eps` (W), halved down to `final_eps`, then the exact Hessian to the tolerances of the solve."""
    final = eps if final_eps is None else final_eps
    values = [eps]
    while values[-1] / 2 > final * 1.001:
        values.append(values[-1] / 2)
    if values[-1] != final:
        values.append(final)
    rough = tuple(Stage(value, optimality=1e-2, iterations=150 if k == 0 else 60) for k, value in enumerate(values))
    polish = Stage(final, "exact", iterations=120, damping=Damping(v=1e-2, torque=3e-3), barrier=1e-4)
    return (*rough, polish)


BARRIER = 0.03
"""The bilevel form's coefficient mu for which it smooths about as much as the closed form at a temperature of 1."""


def bilevel_stages(eps: float = 1.0, *, near: bool = False) -> tuple[Stage, ...]:
    """For the bilevel form, smoothed about as much as the closed form at `eps`; near: from a start near a solution.

    Gauss-Newton to the end, as the exact Hessian costs twenty times as much here. With the usual damping it comes near
    a good gait and hovers about feasibility; with more it gets feasible.
    """
    mu, usual = BARRIER * eps, Damping()
    rough = Stage(mu, optimality=1e-2, iterations=100)
    damped = (
        Stage(mu, optimality=1e-2, iterations=60, damping=usual.times(30.0)),
        Stage(mu, iterations=150, damping=usual.times(10.0)),
    )
    return damped if near else (rough, *damped)
