"""Linear algebra of the step.

One robot at a time, LAPACK is fastest. A batch on a GPU is another matter: the library's batched factorisation of
many small matrices leaves the chip idle, so there each GPU thread solves one system in its registers (a Pallas
kernel, batch along the last axis so that neighbouring threads read neighbouring numbers).
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
#: The kernel is unrolled: beyond this size it no longer fits a thread's registers.
LARGEST_UNROLLED = 32


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
    if right.shape[-1] > LARGEST_UNROLLED or right.dtype == jnp.float64:
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
    solve = pl.pallas_call(
        partial(_cholesky_kernel, size),
        grid=((batch + padding) // BLOCK,),
        in_specs=[
            pl.BlockSpec((size, size, BLOCK), lambda i: (0, 0, i)),
            pl.BlockSpec((size, BLOCK), lambda i: (0, i)),
        ],
        out_specs=pl.BlockSpec((size, BLOCK), lambda i: (0, i)),
        out_shape=jax.ShapeDtypeStruct((size, batch + padding), right.dtype),
        interpret=interpret,
        **_triton_options(),
    )
    return solve(matrices.transpose(1, 2, 0), rights.T).T[:batch]


def _triton_options() -> dict:
    from jax.experimental.pallas import triton

    return {"compiler_params": triton.CompilerParams(num_warps=BLOCK // 32, num_stages=1)}


def _cholesky_kernel(size: int, matrix, right, solution) -> None:
    """Cholesky factorisation and both substitutions, unrolled; every value is a vector over the block."""
    factor = [[None] * size for _ in range(size)]
    inverse_pivot = [None] * size
    for j in range(size):
        pivot = matrix[j, j, :]
        for k in range(j):
            pivot = pivot - factor[j][k] * factor[j][k]
        inverse_pivot[j] = jax.lax.rsqrt(pivot)
        for i in range(j + 1, size):
            entry = matrix[i, j, :]
            for k in range(j):
                entry = entry - factor[i][k] * factor[j][k]
            factor[i][j] = entry * inverse_pivot[j]
    forward = [None] * size
    for i in range(size):
        value = right[i, :]
        for k in range(i):
            value = value - factor[i][k] * forward[k]
        forward[i] = value * inverse_pivot[i]
    backward = [None] * size
    for i in reversed(range(size)):
        value = forward[i]
        for k in range(i + 1, size):
            value = value - factor[k][i] * backward[k]
        backward[i] = value * inverse_pivot[i]
        solution[i, :] = backward[i]
