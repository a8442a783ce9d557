"""Damped Newton for the convex step, warm-started and with an exact line search.

At a low temperature the potentials are nearly piecewise linear: a plain Newton step overshoots the kinks and a
backtracking search creeps towards them. Finding the zero of the slope along the Newton direction instead (it
is monotone, because the problem is convex) lands *on* the kink, where the next Hessian sees it. On random
instances of the granular step this takes three iterations from a cold start (docs/contact.md).

Warm start: the forces at the feet's previous twists, and their stiffness, make a linear model of this step's
forces; its solution is the first iterate. Twists are kept per foot and in the surface frame, because that is
where the force law lives: a sticking foot keeps its twist while the robot's velocity changes.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

from softground.contact.problem import LocalModel, StepProblem


class Newton(eqx.Module):
    """Options of the solver."""

    max_iterations: int = eqx.field(static=True, default=60)
    max_line_search: int = eqx.field(static=True, default=30)
    tolerance: float = eqx.field(static=True, default=1e-12)  # J, on the Newton decrement
    sufficient: float = eqx.field(static=True, default=0.1)  # accept a slope below this share of the first

    def __call__(self, problem: StepProblem, warm_twists: Float[Array, "f n"] | None = None) -> Solution:
        """Minimise; without `warm_twists` start from the free motion (a cold start)."""
        start = cold_start(problem) if warm_twists is None else warm_start(problem, warm_twists)
        state = jax.lax.while_loop(self._unfinished, lambda s: self._iterate(problem, s), _first(problem, start))
        return _solution(problem, state, self.tolerance)

    def _unfinished(self, state: _Iterate) -> Bool[Array, ""]:
        return (state.decrement > self.tolerance) & (state.iteration < self.max_iterations)

    def _iterate(self, problem: StepProblem, state: _Iterate) -> _Iterate:
        """One step along the current direction, then the next direction from where it ends."""
        full = problem.local_model(state.v + state.direction, state.twists + state.twist_direction)
        slope = _slope(problem, state, full, 1.0)
        overshoots = slope > self.sufficient * state.decrement

        def searched():
            length = self._line_search(problem, state)
            return length, _model_at(problem, state, length)

        length, model = jax.lax.cond(overshoots, searched, lambda: (jnp.ones_like(slope), full))
        v = state.v + length * state.direction
        twists = state.twists + length * state.twist_direction
        return _direct(problem, v, twists, model, state.iteration + 1)

    def _line_search(self, problem: StepProblem, state: _Iterate) -> Float[Array, ""]:
        """Zero of the slope on (0, 1): Newton, kept inside a shrinking bracket."""

        def refine(carry):
            low, high, length, _, count = carry
            model = _model_at(problem, state, length)
            slope = _slope(problem, state, model, length)
            low, high = jnp.where(slope < 0, length, low), jnp.where(slope < 0, high, length)
            guess = length - slope / _curvature(problem, state, model)
            inside = (guess > low) & (guess < high)
            found = jnp.abs(slope) <= self.sufficient * state.decrement
            proposed = jnp.where(inside, guess, (low + high) / 2)
            return low, high, jnp.where(found, length, proposed), found, count + 1

        def searching(carry):
            return ~carry[3] & (carry[4] < self.max_line_search)

        one = jnp.ones_like(state.decrement)
        start = (0 * one, one, one / 2, jnp.zeros_like(one, dtype=bool), 0)
        return jax.lax.while_loop(searching, refine, start)[2]


class Solution(NamedTuple):
    """Minimiser of a step problem, with the forces that go with it."""

    velocity: Float[Array, "nv"]
    twists: Float[Array, "f n"]
    wrenches: Float[Array, "f n"]
    joint_force: Float[Array, "nv"]
    iterations: Int[Array, ""]
    converged: Bool[Array, ""]


class _Iterate(NamedTuple):
    v: Float[Array, "nv"]
    twists: Float[Array, "f n"]
    model: LocalModel
    direction: Float[Array, "nv"]
    twist_direction: Float[Array, "f n"]
    inertial_slope: Float[Array, ""]  # of the quadratic part of the objective along the direction, J
    inertial_curvature: Float[Array, ""]
    decrement: Float[Array, ""]  # -gradient . direction, J
    iteration: Int[Array, ""]


def cold_start(problem: StepProblem) -> Float[Array, "nv"]:
    """The motion without ground."""
    return solve_spd(problem.metric, problem.momentum)


def warm_start(problem: StepProblem, twists: Float[Array, "f n"]) -> Float[Array, "nv"]:
    """Solution of the step whose forces are linear about the given twists."""
    v = jnp.zeros_like(problem.momentum)
    model = problem.local_model(v, twists)
    extrapolated = model.wrench + (model.stiffness @ twists[..., None])[..., 0]
    force = problem.generalised(extrapolated, model.joint_force)
    return solve_spd(problem.hessian(model), problem.momentum + problem.dt * force)


def solve_spd(matrix: Float[Array, "n n"], right: Float[Array, "n"]) -> Float[Array, "n"]:
    """Solution of a symmetric positive definite system."""
    return cho_solve((jnp.linalg.cholesky(matrix, symmetrize_input=False), True), right)


def _first(problem: StepProblem, v: Float[Array, "nv"]) -> _Iterate:
    twists = problem.twists(v)
    return _direct(problem, v, twists, problem.local_model(v, twists), jnp.zeros((), jnp.int32))


def _direct(problem: StepProblem, v, twists, model: LocalModel, iteration) -> _Iterate:
    """Newton direction from v."""
    inertial = problem.metric @ v - problem.momentum
    gradient = inertial - problem.dt * problem.generalised(model.wrench, model.joint_force)
    direction = -solve_spd(problem.hessian(model), gradient)
    return _Iterate(
        v,
        twists,
        model,
        direction,
        twist_direction=problem.twists(direction),
        inertial_slope=inertial @ direction,
        inertial_curvature=direction @ (problem.metric @ direction),
        decrement=-(gradient @ direction),
        iteration=iteration,
    )


def _model_at(problem: StepProblem, state: _Iterate, length) -> LocalModel:
    v = state.v + length * state.direction
    return problem.local_model(v, state.twists + length * state.twist_direction)


def _slope(problem: StepProblem, state: _Iterate, model: LocalModel, length) -> Float[Array, ""]:
    """Derivative of the objective along the direction, J."""
    power = (model.wrench * state.twist_direction).sum() + (model.joint_force * state.direction).sum()
    return state.inertial_slope + length * state.inertial_curvature - problem.dt * power


def _curvature(problem: StepProblem, state: _Iterate, model: LocalModel) -> Float[Array, ""]:
    """Second derivative of the objective along the direction, J."""
    twist = state.twist_direction
    ground = (twist[..., :, None] * model.stiffness * twist[..., None, :]).sum()
    joints = (model.joint_stiffness * state.direction**2).sum()
    return state.inertial_curvature + problem.dt * (ground + joints)


def _solution(problem: StepProblem, state: _Iterate, tolerance: float) -> Solution:
    """Take the last full step, and the forces of its linear model: they balance momentum to rounding."""
    model = state.model
    change = (model.stiffness @ state.twist_direction[..., None])[..., 0]
    v = state.v + state.direction
    return Solution(
        velocity=v,
        twists=state.twists + state.twist_direction,
        wrenches=model.wrench - change,
        joint_force=model.joint_force - model.joint_stiffness * state.direction,
        iterations=state.iteration,
        converged=(state.decrement <= tolerance) & jnp.isfinite(v).all(),
    )
