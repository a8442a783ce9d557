"""Small positive definite systems: the GPU kernel, interpreted, and the batched solver against NumPy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.contact.linear import LARGEST_IN_CACHE, solve_spd, solve_spd_batch, solve_spd_fast


def systems(batch: int, size: int, condition: float, dtype=np.float64):
    """Random positive definite matrices of a given condition, and right-hand sides."""
    random = np.random.default_rng(size)
    turn = np.linalg.qr(random.normal(size=(batch, size, size)))[0]
    spectrum = condition ** random.uniform(-1, 0, (batch, size))
    spectrum[:, 0], spectrum[:, -1] = 1.0, 1 / condition
    matrix = np.einsum("bij,bj,bkj->bik", turn, spectrum, turn)
    return matrix.astype(dtype), random.normal(size=(batch, size)).astype(dtype)


KERNEL = jax.jit(partial(solve_spd_batch, interpret=True))


@pytest.mark.parametrize(("size", "dtype"), [(5, np.float64), (18, np.float64), (24, np.float64), (18, np.float32)])
def test_kernel_and_batched_solver_solve_every_system(size, dtype):
    """37 systems: not a multiple of any block. Cholesky is backward stable: the error is below condition
    times size times rounding."""
    matrix, right = systems(37, size, 1e3, dtype)
    exact = np.linalg.solve(matrix.astype(np.float64), right.astype(np.float64)[..., None])[..., 0]
    for solver in (KERNEL, jax.jit(jax.vmap(solve_spd_fast)), jax.jit(jax.vmap(solve_spd))):
        found = np.asarray(solver(matrix, right))
        assert found.dtype == dtype
        assert found.shape == (37, size)
        error = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
        assert error.max() < 1e3 * size * np.finfo(dtype).eps


@pytest.mark.parametrize("batch", [1, 128])
def test_kernel_takes_a_single_system_and_whole_blocks(batch):
    matrix, right = systems(batch, 6, 10.0)
    np.testing.assert_allclose(KERNEL(matrix, right), np.linalg.solve(matrix, right[..., None])[..., 0], rtol=1e-11)


def test_lower_triangle_alone_is_read():
    matrix, right = systems(37, 5, 10.0)
    lower = np.tril(matrix) + np.triu(np.full_like(matrix, 1e6), 1)
    exact = np.linalg.solve(matrix, right[..., None])[..., 0]
    for solver in (KERNEL, jax.vmap(solve_spd)):
        np.testing.assert_allclose(solver(lower, right), exact, rtol=1e-11)


def test_systems_too_large_for_the_kernel_go_to_the_library():
    matrix, right = systems(3, LARGEST_IN_CACHE + 1, 10.0, np.float32)
    found = jax.vmap(solve_spd_fast)(matrix, right)
    np.testing.assert_array_equal(found, jax.vmap(solve_spd)(matrix, right))


def test_batched_solver_shares_what_is_not_batched():
    """One matrix for many right-hand sides, and the other way round."""
    matrix, right = map(jnp.asarray, systems(4, 6, 10.0))
    shared = jax.vmap(solve_spd_fast, in_axes=(None, 0))(matrix[0], right)
    np.testing.assert_allclose(shared, np.linalg.solve(matrix[0], right.T).T, rtol=1e-11)
    shared = jax.vmap(solve_spd_fast, in_axes=(0, None))(matrix, right[0])
    np.testing.assert_allclose(shared, [np.linalg.solve(one, right[0]) for one in matrix], rtol=1e-11)


def test_a_system_that_is_not_positive_definite_spoils_only_itself():
    """Failure is a NaN in that member of the batch, which the step then flags."""
    matrix, right = systems(37, 5, 10.0)
    matrix[2] *= -1.0
    found = np.asarray(KERNEL(matrix, right))
    assert np.isfinite(np.delete(found, 2, axis=0)).all()
    assert not np.isfinite(found[2]).any()
