"""From a gait problem to a nonlinear program (NLP) (direct transcription, zhu2021 eqs 7-9).

Everything is made of blocks (`planning.blocks`). The Jacobian of the constraints is exact. For the Hessian of the
Lagrangian there are two models:

"gauss-newton": that of the costs as sums of squares, plus a small diagonal (`Damping`), nothing of the constraints.
    It is positive definite whatever the multipliers, which the exact one is not far from a solution: from a rough
    start this model converges and the exact one does not.
"exact": the costs as above, and the exact curvature of every constraint times its multiplier. Near a solution it
    finds the multipliers that Gauss-Newton only hovers about.

What is compiled (`planning.programs`) takes the numbers in which commands differ as arguments: the slope, the ground's
strength, speeds and weights. So problems of one shape share the programs, also across processes.

Periodicity couples knots a period apart, which triples the bandwidth of the linear systems and doubles the time to
factorise them. Left out of the Hessian it needs a large diagonal in its place, which makes every step short.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

import numpy as np

from softground.arrays import require_double
from softground.planning.blocks import Block, curvature_entries, numbers_of
from softground.planning.bounds import bounds
from softground.planning.constraints import Bounded, unit_quaternions
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.guesses import random_unknowns
from softground.planning.layout import Layout, Unknowns
from softground.planning.problem import GaitProblem
from softground.planning.programs import Programs, Samples, identity, leaves_of, products
from softground.planning.projection import filled, positive_part
from softground.planning.stages import Damping
from softground.planning.trajectory import Trajectory
from softground.planning.uno import Clock, Nlp, greatest_violation

KEPT_PROGRAMS = 6
"""Shapes of problems of which a process remembers the programs."""


class Transcription:
    """A gait problem as blocks, with compiled derivatives. `nlp` makes the NLP for one smoothing eps."""

    def __init__(self, problem: GaitProblem, dynamics: type[Dynamics] = ClosedForm):
        require_double("differentiating a problem twice")
        self.problem = problem
        self.dynamics = dynamics(problem.robot, problem.ground, problem.dt, problem.collocation)
        self.surface = problem.ground.surface
        points = [spline.count(problem) for spline in problem.splines]
        self.layout = layout = Layout.of(problem.robot, problem.knots, self.dynamics.lifted, sum(points))
        first_points = layout.size - sum(points) + np.cumsum([0, *points])
        zero = np.zeros(layout.nq + layout.nv + layout.lifted)
        step = Bounded(self.dynamics.block(layout), zero, zero)
        self.constraints: list[Bounded] = [step, *unit_quaternions(problem.robot, layout)]
        self.costs: list[Block] = [block for cost in problem.costs for block in cost.blocks(problem, layout)]
        for constraint in problem.constraints:
            self.constraints += constraint.blocks(problem, layout)
        for spline, start in zip(problem.splines, first_points, strict=False):
            if spline.weight is None:
                self.constraints += spline.blocks(problem, layout, start)
            else:
                self.costs.append(spline.residuals(problem, layout, start))
        blocks = self.costs, [part.block for part in self.constraints]
        self.programs = _programs(blocks, self.samples)
        self._numbers = leaves_of(numbers_of(blocks)[0])

    def samples(self) -> list[np.ndarray]:
        """Unknowns that are typical but random."""
        return [random_unknowns(self.problem, self.layout, seed) for seed in range(2)]

    # -- trajectories ------------------------------------------------------------------------------------

    def unknowns(self, guess: Trajectory, eps: float) -> np.ndarray:
        """The vector of unknowns of a trajectory: lifted unknowns and splines are those that go with it."""
        guess = guess.resampled(self.problem.knots)
        lifted = self.dynamics.lift(guess.q, guess.v, eps)
        points = [spline.fitted(self.problem, guess.q) for spline in self.problem.splines]
        return self.layout.put_together(
            Unknowns(guess.q, guess.v, lifted, guess.torque, np.concatenate([*points, np.zeros(0)]))
        )

    def trajectory(self, z: np.ndarray) -> Trajectory:
        """The trajectory in a vector of unknowns."""
        parts = self.layout.take_apart(z)
        return Trajectory(parts.q, parts.v, parts.torque, self.problem.dt)

    def violation(self, z: np.ndarray, eps: float) -> float:
        """Greatest violation of a row or bound at z: less to compile than `nlp`."""
        rows = np.asarray(self.programs.rows(self._numbers, z, eps))
        return greatest_violation(rows, *self._row_bounds(), z, *bounds(self.problem, self.layout))

    def _row_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        counts = [len(part.block.columns) for part in self.constraints]
        lower, upper = (
            np.concatenate([np.tile(getattr(part, side), n) for part, n in zip(self.constraints, counts, strict=True)])
            for side in ("lower", "upper")
        )
        return lower, upper

    # -- the NLP -----------------------------------------------------------------------------------------

    def nlp(self, eps: float, hessian: str = "gauss-newton", damping: Damping | None = None) -> Nlp:
        """The NLP at one smoothing (W)."""
        lower, upper = bounds(self.problem, self.layout)
        rows, columns = self._jacobian_places()
        row_lower, row_upper = self._row_bounds()
        hessian_rows, hessian_columns, fill = self._hessian_model(hessian, damping or Damping())
        clock, programs, numbers = Clock(), self.programs, self._numbers
        timed = clock.timed
        return Nlp(
            lower=lower,
            upper=upper,
            row_lower=row_lower,
            row_upper=row_upper,
            jacobian_rows=rows,
            jacobian_columns=columns,
            hessian_rows=hessian_rows,
            hessian_columns=hessian_columns,
            objective=timed("objective", lambda z: float(programs.value(numbers, z, eps))),
            gradient=timed("gradient", lambda z: np.asarray(programs.gradient(numbers, z, eps))),
            constraints=timed("constraints", lambda z: np.asarray(programs.rows(numbers, z, eps))),
            jacobian=timed("jacobian", lambda z: np.asarray(programs.jacobian(numbers, z, eps))),
            hessian=timed("hessian", lambda z, sigma, multipliers: fill(z, sigma, multipliers, eps)),
            clock=clock,
        )

    def _jacobian_places(self) -> tuple[np.ndarray, np.ndarray]:
        rows, columns, start = [], [], 0
        for part, places in zip(self.constraints, self.programs.constraint_patterns, strict=True):
            count = len(part.block.columns)
            rows.append((start + places.n_rows * np.arange(count)[:, None] + places.row).reshape(-1))
            columns.append(part.block.columns[:, places.column].reshape(-1))
            start += count * places.n_rows
        return np.concatenate(rows), np.concatenate(columns)

    # -- Hessians ----------------------------------------------------------------------------------------

    def _hessian_model(self, model: str, damping: Damping):
        """Places (rows, columns) of the Hessian's lower triangle, and the function that fills them."""
        cost_patterns = zip(self.costs, self.programs.cost_patterns, strict=True)
        first = [self._places(block, products(places)) for block, places in cost_patterns]
        diagonal = np.arange(self.layout.size)
        rows, columns = [diagonal, *(one[0] for one in first)], [diagonal, *(one[1] for one in first)]
        bent = model != "gauss-newton"
        plans = self.programs.curvature_plans if bent else []
        if bent:
            second = [
                self._places(part.block, (plan.row, plan.column) if model == "exact" else filled(plan))
                for part, plan in zip(self.constraints, plans, strict=True)
            ]
            rows += [one[0] for one in second]
            columns += [one[1] for one in second]
        keys = np.concatenate(rows).astype(np.int64) * self.layout.size + np.concatenate(columns)
        unique, place = np.unique(keys, return_inverse=True)

        def fill(z, sigma, multipliers, eps):
            entries = [damping.diagonal(self.layout, z), sigma * self._cost_hessian(z, eps)]
            if bent:
                found = self._constraint_curvatures(z, multipliers, eps)
                if model == "projected":
                    metric = Damping().diagonal(self.layout, z)
                    found = [
                        positive_part(plan, one, metric[part.block.columns])
                        for one, part, plan in zip(found, self.constraints, plans, strict=True)
                    ]
                entries += [one.reshape(-1) for one in found]
            return np.bincount(place, np.concatenate(entries), len(unique))

        return unique // self.layout.size, unique % self.layout.size, fill

    @staticmethod
    def _places(block: Block, local: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Places in the whole of a block's entries (local rows, local columns), lower triangle."""
        one, other = block.columns[:, local[0]].reshape(-1), block.columns[:, local[1]].reshape(-1)
        return np.maximum(one, other), np.minimum(one, other)

    def _cost_hessian(self, z, eps) -> np.ndarray:
        if self.programs.all_linear:
            return self._constant_hessian
        return np.asarray(self.programs.cost_hessian(self._numbers, z, eps))

    @cached_property
    def _constant_hessian(self) -> np.ndarray:
        return np.asarray(self.programs.cost_hessian(self._numbers, np.zeros(self.layout.size), 1.0))

    def _constraint_curvatures(self, z, multipliers, eps) -> list[np.ndarray]:
        """Entries (places, e) of the curvature of every block of constraints, times its multipliers."""
        counts = [(len(p.block.columns), len(p.lower)) for p in self.constraints]
        shares = np.split(multipliers, np.cumsum([places * rows for places, rows in counts])[:-1])
        found = []
        for number, (plan, share, count) in enumerate(zip(self.programs.curvature_plans, shares, counts, strict=True)):
            if not len(plan.directions):
                found.append(np.zeros((count[0], 0)))
                continue
            along = self.programs.curvatures(number)
            products = along(self._numbers, z, eps, share.reshape(count), plan.directions)
            found.append(curvature_entries(plan, np.asarray(products)))
        return found


_recent: OrderedDict[str, Programs] = OrderedDict()


def _programs(blocks: tuple[list[Block], list[Block]], samples: Samples) -> Programs:
    """The programs for these blocks: those of the last few shapes are remembered."""
    name = identity(blocks)
    if name is None:
        return Programs(blocks, name, samples)
    if name not in _recent:
        _recent[name] = Programs(blocks, name, samples)
        if len(_recent) > KEPT_PROGRAMS:
            _recent.popitem(last=False)
    _recent.move_to_end(name)
    return _recent[name]
