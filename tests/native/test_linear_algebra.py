"""Systems of trees: solved from the leaves, without filling in what is zero."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve

from .programs import check, operations


def solve(matrix, right):
    return cho_solve((jnp.linalg.cholesky(matrix, symmetrize_input=False), True), right)


def test_a_tree_stays_sparse():
    """A root with seven leaves: elimination from the root would fill the matrix."""
    size = 8
    pattern = np.eye(size)
    pattern[0] = pattern[:, 0] = 1
    rng = np.random.default_rng(1)
    matrix = pattern * (rng.normal(size=(size, size)) * 0.1) + size * np.eye(size)
    program = check(lambda m, b: solve(m * pattern, b), jnp.tril(matrix) + jnp.tril(matrix, -1).T, jnp.ones(size))
    counts = operations(program)
    assert counts.count("div") == size
    assert len(counts) < 10 * size


def test_a_factor_that_is_asked_for_stays_what_it_is():
    rng = np.random.default_rng(2)
    half = rng.normal(size=(4, 4))
    matrix = half @ half.T + np.eye(4)

    def function(matrix, right):
        factor = jnp.linalg.cholesky(matrix)
        return factor, cho_solve((factor, True), right), cho_solve((factor, True), right[:, 0] * 2)

    check(function, matrix, rng.normal(size=(4, 2)))
