"""Blocks: one small function of a few unknowns, evaluated at many places of a trajectory.

Dynamics from knot to knot, limits at every knot, costs, splines: each is a function of a short vector of unknowns,
gathered from the whole by a table of columns. Its derivatives are dense and small, and their places in the sparse
matrices of the whole follow from the table. That is all the optimiser needs to know about any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array


class Block(eqx.Module):
    """rows(z[columns[i]]) for i = 0 .. count - 1. Subclasses write `rows`, and faster derivatives where it matters.

    `data` is a pytree of arrays with a leading axis of places (or None): what differs from place to place.
    `linear` says that rows are affine in the unknowns, whatever eps: their Jacobian is evaluated once.
    """

    label: str = eqx.field(static=True)
    columns: Int[np.ndarray, "count width"]
    linear: bool = eqx.field(static=True, default=False, kw_only=True)

    @property
    def data(self):
        """What differs from place to place: arrays with a leading axis, or None."""
        return None

    def rows(self, local: Float[Array, " width"], data, eps) -> Float[Array, " rows"]:
        """Values at one place. eps: smoothing of the contact, W."""
        raise NotImplementedError

    def jacobian(self, local: Float[Array, " width"], data, eps) -> Float[Array, "rows width"]:
        """Derivative of `rows`."""
        return jax.jacfwd(self.rows)(local, data, eps)

    def curvature_along(self, local, data, eps, multipliers, direction) -> Float[Array, " width"]:
        """Hessian of multipliers . rows, times a direction (forward over reverse)."""
        slope = jax.grad(lambda x: multipliers @ self.rows(x, data, eps))
        return jax.jvp(slope, (local,), (direction,))[1]

    # -- at all places -----------------------------------------------------------------------------------

    def gather(self, z: Float[Array, " n"]) -> Float[Array, "count width"]:
        return z[self.columns]

    def all_rows(self, z: Float[Array, " n"], eps) -> Float[Array, "count rows"]:
        return jax.vmap(self.rows, (0, 0, None))(self.gather(z), self.data, eps)

    def all_jacobians(self, z: Float[Array, " n"], eps) -> Float[Array, "count rows width"]:
        return jax.vmap(self.jacobian, (0, 0, None))(self.gather(z), self.data, eps)

    def all_curvatures_along(
        self, z, eps, multipliers, direction: Float[Array, " width"]
    ) -> Float[Array, "count width"]:
        along = lambda local, data, m: self.curvature_along(local, data, eps, m, direction)  # noqa: E731
        return jax.vmap(along)(self.gather(z), self.data, multipliers)


class Pattern(NamedTuple):
    """Entries of a block's Jacobian that can differ from zero, in the block's own rows and columns."""

    n_rows: int
    row: Int[np.ndarray, " e"]
    column: Int[np.ndarray, " e"]


def pattern(jacobians: Sequence[Float[Array, "count rows width"]]) -> Pattern:
    """Pattern of a block, from its Jacobians at vectors of unknowns that are typical but random."""
    filled = np.any([np.any(np.asarray(one) != 0, axis=0) for one in jacobians], axis=0)
    return Pattern(len(filled), *np.nonzero(filled))
