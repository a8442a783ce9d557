"""The convex step as a differentiable function.

The solver iterates; its derivative does not. At the solution v(p) of a problem with data p the momentum balance
r(p, v) = 0 holds, so dv = -H^-1 (dr/dp) dp with H = dr/dv the Hessian of the step (implicit function theorem).
The rule below is written with differentiable parts and calls the solver again for its own primal value, so it can
itself be differentiated: second derivatives are exact as well.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.guess import Guess
from softground.contact.linear import solve_spd
from softground.contact.newton import Newton, Solution
from softground.contact.problem import StepProblem


@eqx.filter_custom_jvp
def solve(problem: StepProblem, guess: Guess | None, solver: Newton) -> Solution:
    """Minimiser of the problem. Derivatives are with respect to everything in `problem`."""
    return solver(problem, guess)


@solve.def_jvp
def _solve_jvp(primals, tangents):
    problem, guess, solver = primals
    solution = solve(problem, guess, solver)
    parts, static = eqx.partition(problem, eqx.is_inexact_array)
    moved = jax.tree.map(
        lambda part, tangent: None if part is None else jnp.zeros_like(part) if tangent is None else tangent,
        parts,
        tangents[0],
        is_leaf=lambda x: x is None,
    )
    return solution, _change(parts, static, moved, solution.velocity)


@eqx.filter_jit  # traced once, also when the rule is itself differentiated
def _change(parts: StepProblem, static: StepProblem, moved: StepProblem, v: Float[Array, " nv"]) -> Solution:
    """How the solution v of a problem changes when the problem's parts move."""

    def balance(parts):
        combined = eqx.combine(parts, static)
        return combined.gradient(v, *combined.forces(v))

    def forces(parts, v):
        combined = eqx.combine(parts, static)
        return (combined.twists(v), *combined.forces(v))

    problem = eqx.combine(parts, static)
    _, residual = jax.jvp(balance, (parts,), (moved,))
    model = problem.local_model(v, problem.twists(v))
    velocity = -solve_spd(problem.hessian(model), residual)
    _, (twists, wrenches, joint_force) = jax.jvp(forces, (parts, v), (moved, velocity))
    return Solution(velocity, twists, wrenches, joint_force, None, None)  # type: ignore[arg-type]
