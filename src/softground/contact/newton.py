"""Damped Newton for the convex step, warm-started and with an exact line search.

At a low temperature the potentials are nearly piecewise linear: a plain Newton step overshoots the kinks and a
backtracking search creeps towards them. Finding the zero of the slope along the Newton direction instead (it
is monotone, because the problem is convex) lands *on* the kink, where the next Hessian sees it. Iteration
counts are in docs/contact.md.

Warm start: the forces at the feet's previous twists, and their stiffness, make a linear model of this step's
forces; its solution is the first iterate. Twists are kept per foot and in the surface frame, because that is
where the force law lives: a sticking foot keeps its twist while the robot's velocity changes.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from softground.arrays import Array
from softground.contact.linear import solve_spd_fast
from softground.contact.problem import LocalModel, StepProblem, product


class Newton(eqx.Module):
    """Options of the solver."""

    max_iterations: int = eqx.field(static=True, default=200)
    max_line_search: int = eqx.field(static=True, default=50)
    tolerance: float = eqx.field(static=True, default=1e-12)  # J, on the Newton decrement
    sufficient: float = eqx.field(static=True, default=0.1)  # accept a slope below this share of the first

    def __call__(self, problem: StepProblem, warm_twists: Float[Array, "f n"] | None = None) -> Solution:
        """Minimise; without `warm_twists` start from the free motion (a cold start)."""
        first = cold_start(problem) if warm_twists is None else warm_start(problem, warm_twists)
        state = jax.lax.while_loop(self._unfinished, lambda s: self._iterate(problem, s), first)
        return finish(state, 1.0, self.tolerance)

    def _unfinished(self, state: Iterate) -> Bool[Array, ""]:
        return (state.decrement > self.tolerance) & (state.iteration < self.max_iterations)

    def _iterate(self, problem: StepProblem, state: Iterate) -> Iterate:
        """One step along the current direction, then the next direction from where it ends."""
        full = problem.local_model(*state.at(1.0))
        slope = _slope(problem, state, full)
        overshoots = slope > self.sufficient * state.decrement

        def searched():
            length = self._line_search(problem, state)
            return length, problem.local_model(*state.at(length))

        length, model = jax.lax.cond(overshoots, searched, lambda: (jnp.ones_like(slope), full))
        return newton_direction(problem, *state.at(length), model, state.iteration + 1)

    def _line_search(self, problem: StepProblem, state: Iterate) -> Float[Array, ""]:
        """Zero of the slope on (0, 1): Newton, kept inside a shrinking bracket."""

        derivatives = along(problem, state)
        enough = self.sufficient * state.decrement

        def refine(carry):
            search, count = carry
            return search.narrow(*derivatives(search.length), enough), count + 1

        def searching(carry):
            return ~carry[0].found & (carry[1] < self.max_line_search)

        one = jnp.ones_like(state.decrement)
        start = Bracket(0 * one, one, one / 2, jnp.zeros_like(one, dtype=bool))
        return jax.lax.while_loop(searching, refine, (start, 0))[0].length


class Bracket(NamedTuple):
    """An interval of step lengths with the zero of the slope inside, and where to look next."""

    low: Float[Array, ""]
    high: Float[Array, ""]
    length: Float[Array, ""]
    found: Bool[Array, ""]

    def propose(self, guess: Float[Array, ""]) -> Bracket:
        """Look at the guess next, or in the middle if it falls outside; not at all if the zero is found."""
        inside = (guess > self.low) & (guess < self.high)
        length = jnp.where(inside, guess, (self.low + self.high) / 2)
        return self._replace(length=jnp.where(self.found, self.length, length))

    def narrow(self, slope: Float[Array, ""], curvature: Float[Array, ""], enough: Float[Array, ""]) -> Bracket:
        """The interval after seeing the slope at `length`; the next guess is Newton's."""
        low = jnp.where(slope < 0, self.length, self.low)
        high = jnp.where(slope < 0, self.high, self.length)
        found = self.found | (jnp.abs(slope) <= enough)
        return Bracket(low, high, self.length, found).propose(self.length - slope / curvature)


class Solution(NamedTuple):
    """Minimiser of a step problem, with the forces that go with it."""

    velocity: Float[Array, " nv"]
    twists: Float[Array, "f n"]
    wrenches: Float[Array, "f n"]
    joint_force: Float[Array, " nv"]
    iterations: Int[Array, ""]
    converged: Bool[Array, ""]


class Iterate(NamedTuple):
    """A velocity, the forces there, and the Newton direction from it."""

    v: Float[Array, " nv"]
    twists: Float[Array, "f n"]
    model: LocalModel
    direction: Float[Array, " nv"]
    twist_direction: Float[Array, "f n"]
    inertial_slope: Float[Array, ""]  # of the quadratic part of the objective along the direction, J
    inertial_curvature: Float[Array, ""]
    decrement: Float[Array, ""]  # -gradient . direction, J
    iteration: Int[Array, ""]

    def at(self, length) -> tuple[Float[Array, " nv"], Float[Array, "f n"]]:
        """Velocity and twists after a step of this length along the direction."""
        return self.v + length * self.direction, self.twists + length * self.twist_direction


def cold_start(problem: StepProblem) -> Iterate:
    """Newton direction from the motion without ground."""
    v = solve_spd_fast(problem.metric, problem.momentum)
    twists = problem.twists(v)
    return newton_direction(problem, v, twists, problem.local_model(v, twists), jnp.zeros((), jnp.int32))


def warm_start(problem: StepProblem, twists: Float[Array, "f n"]) -> Iterate:
    """From the solution of the step whose forces are linear about the given twists.

    The first direction uses the same Hessian again. Where the guess was good, as it mostly is, this second solve
    with one factorisation is all there is to do; where it was not, the iterate has overshot to where the ground has
    no stiffness, and this Hessian is the better one (measured: docs/contact.md).
    """
    model = problem.local_model(jnp.zeros_like(problem.momentum), twists)
    hessian = problem.hessian(model)
    extrapolated = model.wrench + (model.stiffness * twists[:, None]).sum(-1)
    force = problem.generalised(extrapolated, model.joint_force)
    v = solve_spd_fast(hessian, problem.momentum + problem.dt * force)
    wrench, joint_force = problem.forces(v)
    here = model._replace(wrench=wrench, joint_force=joint_force)
    return _direction(problem, v, problem.twists(v), here, hessian, jnp.zeros((), jnp.int32))


def newton_direction(problem: StepProblem, v, twists, model: LocalModel, iteration) -> Iterate:
    """Newton direction from v, where the forces are those of `model`."""
    return _direction(problem, v, twists, model, problem.hessian(model), iteration)


def _direction(problem: StepProblem, v, twists, model: LocalModel, hessian, iteration) -> Iterate:
    inertial = product(problem.metric, v) - problem.momentum
    gradient = inertial - problem.dt * problem.generalised(model.wrench, model.joint_force)
    direction = -solve_spd_fast(hessian, gradient)
    return Iterate(
        v,
        twists,
        model,
        direction,
        twist_direction=problem.twists(direction),
        inertial_slope=(inertial * direction).sum(),
        inertial_curvature=(direction * product(problem.metric, direction)).sum(),
        decrement=-(gradient * direction).sum(),
        iteration=iteration,
    )


def along(problem: StepProblem, state: Iterate):
    """First and second derivative of the objective along the direction, J, as a function of the step length."""
    lines = jax.vmap(lambda law, *line: law.along(*line))(problem.laws, state.twists, state.twist_direction)

    def derivatives(length):
        slopes, curvatures = jax.vmap(lambda line: line.derivatives(length))(lines)
        slope, curvature = slopes.sum(), curvatures.sum()
        if problem.joints is not None:
            force, rate = problem.joints.response(state.v + length * state.direction)
            slope = slope - (force * state.direction).sum()
            curvature = curvature + (rate * state.direction**2).sum()
        inertial = state.inertial_slope + length * state.inertial_curvature
        return inertial + problem.dt * slope, state.inertial_curvature + problem.dt * curvature

    return derivatives


def _slope(problem: StepProblem, state: Iterate, end: LocalModel) -> Float[Array, ""]:
    """Derivative of the objective at the end of a full step, where the forces are known, J."""
    power = (end.wrench * state.twist_direction).sum() + (end.joint_force * state.direction).sum()
    return state.inertial_slope + state.inertial_curvature - problem.dt * power


def finish(state: Iterate, length, tolerance: float) -> Solution:
    """Take the last step, and the forces of its linear model: a full step balances momentum to rounding."""
    model = state.model
    v, twists = state.at(length)
    change = length * (model.stiffness * state.twist_direction[:, None]).sum(-1)
    return Solution(
        velocity=v,
        twists=twists,
        wrenches=model.wrench - change,
        joint_force=model.joint_force - length * model.joint_stiffness * state.direction,
        iterations=state.iteration,
        converged=(state.decrement <= tolerance) & jnp.isfinite(v).all(),
    )
