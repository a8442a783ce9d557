"""Cells of the ground that a robot has changed, on a torus of tiles: a window that moves without being moved.

The ground is cut into square tiles of cells. Tile (i, j) of the world is kept at place (i mod n, j mod n) of a table,
with its name beside it; one of another name that is found there lies a whole window away, and is forgotten. So no
array is ever shifted, a robot may go anywhere, and setting the ground back is copying an array of zeros.

What a foot can change lies in the 3 x 3 tiles about it, its *patch*. Patches of several feet are taken out at once, and
what changed in them is added back, so that feet whose patches overlap both count.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array

#: Tiles of a patch, from the one that the foot is in.
AROUND = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1], indexing="ij"), -1).reshape(9, 2)


class Tiles(eqx.Module):
    """Quantities of cells in tiles (leading axis: place in the table, row by row), and which tiles they are."""

    cells: Float[Array, "n2 t t c"]
    names: Float[Array, "n2 2"]  # of the tiles in the world: whole numbers

    @staticmethod
    def fresh(tiles: int, tile: int, quantities: int, dtype) -> Tiles:
        """Ground that nothing has been on: zeros."""
        return Tiles(jnp.zeros((tiles**2, tile, tile, quantities), dtype), jnp.zeros((tiles**2, 2), dtype))

    @property
    def tile(self) -> int:
        """Cells along a side of a tile."""
        return self.cells.shape[1]

    def patches(self, places: Float[Array, "f 2"]) -> tuple[Places, Float[Array, "f p p c"]]:
        """Patches about places, in cells from the world's origin, and where they were taken from."""
        tiles = round(len(self.cells) ** 0.5)
        names = jnp.floor(places / self.tile)[:, None] + AROUND.astype(places.dtype)
        row, column = jnp.moveaxis(jnp.mod(names, tiles).astype(jnp.int32), -1, 0)
        at = (row * tiles + column).reshape(-1)
        names = names.reshape(-1, 2)
        known = (self.names[at] == names).all(-1)
        stored = self.cells[at]
        cells = jnp.where(known[:, None, None, None], stored, 0.0)
        return Places(at, names, stored), _joined(cells, len(places))

    def changed(self, places: Places, before: Float[Array, "f p p c"], after: Float[Array, "f p p c"]) -> Tiles:
        """With patches that have changed put back."""
        same = places.at[:, None] == places.at
        first = jnp.argmax(same, axis=1)  # of those that share a place in the table
        owns = (first == np.arange(len(first)))[:, None, None, None]
        agrees = (places.names == places.names[first]).all(-1)[:, None, None, None]
        base = jnp.where(owns, places.stored, _cut(before, self.tile))
        change = jnp.where(agrees, _cut(after, self.tile) - base, 0.0)
        cells, names = jnp.asarray(self.cells), jnp.asarray(self.names)
        return Tiles(cells.at[places.at].add(change), names.at[places.at].set(places.names[first]))

    def corner(self, places: Float[Array, "f 2"]) -> Float[Array, "f 2"]:
        """First cell of the patches, in cells from the world's origin."""
        return (jnp.floor(places / self.tile) - 1) * self.tile


class Places(NamedTuple):
    """Where the tiles of patches are in the table, which tiles they are, and what was there."""

    at: Int[Array, " k"]
    names: Float[Array, "k 2"]
    stored: Float[Array, "k t t c"]


def _joined(cells: Float[Array, "k t t c"], count: int) -> Float[Array, "f p p c"]:
    tile, quantities = cells.shape[1], cells.shape[-1]
    blocks = cells.reshape(count, 3, 3, tile, tile, quantities)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(count, 3 * tile, 3 * tile, quantities)


def _cut(patches: Float[Array, "f p p c"], tile: int) -> Float[Array, "k t t c"]:
    count, quantities = patches.shape[0], patches.shape[-1]
    blocks = patches.reshape(count, 3, tile, 3, tile, quantities)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(count * 9, tile, tile, quantities)


def touched_tiles(tiles: Tiles) -> tuple[np.ndarray, np.ndarray]:
    """For pictures: the first cell (k, 2) of every tile that was touched, and its cells (k, t, t, c)."""
    cells, names = np.asarray(tiles.cells), np.asarray(tiles.names)
    touched = np.flatnonzero(cells.any((1, 2, 3)))
    return names[touched] * tiles.tile, cells[touched]


def heights_at(tiles: Tiles, places: np.ndarray) -> np.ndarray:
    """For pictures: the first quantity at places (n, 2), in cells from the world's origin, linear between cells."""
    corners, cells = touched_tiles(tiles)
    known = {(int(a), int(b)): tile[..., 0] for (a, b), tile in zip(corners, cells, strict=True)}
    size = tiles.tile

    def value(index: np.ndarray) -> np.ndarray:
        found = np.zeros(len(index))
        first = index // size * size
        for a, b in {tuple(one) for one in first.tolist()} & known.keys():
            here = (first == [a, b]).all(1)
            found[here] = known[a, b][tuple((index[here] - [a, b]).T)]
        return found

    low = np.floor(places - 0.5).astype(int)
    share = places - 0.5 - low
    corner = [[value(low + np.array([i, j])) for j in (0, 1)] for i in (0, 1)]
    along = [(1 - share[:, 1]) * row[0] + share[:, 1] * row[1] for row in corner]
    return (1 - share[:, 0]) * along[0] + share[:, 0] * along[1]
