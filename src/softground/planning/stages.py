"""The way to a solution: a sequence of easier or rougher problems, each started from the last one's solution.

Damping is the diagonal that is added to the Hessian: how far a step may go where costs and constraints do not say. What
makes a step fail is a foot that is made to move, not a robot that is made to stand elsewhere: a change of all
configurations that is smooth in time is harmless. So velocities and scaled twists are damped, configurations hardly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np

from softground.errors import OptionError, unknown_name
from softground.planning.layout import Layout


@dataclass(frozen=True)
class Damping:
    """Weights of the diagonal.

    A scaled twist s gets `lifted / (1 + s^2)`: a foot in the air moves at s in the hundreds and must be free to, while
    of a loaded one a change of one is a lot.
    """

    q: float = 1e-3
    v: float = 3e-2
    lifted: float = 3e-2
    torque: float = 1e-2

    def times(self, factor: float) -> Damping:
        """All of it, times a factor."""
        return Damping(**{name: factor * weight for name, weight in asdict(self).items()})

    def diagonal(self, layout: Layout, z: np.ndarray) -> np.ndarray:
        """The diagonal (n,) at z; control points of splines get that of configurations."""
        knots = np.arange(layout.knots)
        weight = np.full(layout.size, self.q)
        weight[layout.v_at(knots)] = self.v
        weight[layout.torque_at(knots[:-1])] = self.torque
        places = layout.lifted_at(knots[:-1])
        weight[places] = self.lifted / (1 + z[places] ** 2)
        return weight


HESSIANS = ("gauss-newton", "projected", "exact")


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
    spare: bool = False  # left out where the stage before it ended at a solution

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


BLURRED = (10.0, 3.0)
"""Ground on which a gait is first looked for, in temperatures of the one it is meant for: where contact is blurred,
fewer gaits are best among their neighbours, and most starts lead to much the same."""


def blurred_stages(eps: float = 1.0) -> tuple[Stage, ...]:
    """From a rough start to the optimum at `eps` (W): blurred ground first, projected Hessians, then the exact one."""
    blurred = [factor * eps for factor in BLURRED]
    first = Stage(blurred[0], "projected", iterations=120, damping=Damping().times(0.03), barrier=1e-4)
    return first, *map(_near, blurred), *near_stages(eps)


def first_stages(eps: float = 1.0) -> tuple[Stage, ...]:
    """From a drawn walk to a gait at `eps` (W)."""
    first = Stage(BLURRED[0] * eps, "projected", 1e-3, 100, damping=Damping().times(0.03), barrier=1e-4)
    return first, *neighbour_stages(eps)[1:]


def neighbour_stages(eps: float = 1.0) -> tuple[Stage, ...]:
    """From a gait that was changed to another one at `eps` (W), by way of blurred ground: each level of blurring is
    solved before the next one begins."""
    levels = [factor * eps for factor in (*BLURRED, 1.0)]
    return tuple(
        stage
        for level in levels
        for stage in (
            Stage(level, "projected", 1e-3, 40, damping=Damping().times(1e-2), barrier=1e-5),
            Stage(level, "exact", 1e-5 if level == eps else 1e-4, 60, damping=Damping().times(1e-3), barrier=1e-6),
        )
    )


def spare_stages(eps: float = 1.0) -> tuple[Stage, ...]:
    """Once more at `eps` (W), for gaits that are still on their way after `neighbour_stages`: over waves sixty
    iterations are enough on one processor and not on another, whose sums round differently."""
    projected, exact = neighbour_stages(eps)[-2:]
    return replace(projected, spare=True), replace(exact, iterations=120, spare=True)


def spatial_stages(eps: float = 1.0) -> tuple[Stage, ...]:
    """From the stride of a planar twin, which needs forces sideways, to one in space at `eps` (W)."""
    return (
        Stage(eps, "projected", 1e-3, 120, damping=Damping().times(1e-2), barrier=1e-5),
        Stage(eps, "exact", 1e-4, 100, damping=Damping().times(1e-3), barrier=1e-6),
        near_stages(eps)[-1],
    )


def near_stages(eps: float = 1.0) -> tuple[Stage, ...]:
    """The same from a start that is near a gait at `eps` (W)."""
    return _near(eps, 1e-4, 100), Stage(eps, "exact", 1e-6, 50, damping=Damping().times(1e-6), barrier=1e-7)


def _near(eps: float, optimality: float = 2e-4, iterations: int = 80) -> Stage:
    return Stage(eps, "projected", optimality, iterations, damping=Damping().times(1e-3), barrier=1e-6)


BARRIER, SHARPER = 0.03, 1 / 3
"""The bilevel form's coefficient mu for which it smooths about as much as the closed form at a temperature of 1; and
the share of it to which it is solved from a start that is near: zhu2021's mu of 0.01."""


def bilevel_stages(eps: float = 1.0, *, near: bool = False) -> tuple[Stage, ...]:
    """For the bilevel form, smoothed about as much as the closed form at `eps`; near: from a start near a solution, a
    stride of the closed form's, and sharper in the end.

    From a walk it is Gauss-Newton to the end. With the usual damping it comes near a good gait and hovers about
    feasibility; with more it gets feasible.
    """
    mu, usual = BARRIER * eps, Damping()
    if near:
        return _near(mu), *near_stages(SHARPER * mu)
    return (
        Stage(mu, optimality=1e-2, iterations=100),
        Stage(mu, optimality=1e-2, iterations=60, damping=usual.times(30.0)),
        Stage(mu, iterations=150, damping=usual.times(10.0)),
    )
