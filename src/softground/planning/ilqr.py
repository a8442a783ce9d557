"""Iterative LQR: a short trajectory improved by Riccati sweeps, the baseline that zhu2021 compares with (IV.D.1).

About a trajectory x_k, u_k of x+ = f(x, u) with cost sum_k l(x_k, u_k) + l_N(x_N), one sweep backwards finds the best
change of every control as an affine function of the change of the state,

    du = a k + K dx,      k = -Quu^-1 Qu,   K = -Quu^-1 Qux,
    Q. = l. + f.' V',     Q.. = l.. + f.' V'' f.       (the curvature of f is left out: Gauss-Newton)

and one forwards applies it, with the first step length a of a few that lowers the cost. Where none does, the trajectory
is kept and Quu is made larger for the next sweep (Levenberg and Marquardt).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array

STEP_LENGTHS = 0.5 ** np.arange(6)
STIFFER, SOFTER = 10.0, 0.3
"""Factors on the damping after a sweep that did not help, and one that did."""
FIRST_DAMPING, LEAST_DAMPING = 1e-6, 1e-8


class ShortProblem(NamedTuple):
    """Dynamics and costs. States live in a vector space (joints that are slides and hinges)."""

    step: Callable[[Float[Array, " n"], Float[Array, " m"]], Float[Array, " n"]]
    cost: Callable[[Float[Array, " n"], Float[Array, " m"]], Float[Array, ""]]
    final_cost: Callable[[Float[Array, " n"]], Float[Array, ""]]


class ShortPlan(NamedTuple):
    """A trajectory with its cost, and the damping of Quu with which to go on."""

    states: Float[Array, "N n"]
    controls: Float[Array, "K m"]  # K = N - 1
    cost: Float[Array, ""]
    damping: Float[Array, ""]


def rolled_out(problem: ShortProblem, start: Float[Array, " n"], controls: Float[Array, "K m"]) -> ShortPlan:
    """The trajectory of given controls."""

    def advance(x, u):
        after = problem.step(x, u)
        return after, (after, problem.cost(x, u))

    last, (states, costs) = jax.lax.scan(advance, start, controls)
    states = jnp.concatenate([start[None], states])
    return ShortPlan(states, controls, costs.sum() + problem.final_cost(last), jnp.asarray(FIRST_DAMPING))


def improved(problem: ShortProblem, plan: ShortPlan) -> ShortPlan:
    """One sweep back and forth; the plan itself, more damped, where no step length lowers its cost."""
    change, gain = _backwards(problem, plan)

    def attempt(length) -> ShortPlan:
        def advance(x, now):
            before, u, k, feedback = now
            u = u + length * k + feedback @ (x - before)
            after = problem.step(x, u)
            return after, (after, u, problem.cost(x, u))

        scanned = (plan.states[:-1], plan.controls, change, gain)
        last, (states, controls, costs) = jax.lax.scan(advance, plan.states[0], scanned)
        states = jnp.concatenate([plan.states[:1], states])
        return ShortPlan(states, controls, costs.sum() + problem.final_cost(last), plan.damping)

    def worse(search):
        tried, found = search
        return (tried < len(STEP_LENGTHS)) & ~(found.cost < plan.cost)  # so also where the cost is not finite

    def shorter(search):
        tried, _ = search
        return tried + 1, attempt(jnp.asarray(STEP_LENGTHS)[tried])

    # One after the other: the first is mostly good, and trying all at once would cost six times as much.
    _, found = jax.lax.while_loop(worse, shorter, (0, plan))
    better = found.cost < plan.cost
    damping = jnp.maximum(plan.damping * jnp.where(better, SOFTER, STIFFER), LEAST_DAMPING)
    kept = jax.tree.map(lambda new, old: jnp.where(better, new, old), found, plan)
    return kept._replace(damping=damping)


def _backwards(problem: ShortProblem, plan: ShortPlan) -> tuple[Float[Array, "K m"], Float[Array, "K m n"]]:
    """Changes of the controls and their feedback gains."""
    before, controls = plan.states[:-1], plan.controls
    size = before.shape[1]
    by_state, by_control = jax.vmap(jax.jacfwd(problem.step, argnums=(0, 1)))(before, controls)
    joined = lambda z: problem.cost(z[:size], z[size:])  # noqa: E731
    both = jnp.concatenate([before, controls], axis=1)
    slope, bend = jax.vmap(jax.grad(joined))(both), jax.vmap(jax.hessian(joined))(both)

    def sweep(value, now):
        gradient, hessian = value
        slope, bend, fx, fu = now
        f = jnp.concatenate([fx, fu], axis=1)
        q, qq = slope + f.T @ gradient, bend + f.T @ hessian @ f
        quu = qq[size:, size:] + plan.damping * jnp.eye(len(q) - size)
        solved = -jnp.linalg.solve(quu, jnp.concatenate([q[size:, None], qq[size:, :size]], axis=1))
        k, feedback = solved[:, 0], solved[:, 1:]
        gradient = q[:size] + qq[:size, size:] @ k
        hessian = qq[:size, :size] + qq[:size, size:] @ feedback
        return (gradient, (hessian + hessian.T) / 2), (k, feedback)

    last = plan.states[-1]
    end = jax.grad(problem.final_cost)(last), jax.hessian(problem.final_cost)(last)
    return jax.lax.scan(sweep, end, (slope, bend, by_state, by_control), reverse=True)[1]


class Horizon(NamedTuple):
    """Where a receding horizon stands: the state, the controls planned from it, and the damping to go on with."""

    state: Float[Array, " n"]
    controls: Float[Array, "K m"]
    damping: Float[Array, ""]

    @classmethod
    def at(cls, state: Float[Array, " n"], controls: Float[Array, "K m"]) -> Horizon:
        """At the start, with a first guess of the controls."""
        return cls(state, controls, jnp.asarray(FIRST_DAMPING))


def receding(
    problem: ShortProblem, start: Horizon, steps: int, sweeps: int = 2
) -> tuple[Horizon, Float[Array, "steps n"], Float[Array, "steps m"]]:
    """Plan before every step and apply only the first control: where that leads, the states reached, the controls.

    Each plan starts from the last one, moved on by a step with its last control repeated.
    """

    def advance(now: Horizon, _):
        plan = rolled_out(problem, now.state, now.controls)._replace(damping=now.damping)
        plan = jax.lax.fori_loop(0, sweeps, lambda _, plan: improved(problem, plan), plan)  # compiled once for all
        later = jnp.concatenate([plan.controls[1:], plan.controls[-1:]])
        return Horizon(plan.states[1], later, plan.damping), (plan.states[1], plan.controls[0])

    end, (states, controls) = jax.lax.scan(advance, start, None, length=steps)
    return end, states, controls
