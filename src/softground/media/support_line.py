"""The smoothed support function on a line of twists, where the scores of its vertices are linear.

A line search evaluates this many times. In a GPU batch XLA needs four kernels for each evaluation (it cannot fuse the
maximum of the scores with the sums of their exponentials) and writes every score to memory; there one Pallas kernel
does it all, one thread per foot and robot.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.experimental import pallas as pl
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import Derivatives

#: Lines per GPU block, one per thread, and vertices handled at once by a thread.
BLOCK, TILE = 128, 7
_NEVER = -1e30  # score of a vertex that is only there to fill a tile


class SupportAlongLine(eqx.Module):
    """eps log sum_k exp(score_k + t rate_k) as a function of t, W."""

    score: Float[Array, " k"]
    rate: Float[Array, " k"]
    eps: Float[Array, ""]

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        """The derivatives with respect to t are mean and variance of the rates under softmax weights."""
        normaliser, mean, variance = softmax_moments(self.score, self.rate, t)
        return self.eps * normaliser, self.eps * mean, self.eps * variance


def _moments(score: Float[Array, " k"], rate: Float[Array, " k"], t: Float[Array, ""]):
    # All sums come before what is made of them: native code has one loop for them.
    scores = score + t * rate
    top = scores.max()
    weight = jnp.exp(scores - top)
    weighted = weight * rate
    total, first, second = weight.sum(), weighted.sum(), (weighted * rate).sum()
    mean = first / total
    return top + jnp.log(total), mean, second / total - mean * mean


@custom_vmap
def softmax_moments(score, rate, t):
    """log sum exp(score + t rate), and mean and variance of the rates under its weights; not to be differentiated."""
    return _moments(score, rate, t)


@softmax_moments.def_vmap
def _of_feet(axis_size, batched, *arguments):
    """First batch axis: the feet of one robot. The kernel waits for a second one, the robots."""
    return _foot_moments(*_broadcast(axis_size, batched, arguments)), (True, True, True)


@custom_vmap
def _foot_moments(score, rate, t):
    return jax.vmap(_moments)(score, rate, t)


@_foot_moments.def_vmap
def _of_robots(axis_size, batched, *arguments):
    score, rate, t = _broadcast(axis_size, batched, arguments)
    library = jax.vmap(jax.vmap(_moments))
    if score.dtype == jnp.float64:
        return library(score, rate, t), (True, True, True)
    return jax.lax.platform_dependent(score, rate, t, cuda=batch_moments, default=library), (True, True, True)


def _broadcast(axis_size, batched, arguments):
    return [
        x if is_batched else jnp.broadcast_to(x, (axis_size, *x.shape))
        for x, is_batched in zip(arguments, batched, strict=True)
    ]


def batch_moments(
    score: Float[Array, "b f k"], rate: Float[Array, "b f k"], t: Float[Array, "b f"], interpret: bool = False
) -> tuple[Float[Array, "b f"], Float[Array, "b f"], Float[Array, "b f"]]:
    """The moments of many lines in one kernel (`interpret` runs it anywhere, slowly)."""
    from jax.experimental.pallas import triton

    batch, feet, vertices = score.shape
    extra, filler = -batch % BLOCK, -vertices % TILE

    def vertices_first(x, fill):
        x = jnp.pad(x.transpose(1, 2, 0), ((0, 0), (0, filler), (0, 0)), constant_values=fill)
        return jnp.pad(x, ((0, 0), (0, 0), (0, extra)))

    lines = pl.BlockSpec((1, vertices + filler, BLOCK), lambda foot, i: (foot, 0, i))
    values = pl.BlockSpec((1, BLOCK), lambda foot, i: (foot, i))
    moments = pl.pallas_call(
        _moments_kernel,
        grid=(feet, (batch + extra) // BLOCK),
        in_specs=[lines, lines, values],
        out_specs=[values, values, values],
        out_shape=[jax.ShapeDtypeStruct((feet, batch + extra), score.dtype)] * 3,
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=BLOCK // 32, num_stages=1),
    )
    normaliser, mean, variance = moments(
        vertices_first(score, _NEVER), vertices_first(rate, 0.0), jnp.pad(t.T, ((0, 0), (0, extra)))
    )
    return normaliser[:, :batch].T, mean[:, :batch].T, variance[:, :batch].T


def _moments_kernel(score, rate, t, normaliser, mean, variance) -> None:
    """Two sweeps over the vertices: the greatest score, then the sums. Every value is a vector over the block."""
    length = t[0, :]
    tiles = score.shape[1] // TILE

    def rows(tile):
        return [TILE * tile + k for k in range(TILE)]

    def greatest(tile, top):
        for k in rows(tile):
            top = jnp.maximum(top, score[0, k, :] + length * rate[0, k, :])
        return top

    top = jax.lax.fori_loop(0, tiles, greatest, jnp.full_like(length, _NEVER))

    def add(tile, sums):
        total, first, second = sums
        for k in rows(tile):
            change = rate[0, k, :]
            weight = jnp.exp(score[0, k, :] + length * change - top)
            total, first, second = total + weight, first + weight * change, second + weight * change * change
        return total, first, second

    zero = jnp.zeros_like(length)
    total, first, second = jax.lax.fori_loop(0, tiles, add, (zero, zero, zero))
    normaliser[0, :] = top + jnp.log(total)
    mean[0, :] = first / total
    variance[0, :] = second / total - (first / total) * (first / total)
