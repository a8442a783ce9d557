"""Newton with a fixed number of iterations, for large batches on an accelerator.

In a batch, a loop that ends when it has converged ends with its slowest member, and asks the host after every
iteration. This solver does the same iterations as `Newton` a fixed number of times, without loops or branches: its
line search has a fixed length too. Steps that have not converged by then are flagged.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.newton import (
    Bracket,
    Iterate,
    Solution,
    along,
    cold_start,
    finish,
    newton_direction,
    warm_start,
)
from softground.contact.problem import StepProblem


class BatchNewton(eqx.Module):
    """Options of the solver."""

    iterations: int = eqx.field(static=True, default=3)
    line_search: int = eqx.field(static=True, default=3)  # evaluations of the slope after the full step's
    tolerance: float = eqx.field(static=True, default=1e-7)  # J, on the Newton decrement
    sufficient: float = eqx.field(static=True, default=0.1)  # accept a slope below this share of the first

    def __call__(self, problem: StepProblem, warm_twists: Float[Array, "f n"] | None = None) -> Solution:
        state = cold_start(problem) if warm_twists is None else warm_start(problem, warm_twists)
        for _ in range(self.iterations - 1):
            v, twists = state.at(self._step_length(problem, state))
            state = newton_direction(problem, v, twists, problem.local_model(v, twists), state.iteration + 1)
        return finish(state, self._step_length(problem, state), self.tolerance)

    def _step_length(self, problem: StepProblem, state: Iterate) -> Float[Array, ""]:
        """The full step, or nearly the zero of the slope before it."""
        derivatives = along(problem, state)
        one = jnp.ones_like(state.decrement)
        slope, _ = derivatives(one)
        search = Bracket(0 * one, one, one, slope <= self.sufficient * state.decrement)
        search = search.propose(state.decrement / (state.decrement + jnp.maximum(slope, 0)))
        for _ in range(self.line_search):
            search = search.narrow(*derivatives(search.length), self.sufficient * state.decrement)
        return search.length
