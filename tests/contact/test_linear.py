"""Small positive definite systems: the GPU kernel, interpreted, and the batched solver against LAPACK."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.contact.linear import solve_spd, solve_spd_batch, solve_spd_fast


def systems(batch: int, size: int, condition: float, dtype=np.float64):
    """Random positive definite matrices of a given condition, and right-hand sides."""
    random = np.random.default_rng(size)
    turn = np.linalg.qr(random.normal(size=(batch, size, size)))[0]
    spectrum = condition ** random.uniform(-1, 0, (batch, size))
    spectrum[:, 0], spectrum[:, -1] = 1.0, 1 / condition
    matrix = np.einsum("bij,bj,bkj->bik", turn, spectrum, turn)
    return matrix.astype(dtype), random.normal(size=(batch, size)).astype(dtype)


@pytest.mark.parametrize("size", [5, 18, 24])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_kernel_solves_every_system_of_a_batch(size, dtype):
    """37 systems: not a multiple of any block. Cholesky is backward stable: the error is below condition
    times size times rounding."""
    matrix, right = systems(37, size, 1e3, dtype)
    exact = np.linalg.solve(matrix.astype(np.float64), right.astype(np.float64)[..., None])[..., 0]
    found = np.asarray(solve_spd_batch(jnp.asarray(matrix), jnp.asarray(right), interpret=True))
    assert found.dtype == dtype
    assert found.shape == (37, size)
    error = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert error.max() < 1e3 * size * np.finfo(dtype).eps


def test_kernel_takes_a_single_system_and_whole_blocks():
    for batch in (1, 128):
        matrix, right = systems(batch, 6, 10.0)
        found = solve_spd_batch(jnp.asarray(matrix), jnp.asarray(right), interpret=True)
        np.testing.assert_allclose(found, np.linalg.solve(matrix, right[..., None])[..., 0], rtol=1e-11)


def test_kernel_reads_the_lower_triangle_only():
    """As `solve_spd` does: Hessians are assembled symmetric up to rounding."""
    matrix, right = systems(3, 7, 10.0)
    lower = jnp.asarray(np.tril(matrix) + np.triu(np.full_like(matrix, 1e6), 1))
    exact = np.linalg.solve(matrix, right[..., None])[..., 0]
    np.testing.assert_allclose(jax.vmap(solve_spd)(lower, right), exact, rtol=1e-11)
    np.testing.assert_allclose(solve_spd_batch(lower, jnp.asarray(right), interpret=True), exact, rtol=1e-11)


@pytest.mark.parametrize("size", [5, 18, 24, 41])  # 41: beyond what the kernel takes
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_batched_solver_agrees_with_the_kernel(size, dtype):
    matrix, right = map(jnp.asarray, systems(9, size, 10.0, dtype))
    together = jax.jit(jax.vmap(solve_spd_fast))(matrix, right)
    alone = np.array([solve_spd_fast(*one) for one in zip(matrix, right, strict=True)])
    kernel = solve_spd_batch(matrix, right, interpret=True)
    tolerance = 10 * size * np.finfo(dtype).eps * np.abs(alone).max()
    np.testing.assert_allclose(together, alone, atol=tolerance)
    np.testing.assert_allclose(kernel, alone, atol=tolerance)
    assert together.dtype == dtype


def test_batched_solver_shares_what_is_not_batched():
    """One matrix for many right-hand sides, and the other way round."""
    matrix, right = map(jnp.asarray, systems(4, 6, 10.0))
    shared = jax.vmap(solve_spd_fast, in_axes=(None, 0))(matrix[0], right)
    np.testing.assert_allclose(shared, np.linalg.solve(matrix[0], right.T).T, rtol=1e-11)
    shared = jax.vmap(solve_spd_fast, in_axes=(0, None))(matrix, right[0])
    np.testing.assert_allclose(shared, [np.linalg.solve(one, right[0]) for one in matrix], rtol=1e-11)


def test_a_system_that_is_not_positive_definite_spoils_only_itself():
    """Failure is a NaN in that member of the batch, which the step then flags."""
    matrix, right = systems(5, 6, 10.0)
    matrix[2] *= -1.0
    found = np.asarray(solve_spd_batch(jnp.asarray(matrix), jnp.asarray(right), interpret=True))
    assert np.isfinite(np.delete(found, 2, axis=0)).all()
    assert not np.isfinite(found[2]).any()
