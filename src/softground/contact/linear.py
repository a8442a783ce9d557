"""Linear algebra of the step.

One robot at a time, LAPACK is fastest. A batch on a GPU is another matter: the library's batched factorisation of
many small matrices leaves the chip idle, so there each GPU thread solves one system by itself (a Pallas kernel,
batch along the last axis so that neighbouring threads read neighbouring numbers).
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.experimental import pallas as pl
from jax.scipy.linalg import cho_solve
from jaxtyping import Float

from softground.arrays import Array

#: Systems per GPU block, one per thread.
BLOCK = 32
#: Rows and columns that the kernel handles at once.
TILE = 6
#: Beyond this size a block's matrices no longer fit the cache, and the library is faster.
LARGEST_IN_CACHE = 40


@jax.jit
def solve_spd(matrix: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
    """Solution of a symmetric positive definite system, of which only the lower triangle is read."""
    return cho_solve((jnp.linalg.cholesky(matrix, symmetrize_input=False), True), right)


@custom_vmap
def solve_spd_fast(matrix: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
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
    rows, columns = -size % TILE, -batch % BLOCK
    # Rows of the identity fill the last tile and the last block: they are solved and thrown away.
    padded = jnp.pad(matrix.transpose(1, 2, 0), ((0, rows), (0, rows), (0, columns)))
    if rows or columns:
        padded = padded + _filler(size, rows, batch, columns, matrix.dtype)
    rights = jnp.pad(right.T, ((0, rows), (0, columns)))
    square = pl.BlockSpec((size + rows, size + rows, BLOCK), lambda i: (0, 0, i))
    column = pl.BlockSpec((size + rows, BLOCK), lambda i: (0, i))
    solve = pl.pallas_call(
        partial(_cholesky_kernel, size + rows),
        grid=((batch + columns) // BLOCK,),
        in_specs=[square, column],
        out_specs=[square, column],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (padded, rights)],
        interpret=interpret,
        **_triton_options(),
    )
    return solve(padded, rights)[1][:size, :batch].T


def _filler(size: int, rows: int, batch: int, columns: int, dtype) -> Float[Array, "m m c"]:
    """Ones on the diagonal wherever the padding is."""
    row = np.arange(size + rows)[:, None] >= size
    column = np.arange(batch + columns) >= batch
    return (np.eye(size + rows)[:, :, None] * (row | column)).astype(dtype)


def _triton_options() -> dict:
    from jax.experimental.pallas import triton

    return {"compiler_params": triton.CompilerParams(num_warps=BLOCK // 32, num_stages=1)}


def _cholesky_kernel(size: int, matrix, right, factor, solution) -> None:
    """Cholesky factorisation and both substitutions; every value is a vector over the block.

    Loops over tiles, with only the inside of a tile unrolled: fully unrolled code takes the compiler minutes, and
    without unrolling every product waits for its loads. The factor, with inverse pivots on its diagonal, stays in
    the first-level cache.
    """

    def minus_products(values, rows, j, stop):
        """Each value less the product of its row of the factor with row j, over the tiles before `stop`."""

        def tile(t, values):
            ks = [TILE * t + k for k in range(TILE)]
            pivots = [factor[j, k, :] for k in ks]
            loaded = [[factor[i, k, :] for k in ks] for i in rows]
            return [
                value - sum(a * b for a, b in zip(row, pivots, strict=True))
                for value, row in zip(values, loaded, strict=True)
            ]

        return jax.lax.fori_loop(0, stop, tile, values)

    def clear(i, _):
        def one(j, _):
            factor[i, j, :] = jnp.zeros_like(matrix[i, j, :])

        jax.lax.fori_loop(0, size, one, None)

    def factor_column(j, _):
        tiles = (j + TILE - 1) // TILE  # entries not computed yet are zero, so a whole tile may be read
        (pivot,) = minus_products([matrix[j, j, :]], [j], j, tiles)
        inverse_pivot = jax.lax.rsqrt(pivot)

        def below(block, _):
            rows = [TILE * block + k for k in range(TILE)]
            values = minus_products([matrix[i, j, :] for i in rows], rows, j, tiles)
            for i, value in zip(rows, values, strict=True):
                factor[i, j, :] = jnp.where(i > j, value * inverse_pivot, factor[i, j, :])

        jax.lax.fori_loop((j + 1) // TILE, size // TILE, below, None)
        factor[j, j, :] = inverse_pivot

    def forward(i, _):
        def tile(t, value):
            ks = [TILE * t + k for k in range(TILE)]
            products = [jnp.where(k < i, factor[i, k, :] * solution[k, :], 0.0) for k in ks]
            return value - sum(products)

        value = jax.lax.fori_loop(0, (i + TILE - 1) // TILE, tile, right[i, :])
        solution[i, :] = value * factor[i, i, :]

    def backward(step, _):
        i = size - 1 - step

        def tile(t, value):
            ks = [TILE * t + k for k in range(TILE)]
            products = [jnp.where(k > i, factor[k, i, :] * solution[k, :], 0.0) for k in ks]
            return value - sum(products)

        value = jax.lax.fori_loop((i + 1) // TILE, size // TILE, tile, solution[i, :])
        solution[i, :] = value * factor[i, i, :]

    for sweep in (clear, factor_column, forward, backward):
        jax.lax.fori_loop(0, size, sweep, None)
