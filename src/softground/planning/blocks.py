"""Blocks: one small function of a few unknowns, evaluated at many places of a trajectory.

Dynamics from knot to knot, limits at every knot, costs, splines: each is a function of a short vector of unknowns,
gathered from the whole by a table of columns. Its derivatives are dense and small, and their places in the sparse
matrices of the whole follow from the table. That is all the optimiser needs to know about any of them.

The Hessian of a block's constraints is made from few directional derivatives: columns that do not interfere share one.
At one place it is symmetric and sparse: limbs meet the base but not each other. Columns of different limbs can then be
differentiated along together, and where they meet in a row of the base the entry is read off the base's own column
instead, by symmetry (a star colouring of the pattern's graph).

What differs from command to command is an argument of them (`numbers_of`): one program serves all slopes, speeds and
strengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.media.base import FootMedium
from softground.native.errors import NotNative
from softground.native.parts import by_native_code, say_why_not
from softground.robots import Robot
from softground.surfaces import Surface

T = TypeVar("T")

#: Places from which on making native code of a curvature takes less time than it saves.
NATIVE_FROM = 15
MOST_NUMBERS = 1000
"""Of a leaf of a surface in native code, which has a copy of them for each direction: of the samples of a mesh LLVM's
simplifications had not come to an end after seven minutes of processor time."""
UNEVEN = 1e-3
"""Relative (and absolute) size of the noise on a surface's parameters that makes it generic."""


def numbers_of(blocks: T) -> tuple[T, T]:
    """Blocks in two: the numbers that a compiled program takes as arguments, and what it is made for.

    Numbers are surfaces, what a problem asks for (speeds, weights) and scalars of the medium, as its strength. A robot
    and a medium's tables are what programs are made for: their zeros make them short. `eqx.combine` joins the two.
    """
    spec = jax.tree.map(_varying, blocks, is_leaf=lambda node: isinstance(node, Robot | FootMedium))
    return eqx.partition(blocks, spec)


def _varying(node: Any) -> Any:
    """Which leaves of a robot, of the medium under all feet (leading axis), or of something else are numbers."""
    if isinstance(node, Robot):
        return False
    if isinstance(node, FootMedium):
        return jax.tree.map(lambda leaf: _is_number(leaf) and np.ndim(leaf) <= 1, node)
    return _is_number(node)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, float) or (eqx.is_array_like(leaf) and jnp.issubdtype(jnp.result_type(leaf), jnp.floating))


def generic(numbers: T) -> T:
    """Numbers in which the surfaces have a little noise on their parameters.

    On level ground many derivatives are zero that are not on a slope (the height of the base by x, for one). Patterns
    found with noise hold for every surface of the kind.
    """
    rng = np.random.default_rng(0)

    def stir(leaf):
        leaf = np.asarray(leaf)
        return leaf + UNEVEN * (1 + np.abs(leaf)) * rng.uniform(0.5, 1.0, leaf.shape)

    is_surface = lambda node: isinstance(node, Surface)  # noqa: E731
    return jax.tree.map(
        lambda node: jax.tree.map(stir, node) if is_surface(node) else node, numbers, is_leaf=is_surface
    )


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

    @property
    def worth_native_code(self) -> bool:
        """Whether its curvature is needed at so many places that native code of it pays."""
        own = type(self).all_curvatures_along is not Block.all_curvatures_along  # which has a way of its own
        return not (own or self.linear or len(self.columns) < NATIVE_FROM or self._sampled)

    @property
    def _sampled(self) -> bool:
        """Whether it holds a surface that is a table of samples, and no formula."""
        is_surface = lambda node: isinstance(node, Surface)  # noqa: E731
        surfaces = [node for node in jax.tree.leaves(self, is_leaf=is_surface) if is_surface(node)]
        return any(np.size(leaf) > MOST_NUMBERS for leaf in jax.tree.leaves(surfaces))

    def all_curvatures_along(
        self, z, eps, multipliers, direction: Float[Array, " width"], native: bool = False
    ) -> Float[Array, "count width"]:
        """native: by native code, where there is some for it."""

        def along(local, data, multipliers):
            return self.curvature_along(local, data, eps, multipliers, direction)

        places = self.gather(z), self.data, multipliers
        if native:
            try:
                return jax.vmap(partial(_natively_along, self, eps, direction))(*places)
            except NotNative as reason:
                say_why_not("curvatures", str(reason))
        return jax.vmap(along)(*places)


def _natively_along(block: Block, eps, direction, local, data, multipliers) -> Float[Array, " width"]:
    """`Block.curvature_along` by native code."""
    return by_native_code(_along, block, local, data, eps, multipliers, direction)


def _along(block: Block, *arguments) -> Float[Array, " width"]:
    return block.curvature_along(*arguments)


class Pattern(NamedTuple):
    """Entries of a block's Jacobian that can differ from zero, in the block's own rows and columns."""

    n_rows: int
    row: Int[np.ndarray, " e"]
    column: Int[np.ndarray, " e"]


def pattern(jacobians: Sequence[Float[Array, "count rows width"]]) -> Pattern:
    """Pattern of a block, from its Jacobians at vectors of unknowns that are typical but random."""
    filled = np.any([np.any(np.asarray(one) != 0, axis=0) for one in jacobians], axis=0)
    return Pattern(len(filled), *np.nonzero(filled))


class CurvaturePlan(NamedTuple):
    """Which directions to take, and where each entry of the lower triangle is read off."""

    row: np.ndarray  # (e,) entries of the lower triangle, in the block's columns
    column: np.ndarray  # (e,)
    directions: np.ndarray  # (c, width)
    read_direction: np.ndarray  # (e,)
    read_row: np.ndarray  # (e,)


def curvature_plan(columns: Float[np.ndarray, "width count width"]) -> CurvaturePlan:
    """Colour a block's pattern, from its curvature along every single unknown at a random trajectory."""
    width = len(columns)
    filled = np.any(columns != 0, axis=1).T
    filled |= filled.T
    colour = star_colouring(filled)
    directions = np.zeros((colour.max(initial=-1) + 1, width))
    coloured = np.flatnonzero(colour >= 0)
    directions[colour[coloured], coloured] = 1.0
    touched = directions @ filled  # how many columns of a colour meet a row
    row, column = np.nonzero(np.tril(filled))
    straight = touched[colour[column], row] == 1
    return CurvaturePlan(
        row,
        column,
        directions,
        np.where(straight, colour[column], colour[row]),
        np.where(straight, row, column),
    )


def star_colouring(filled: np.ndarray) -> np.ndarray:
    """Colours of the columns of a symmetric pattern, such that every entry can be read off; -1: an empty column.

    An entry (i, j) can be read off column j's colour if no other column of that colour meets row i, or off column
    i's colour if no other column of that one meets row j. Greedy, columns with many entries first.
    """
    width = len(filled)
    colour = np.full(width, -1)
    touched = np.zeros((width, width), dtype=int)  # [colour, row]
    for column in np.argsort(-filled.sum(0), kind="stable"):
        if not filled[:, column].any():
            continue
        for candidate in range(width):
            trial = colour.copy()
            trial[column] = candidate
            counts = touched.copy()
            counts[candidate] += filled[:, column]
            if _readable(filled, trial, counts):
                colour, touched = trial, counts
                break
    return colour


def _readable(filled: np.ndarray, colour: np.ndarray, touched: np.ndarray) -> bool:
    """Whether all entries between coloured columns can be read off."""
    coloured = colour >= 0
    row, column = np.nonzero(filled & coloured[:, None] & coloured)
    return bool(np.all((touched[colour[column], row] == 1) | (touched[colour[row], column] == 1)))


def curvature_entries(plan: CurvaturePlan, products: Float[np.ndarray, "c count width"]) -> np.ndarray:
    """Entries (count, e) of the lower triangles at all places, from the curvature along the plan's directions."""
    return products[plan.read_direction, :, plan.read_row].T
