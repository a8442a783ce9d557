"""Newton with a fixed number of iterations, for large batches on an accelerator.

In a batch, a loop that ends when it has converged ends with its slowest member, and asks the host after every
iteration. This solver does the same iterations as `Newton` a fixed number of times, without loops or branches: its
line search tries all step lengths at once. Steps that have not converged by then are flagged.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from softground.contact.newton import (
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

    iterations: int = eqx.field(static=True, default=4)
    halvings: int = eqx.field(static=True, default=8)  # shortest step tried: 2^-halvings
    refinements: int = eqx.field(static=True, default=8)  # steps tried between the best halving and the next
    tolerance: float = eqx.field(static=True, default=1e-9)  # J, on the Newton decrement
    sufficient: float = eqx.field(static=True, default=0.1)

    def __call__(self, problem: StepProblem, warm_twists: Float[Array, "f n"] | None = None) -> Solution:
        state = cold_start(problem) if warm_twists is None else warm_start(problem, warm_twists)
        for _ in range(self.iterations - 1):
            length = self._step_length(problem, state)
            v, twists = state.at(length)
            state = newton_direction(problem, v, twists, problem.local_model(v, twists), state.iteration + 1)
        return finish(problem, state, self._step_length(problem, state), self.tolerance)

    def _step_length(self, problem: StepProblem, state: Iterate) -> Float[Array, ""]:
        """Longest step tried whose slope is still negative, or nearly zero."""
        halvings = jnp.asarray(2.0 ** -np.arange(self.halvings + 1), state.v.dtype)
        slopes_at = jax.vmap(lambda length: along(problem, state)(length)[0])
        coarse = self._longest(slopes_at, state, halvings)
        shares = jnp.asarray(np.arange(self.refinements)[::-1] / self.refinements, state.v.dtype)
        fine = self._longest(slopes_at, state, coarse * (1 + shares))
        return jnp.where(coarse < 1, fine, coarse)

    def _longest(self, slopes_at, state: Iterate, lengths: Float[Array, "t"]) -> Float[Array, ""]:
        """First of the (falling) lengths that does not overshoot; the last if all do."""
        good = slopes_at(lengths) <= self.sufficient * state.decrement
        return lengths[jnp.argmax(good.at[-1].set(True))]
