"""Linear algebra of the step."""

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float


def solve_spd(matrix: Float[Array, "n n"], right: Float[Array, "n"]) -> Float[Array, "n"]:
    """Solution of a symmetric positive definite system."""
    return cho_solve((jnp.linalg.cholesky(matrix, symmetrize_input=False), True), right)
