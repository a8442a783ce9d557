"""From a gait problem to a nonlinear program (NLP) (direct transcription, zhu2021 eqs 7-9).

Everything is made of blocks (`planning.blocks`). The Jacobian of the constraints is exact. For the Hessian of the
Lagrangian there are two models:

"gauss-newton": that of the costs as sums of squares, plus a small diagonal (`Damping`), nothing of the constraints.
    It is positive definite whatever the multipliers, which the exact one is not far from a solution: from a rough
    start this model converges and the exact one does not.
"exact": the costs as above, and the exact curvature of every constraint times its multiplier. Near a solution it
    finds the multipliers that Gauss-Newton only hovers about.

The ground's surface is an argument of everything that is compiled, not a constant in it: terrains of one kind (slopes,
say) share the programmes, and patterns are found on a surface without accidental zeros (`planning.terrain`).

Periodicity couples knots a period apart, which triples the bandwidth of the linear systems and doubles the time to
factorise them. Left out of the Hessian it needs a large diagonal in its place, which makes every step short.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.arrays import require_double
from softground.planning.blocks import (
    Block,
    CurvaturePlan,
    Pattern,
    compiled,
    curvature_entries,
    curvature_plan,
    generic,
    on_surface,
    pattern,
    same_kind,
)
from softground.planning.bounds import bounds
from softground.planning.constraints import Bounded, unit_quaternions
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.guesses import random_unknowns
from softground.planning.layout import Layout, Unknowns
from softground.planning.problem import GaitProblem
from softground.planning.projection import filled, positive_part
from softground.planning.stages import Damping
from softground.planning.trajectory import Trajectory
from softground.planning.uno import Clock, Nlp

#: What of a problem is constant in the compiled programmes, beside robot and medium.
COMPILED_IN = ("knots", "dt", "collocation", "costs", "constraints", "splines")


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
        step = self.dynamics.block(layout)
        zero = np.zeros(_row_count(step))
        self.constraints: list[Bounded] = [Bounded(step, zero, zero), *unit_quaternions(problem.robot, layout)]
        self.costs: list[Block] = [block for cost in problem.costs for block in cost.blocks(problem, layout)]
        for constraint in problem.constraints:
            self.constraints += constraint.blocks(problem, layout)
        for spline, start in zip(problem.splines, first_points, strict=False):
            if spline.weight is None:
                self.constraints += spline.blocks(problem, layout, start)
            else:
                self.costs.append(spline.residuals(problem, layout, start))
        self._samples = [random_unknowns(problem, self.layout, seed) for seed in range(2)]
        self._once_made: dict[str, Any] = {}

    def serves(self, problem: GaitProblem, dynamics: type[Dynamics]) -> bool:
        """Whether a problem differs from this one in terrain, limits and boundaries at most."""
        mine = self.problem
        return (
            type(self.dynamics) is dynamics
            and all(getattr(mine, name) == getattr(problem, name) for name in COMPILED_IN)
            and bool(eqx.tree_equal((mine.robot, mine.ground.medium), (problem.robot, problem.ground.medium)))
            and same_kind(self.surface, problem.ground.surface)
        )

    def moved_to(self, problem: GaitProblem) -> Transcription:
        """The transcription of a problem that this one serves: shares all that is compiled or found out."""
        moved = copy.copy(self)
        moved.problem, moved.surface = problem, problem.ground.surface
        moved.dynamics = on_surface(self.dynamics, moved.surface)
        return moved

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

    # -- the NLP -----------------------------------------------------------------------------------------

    def nlp(self, eps: float, hessian: str = "gauss-newton", damping: Damping | None = None) -> Nlp:
        """The NLP at one smoothing (W)."""
        lower, upper = bounds(self.problem, self.layout)
        rows, columns = self._jacobian_places()
        hessian_rows, hessian_columns, fill = self._hessian_model(hessian, damping or Damping())
        clock = Clock()
        value, slope, values, jacobian = self._once("functions", self._functions)
        surface, timed = self.surface, clock.timed
        return Nlp(
            lower=lower,
            upper=upper,
            row_lower=np.concatenate([np.tile(part.lower, len(part.block.columns)) for part in self.constraints]),
            row_upper=np.concatenate([np.tile(part.upper, len(part.block.columns)) for part in self.constraints]),
            jacobian_rows=rows,
            jacobian_columns=columns,
            hessian_rows=hessian_rows,
            hessian_columns=hessian_columns,
            objective=timed("objective", lambda z: float(value(surface, z, eps))),
            gradient=timed("gradient", lambda z: np.asarray(slope(surface, z, eps))),
            constraints=timed("constraints", lambda z: np.asarray(values(surface, z, eps))),
            jacobian=timed("jacobian", lambda z: np.asarray(jacobian(surface, z, eps))),
            hessian=timed("hessian", lambda z, sigma, multipliers: fill(z, sigma, multipliers, eps)),
            clock=clock,
        )

    def _functions(self) -> tuple[Callable, ...]:
        """Compiled objective, gradient, constraints and Jacobian entries, as functions of (surface, z, eps)."""
        blocks = [part.block for part in self.constraints]

        def value(surface, z, eps):
            return sum(jnp.sum(block.all_rows(z, eps) ** 2) for block in on_surface(self.costs, surface))

        def values(surface, z, eps):
            return jnp.concatenate([block.all_rows(z, eps).reshape(-1) for block in on_surface(blocks, surface)])

        @jax.jit
        def in_pattern(slopes):
            places = zip(slopes, self.constraint_patterns, strict=True)
            return jnp.concatenate([one[:, place.row, place.column].reshape(-1) for one, place in places])

        def jacobian(surface, z, eps):
            return in_pattern(self._constraint_slopes(surface, z, eps))

        return *(jax.jit(function) for function in (value, jax.grad(value, argnums=1), values)), jacobian

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """What is made when first asked for, and shared with programmes of every eps and terrain."""
        if name not in self._once_made:
            self._once_made[name] = make()
        return self._once_made[name]

    @property
    def _constraint_slopes(self) -> Callable:
        """Compiled Jacobians of all blocks of constraints: they find the patterns, and fill them later."""
        return self._once("constraint slopes", lambda: _slopes([part.block for part in self.constraints]))

    @property
    def _cost_slopes(self) -> Callable:
        """Compiled Jacobians of all blocks of costs."""
        return self._once("cost slopes", lambda: _slopes(self.costs))

    @property
    def constraint_patterns(self) -> list[Pattern]:
        return self._once("constraint patterns", lambda: self._patterns(self._constraint_slopes))

    @property
    def cost_patterns(self) -> list[Pattern]:
        return self._once("cost patterns", lambda: self._patterns(self._cost_slopes))

    def _patterns(self, slopes: Callable) -> list[Pattern]:
        typical = generic(self.surface)
        return [pattern(block) for block in zip(*(slopes(typical, z, 1.0) for z in self._samples), strict=True)]

    @property
    def curvatures(self) -> list[tuple[CurvaturePlan, Callable]]:
        """For each block of constraints: how to find its Hessian, and its compiled directional derivative."""
        return self._once("curvatures", self._find_curvatures)

    def _find_curvatures(self) -> list[tuple[CurvaturePlan, Callable]]:
        result, typical = [], generic(self.surface)
        for part, places in zip(self.constraints, self.constraint_patterns, strict=True):
            along = compiled(part.block)
            plan = curvature_plan(part.block, partial(along, typical), places.n_rows, self._samples[0], 1.0)
            result.append((plan, along))
        return result

    def _jacobian_places(self) -> tuple[np.ndarray, np.ndarray]:
        rows, columns, start = [], [], 0
        for part, places in zip(self.constraints, self.constraint_patterns, strict=True):
            count = len(part.block.columns)
            rows.append((start + places.n_rows * np.arange(count)[:, None] + places.row).reshape(-1))
            columns.append(part.block.columns[:, places.column].reshape(-1))
            start += count * places.n_rows
        return np.concatenate(rows), np.concatenate(columns)

    # -- Hessians ----------------------------------------------------------------------------------------

    def _hessian_model(self, model: str, damping: Damping):
        """Places (rows, columns) of the Hessian's lower triangle, and the function that fills them."""
        first = [
            self._places(block, _products(places)) for block, places in zip(self.costs, self.cost_patterns, strict=True)
        ]
        diagonal = np.arange(self.layout.size)
        rows, columns = [diagonal, *(one[0] for one in first)], [diagonal, *(one[1] for one in first)]
        bent = model != "gauss-newton"
        if bent:
            second = [
                self._places(part.block, (plan.row, plan.column) if model == "exact" else filled(plan))
                for part, (plan, _) in zip(self.constraints, self.curvatures, strict=True)
            ]
            rows += [one[0] for one in second]
            columns += [one[1] for one in second]
        keys = np.concatenate(rows).astype(np.int64) * self.layout.size + np.concatenate(columns)
        unique, place = np.unique(keys, return_inverse=True)
        costs = self._once("cost hessian", self._cost_hessian)

        def fill(z, sigma, multipliers, eps):
            entries = [damping.diagonal(self.layout, z), sigma * np.asarray(costs(self.surface, z, eps))]
            if bent:
                found = self._constraint_curvatures(z, multipliers, eps)
                if model == "projected":
                    metric = Damping().diagonal(self.layout, z)
                    found = [
                        positive_part(plan, one, metric[part.block.columns])
                        for one, part, (plan, _) in zip(found, self.constraints, self.curvatures, strict=True)
                    ]
                entries += [one.reshape(-1) for one in found]
            return np.bincount(place, np.concatenate(entries), len(unique))

        return unique // self.layout.size, unique % self.layout.size, fill

    @staticmethod
    def _places(block: Block, local: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Places in the whole of a block's entries (local rows, local columns), lower triangle."""
        one, other = block.columns[:, local[0]].reshape(-1), block.columns[:, local[1]].reshape(-1)
        return np.maximum(one, other), np.minimum(one, other)

    def _cost_hessian(self) -> Callable:
        @jax.jit
        def squared(slopes):
            parts = [jnp.zeros(0)]
            for one, places in zip(slopes, self.cost_patterns, strict=True):
                row, column = _products(places)
                parts.append((2 * jnp.einsum("kri,krj->kij", one, one))[:, row, column].reshape(-1))
            return jnp.concatenate(parts)

        def entries(surface, z, eps):
            return squared(self._cost_slopes(surface, z, eps))

        if all(block.linear for block in self.costs):
            constant = np.asarray(entries(self.surface, jnp.zeros(self.layout.size), 1.0))
            return lambda surface, z, eps: constant
        return entries

    def _constraint_curvatures(self, z, multipliers, eps) -> list[np.ndarray]:
        """Entries (places, e) of the curvature of every block of constraints, times its multipliers."""
        counts = [(len(p.block.columns), len(p.lower)) for p in self.constraints]
        shares = np.split(multipliers, np.cumsum([places * rows for places, rows in counts])[:-1])
        return [
            curvature_entries(plan, partial(along, self.surface), z, eps, share.reshape(count))
            for (plan, along), share, count in zip(self.curvatures, shares, counts, strict=True)
        ]


def _slopes(blocks: list[Block]) -> Callable:
    """Jacobians of blocks on a surface, compiled together, as a function of (surface, z, eps)."""
    return jax.jit(lambda surface, z, eps: [block.all_jacobians(z, eps) for block in on_surface(blocks, surface)])


def _row_count(block: Block) -> int:
    width = jax.ShapeDtypeStruct((block.columns.shape[1],), np.dtype(float))
    first = None if block.data is None else jax.tree.map(lambda leaf: leaf[0], block.data)
    return jax.eval_shape(lambda local: block.rows(local, first, 1.0), width).shape[0]


def _products(places: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Lower triangle of J'J of a block with this pattern."""
    used = np.zeros((places.n_rows, places.column.max() + 1), dtype=bool)
    used[places.row, places.column] = True
    row, column = np.nonzero(np.tril(used.T.astype(int) @ used > 0))
    return row, column
