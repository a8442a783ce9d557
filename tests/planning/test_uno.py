"""The optimiser, on a parabola above a line."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from softground.planning.uno import Nlp, optimise


def matrix_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def parabola(objective) -> Nlp:
    """min (x - 1)^2 + y^2 with x + y = 3, which is 2 at (2, 1)."""
    return Nlp(
        lower=np.full(2, -10.0),
        upper=np.full(2, 10.0),
        row_lower=np.array([3.0]),
        row_upper=np.array([3.0]),
        jacobian_rows=np.array([0, 0]),
        jacobian_columns=np.array([0, 1]),
        hessian_rows=np.array([0, 1]),
        hessian_columns=np.array([0, 1]),
        objective=objective,
        gradient=lambda z: np.array([2 * (z[0] - 1), 2 * z[1]]),
        constraints=lambda z: np.array([z[0] + z[1]]),
        jacobian=lambda z: np.ones(2),
        hessian=lambda z, scale, multipliers: np.full(2, 2 * scale),
    )


def test_matrix_libraries_keep_to_one_thread_while_it_solves():
    """Threads for small blocks wait for each other: on busy cores a search took nine times as long."""
    seen = set()

    def objective(z):
        seen.update(matrix_threads())
        return float((z[0] - 1) ** 2 + z[1] ** 2)

    with threadpool_limits(2, "blas"):
        found = optimise(parabola(objective), np.zeros(2), feasibility=1e-8, optimality=1e-8)
        assert matrix_threads() == {2}
    assert seen == {1}
    assert found.converged
    np.testing.assert_allclose(found.z, [2.0, 1.0], atol=1e-6)
    assert found.history[-1][0] == pytest.approx(2.0, abs=1e-6)
