"""Linear algebra of the step.

One robot at a time, LAPACK is fastest. A batch on a GPU is another matter: the library's batched factorisation of
many small matrices leaves the chip idle, so there each GPU thread solves one system by itself (a Pallas kernel,
batch along the last axis so that neighbouring threads read neighbouring numbers).
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.experimental import pallas as pl
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

#: Systems per GPU block, one per thread.
BLOCK = 128
#: Beyond this size a block's matrices no longer fit the cache, and the library is faster.
LARGEST_IN_CACHE = 40


def solve_spd(matrix: Float[Array, "n n"], right: Float[Array, "n"]) -> Float[Array, "n"]:
    """Solution of a symmetric positive definite system, of which only the lower triangle is read."""
    return cho_solve((jnp.linalg.cholesky(matrix, symmetrize_input=False), True), right)


@custom_vmap
def solve_spd_fast(matrix: Float[Array, "n n"], right: Float[Array, "n"]) -> Float[Array, "n"]:
    """`solve_spd` for the inner loop: fast in GPU batches, not to be differentiated."""
    return solve_spd(matrix, right)


@solve_spd_fast.def_vmap
def _solve_batch(axis_size, batched, matrix, right):
    matrix = matrix if batched[0] else jnp.broadcast_to(matrix, (axis_size, *matrix.shape))
    right = right if batched[1] else jnp.broadcast_to(right, (axis_size, *right.shape))
    library = jax.vmap(solve_spd)
    if right.shape[-1] > LARGEST_IN_CACHE or right.dtype == jnp.float64:
        return library(matrix, right), True
    return jax.lax.platform_dependent(matrix, right, cuda=solve_spd_batch, default=library), True


def solve_spd_batch(
    matrix: Float[Array, "b n n"], right: Float[Array, "b n"], interpret: bool = False
) -> Float[Array, "b n"]:
    """Many small systems at once, one per GPU thread (`interpret` runs the kernel anywhere, slowly)."""
    batch, size = right.shape
    padding = -batch % BLOCK
    # Identity matrices fill the last block: they are solved and thrown away.
    filler = jnp.broadcast_to(jnp.eye(size, dtype=matrix.dtype), (padding, size, size))
    matrices = jnp.concatenate([matrix, filler]) if padding else matrix
    rights = jnp.pad(right, ((0, padding), (0, 0)))
    square = pl.BlockSpec((size, size, BLOCK), lambda i: (0, 0, i))
    column = pl.BlockSpec((size, BLOCK), lambda i: (0, i))
    shapes = [jax.ShapeDtypeStruct((size, size, batch + padding), right.dtype)]
    shapes += [jax.ShapeDtypeStruct((size, batch + padding), right.dtype)]
    solve = pl.pallas_call(
        partial(_cholesky_kernel, size),
        grid=((batch + padding) // BLOCK,),
        in_specs=[square, column],
        out_specs=[square, column],
        out_shape=shapes,
        interpret=interpret,
        **_triton_options(),
    )
    _, solution = solve(matrices.transpose(1, 2, 0), rights.T)
    return solution.T[:batch]


def _triton_options() -> dict:
    from jax.experimental.pallas import triton

    return {"compiler_params": triton.CompilerParams(num_warps=BLOCK // 32, num_stages=1)}


def _cholesky_kernel(size: int, matrix, right, factor, solution) -> None:
    """Cholesky factorisation and both substitutions; every value is a vector over the block.

    Loops rather than unrolled code, which the compiler takes minutes over; the factor, with inverse pivots on its
    diagonal, stays in the first-level cache.
    """

    def reduce_row(value, i, j, stop):
        """value - sum over k < stop of factor[i, k] factor[j, k]"""
        return jax.lax.fori_loop(0, stop, lambda k, x: x - factor[i, k, :] * factor[j, k, :], value)

    def factor_column(j, _):
        inverse_pivot = jax.lax.rsqrt(reduce_row(matrix[j, j, :], j, j, j))
        factor[j, j, :] = inverse_pivot

        def below(i, _):
            factor[i, j, :] = reduce_row(matrix[i, j, :], i, j, j) * inverse_pivot

        jax.lax.fori_loop(j + 1, size, below, None)

    def forward(i, _):
        value = jax.lax.fori_loop(0, i, lambda k, x: x - factor[i, k, :] * solution[k, :], right[i, :])
        solution[i, :] = value * factor[i, i, :]

    def backward(step, _):
        i = size - 1 - step
        value = jax.lax.fori_loop(i + 1, size, lambda k, x: x - factor[k, i, :] * solution[k, :], solution[i, :])
        solution[i, :] = value * factor[i, i, :]

    for sweep in (factor_column, forward, backward):
        jax.lax.fori_loop(0, size, sweep, None)
