"""Large constant matrices: a loop, on either side of the product; small and sparse ones written out."""

import jax.numpy as jnp
import numpy as np
import pytest

from softground.native.program import ForEach

from .programs import check, statements

TABLE = np.random.default_rng(3).normal(size=(300, 10))
X = jnp.linspace(-1.0, 1.0, 10)


def rolled(program) -> bool:
    return any(isinstance(x, ForEach) for x in statements(program))


@pytest.mark.parametrize("function", [lambda x: TABLE @ x, lambda x: x @ TABLE.T], ids=["left", "right"])
def test_a_large_matrix_is_a_loop(function):
    program = check(function, X)
    assert rolled(program)
    assert len(statements(program)) < 400


def test_what_the_vector_lacks_is_not_multiplied():
    program = check(lambda x: TABLE @ jnp.concatenate([x[:2], jnp.zeros(8)]), X)
    assert len(statements(program)) < 320


def test_small_and_sparse_matrices_are_written_out():
    assert not rolled(check(lambda x: TABLE[:9] @ x, X))
    assert not rolled(check(lambda x: np.where(TABLE > 0.5, TABLE, 0) @ x, X))
