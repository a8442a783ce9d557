"""Hessian of a block's constraints from few directional derivatives: columns that do not interfere share one.

The Hessian of one place is symmetric and sparse: limbs meet the base but not each other. Columns of different limbs can
then be differentiated along together, and where they meet in a row of the base the entry is read off the base's
own column instead, by symmetry (a star colouring of the pattern's graph).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from softground.planning.blocks import Block
from softground.planning.terrain import on_surface


def compiled(block: Block) -> Callable:
    """The block's curvature along one direction on a surface, compiled: it finds the pattern and fills it later."""
    return jax.jit(lambda surface, *arguments: on_surface(block, surface).all_curvatures_along(*arguments))


class CurvaturePlan(NamedTuple):
    """Which directions to take, and where each entry of the lower triangle is read off."""

    row: np.ndarray  # (e,) entries of the lower triangle, in the block's columns
    column: np.ndarray  # (e,)
    directions: np.ndarray  # (c, width)
    read_direction: np.ndarray  # (e,)
    read_row: np.ndarray  # (e,)


def curvature_plan(block: Block, along: Callable, n_rows: int, sample: np.ndarray, eps: float) -> CurvaturePlan:
    """Find the pattern at a random trajectory, column by column, and colour it; `along`: `compiled`, on a surface."""
    count, width = block.columns.shape
    multipliers = np.random.default_rng(0).normal(size=(count, n_rows))
    columns = [np.asarray(along(sample, eps, multipliers, seed)) for seed in np.eye(width)]
    filled = np.stack([np.any(column != 0, axis=0) for column in columns], axis=1)
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


def curvature_entries(plan: CurvaturePlan, along: Callable, z, eps: float, multipliers: np.ndarray) -> np.ndarray:
    """Entries (count, e) of the lower triangles at all places; multipliers (count, rows)."""
    if not len(plan.directions):
        return np.zeros((len(multipliers), 0))
    products = np.stack([np.asarray(along(z, eps, multipliers, direction)) for direction in plan.directions])
    return products[plan.read_direction, :, plan.read_row].T
