"""Cells of the ground that a robot has changed, on a torus: a window that moves without being moved.

Cell (i, j) of the world is kept at place (i mod n, j mod n) of a table, with a number beside it that says how many
windows away from the origin it lies: its lap. A cell of another lap that is found there is forgotten. So no array is
ever shifted, a robot may go anywhere, and setting the ground back is copying an array of zeros.

What a foot can change lies in a square of cells about it, its *patch*, which is read and written cell by cell: the rest
of the table is not touched, and native code changes it where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array

#: Place of the lap among the numbers of a cell; 0: nothing was here yet.
LAP = -1
#: Laps along an axis that are told apart: a cell as many windows away would be taken for another.
LAPS = 1024


_INSIDE: dict[str, Any] = {"mode": "promise_in_bounds", "wrap_negative_indices": False}


class Patch(NamedTuple):
    """Places of a patch's cells in the table, and their laps."""

    at: Int[Array, "p p"]
    laps: Float[Array, "p p"]


class Window(eqx.Module):
    """Quantities of cells, and behind them the cell's lap (leading axis: place in the table, row by row)."""

    cells: Float[Array, "n2 c"]

    @staticmethod
    def fresh(size: int, quantities: int, dtype) -> Window:
        """Ground that nothing has been on: zeros."""
        return Window(jnp.zeros((size**2, quantities + 1), dtype))

    def patch(self, middle: Float[Array, "2"], reach: int) -> Patch:
        """Cells up to `reach` from a middle one, whole numbers from the world's origin."""
        index = middle + np.arange(-reach, reach + 1).astype(middle.dtype)[:, None]
        place, lap = _place(index, _side(self.cells))
        return Patch(place[:, None, 0] + place[None, :, 1], lap[:, None, 0] + lap[None, :, 1])

    def read(self, patch: Patch) -> list[Float[Array, "p p"]]:
        """The quantities of a patch."""
        *stored, laps = jnp.moveaxis(self._at(patch).get(**_INSIDE), -1, 0)
        return [jnp.where(laps == patch.laps, one, 0.0) for one in stored]

    def written(self, patch: Patch, quantities: Sequence[Float[Array, "p p"]]) -> Window:
        """With the quantities of a patch set."""
        cells = jnp.stack([*quantities, patch.laps], axis=-1)
        return Window(self._at(patch).set(cells, unique_indices=True, **_INSIDE))

    def _at(self, patch: Patch):
        return jnp.asarray(self.cells).at[patch.at]


def _side(cells) -> int:
    return round(len(cells) ** 0.5)


def _place(index, size: int):
    """For indices (..., 2) of cells in the world: their parts of the place in the table, and of the lap."""
    lap = jnp.floor(index / size)
    along = (index - size * lap).astype(jnp.int32)
    laps = lap - LAPS * jnp.floor(lap / LAPS)
    rows, laps_of_rows, one = np.array([size, 1], np.int32), np.array([LAPS, 1.0]), np.array([0.0, 1.0])
    return along * rows, laps * laps_of_rows.astype(index.dtype) + one.astype(index.dtype)


def heights_at(window: Window, places: np.ndarray) -> np.ndarray:
    """For pictures: the first quantity at places (n, 2), in cells from the world's origin, linear between cells."""
    cells = np.asarray(window.cells)

    def value(index: np.ndarray) -> np.ndarray:
        place, lap = (np.asarray(x).sum(-1) for x in _place(np.asarray(index, cells.dtype), _side(cells)))
        return np.where(cells[place, LAP] == lap, cells[place, 0], 0.0)

    low = np.floor(places - 0.5).astype(int)
    share = places - 0.5 - low
    corner = [[value(low + np.array([i, j])) for j in (0, 1)] for i in (0, 1)]
    along = [(1 - share[:, 1]) * row[0] + share[:, 1] * row[1] for row in corner]
    return (1 - share[:, 0]) * along[0] + share[:, 0] * along[1]
