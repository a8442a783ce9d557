"""The ground as a sheet of triangles: fine tiles where feet may step, coarse between, growing towards the horizon.

Tiles are squares of fine cells that can be pressed in (see `footprints`). Their height is interpolated from the
coarse nodes that they replace, so that there is no gap between a tile and what surrounds it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.bridges.playback import heights
from softground.surfaces import Surface

COARSEN = 4  # fine cells a coarse cell
TILE_CELLS = 24  # fine cells along the side of a tile; a multiple of COARSEN
TILE_NODES = TILE_CELLS // COARSEN
GROWTH = 1.3  # of the cells outside the near field, each over the one before
MOST_NODES = 40_000  # coarse ones: about 1.4 MB for a page to load
GRAINS = 0.04  # unevenness for the eye, as a share of a coarse cell: flat ground would look like paint

Tile = tuple[int, int]


@dataclass(frozen=True)
class GroundSheet:
    """Coarse nodes of the ground, on a grid whose near field divides into tiles."""

    x: np.ndarray  # (nx,) m, of the coarse nodes
    y: np.ndarray  # (ny,) m
    z: np.ndarray  # (nx, ny) m; NaN where there is no ground
    normal: np.ndarray  # (nx, ny, 3) unit, outward
    first: tuple[int, int]  # node at which the near field begins
    tiles: tuple[int, int]  # number of tiles of the near field along x and y
    cell: float  # m, of the fine cells

    @property
    def side(self) -> float:
        """Length of a tile (m)."""
        return TILE_CELLS * self.cell

    @property
    def vertices(self) -> np.ndarray:
        """(nx ny, 3) m, world; where there is no ground at height 0, and in no face."""
        x, y = np.meshgrid(self.x, self.y, indexing="ij")
        return np.stack([x, y, np.nan_to_num(self.z)], -1).reshape(-1, 3)

    def faces(self, without: set[Tile] | frozenset[Tile] = frozenset()) -> np.ndarray:
        """(n, 3) triangles of the coarse grid, less those of the tiles `without`."""
        present = np.isfinite(self.z)
        kept = present[:-1, :-1] & present[1:, :-1] & present[:-1, 1:] & present[1:, 1:]
        for i, j in without:
            a, b = self.first[0] + i * TILE_NODES, self.first[1] + j * TILE_NODES
            kept[a : a + TILE_NODES, b : b + TILE_NODES] = False
        return grid_faces(*self.z.shape)[np.repeat(kept.ravel(), 2)]

    def tiles_within(self, centre: np.ndarray, reach: float) -> list[Tile]:
        """Tiles that a square of half side `reach` (m) about a point (x, y) touches."""
        origin = np.array([self.x[self.first[0]], self.y[self.first[1]]])
        low = np.floor((centre[:2] - reach - origin) / self.side).astype(int)
        high = np.floor((centre[:2] + reach - origin) / self.side).astype(int)
        (i0, j0), (i1, j1) = np.maximum(low, 0), np.minimum(high, np.array(self.tiles) - 1)
        return [(i, j) for i in range(i0, i1 + 1) for j in range(j0, j1 + 1) if self._whole(i, j)]

    def tile(self, tile: Tile) -> tuple[np.ndarray, np.ndarray]:
        """Fine vertices (m) and unit normals of a tile, each ((TILE_CELLS + 1)^2, 3)."""
        rows, columns = self._nodes(*tile)
        between = _interpolation()
        spread = lambda values: np.einsum("ai,ij...,bj->ab...", between, values, between)  # noqa: E731
        x, y = np.meshgrid(between @ self.x[rows], between @ self.y[columns], indexing="ij")
        points = np.stack([x, y, spread(self.z[rows, columns])], -1)
        normals = spread(self.normal[rows, columns])
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
        return points.reshape(-1, 3), normals.reshape(-1, 3)

    def coarse_tile(self, tile: Tile) -> np.ndarray:
        """Coarse vertices (m) of a tile, ((TILE_NODES + 1)^2, 3)."""
        rows, columns = self._nodes(*tile)
        x, y = np.meshgrid(self.x[rows], self.y[columns], indexing="ij")
        return np.stack([x, y, self.z[rows, columns]], -1).reshape(-1, 3)

    def _nodes(self, i: int, j: int) -> tuple[slice, slice]:
        a, b = self.first[0] + i * TILE_NODES, self.first[1] + j * TILE_NODES
        return slice(a, a + TILE_NODES + 1), slice(b, b + TILE_NODES + 1)

    def _whole(self, i: int, j: int) -> bool:
        return bool(np.isfinite(self.z[self._nodes(i, j)]).all())


def ground_sheet(surface: Surface, low: np.ndarray, high: np.ndarray, cell: float, reach: float) -> GroundSheet:
    """Sheet with a near field from `low` to `high` (x, y in m) of fine cells (m), out to `reach` (m) around it.

    Cells are made larger than asked for where the near field would need more than `MOST_NODES`.
    """
    cell = max(cell, np.sqrt(np.prod(high - low + 2 * cell * TILE_CELLS) / (0.6 * MOST_NODES)) / COARSEN)
    side = cell * TILE_CELLS
    first_tile, last_tile = np.floor(low / side).astype(int), np.ceil(high / side).astype(int)
    tiles = np.maximum(last_tile - first_tile, 1)
    axis_x, first_x = _axis(first_tile[0] * side, int(tiles[0]), COARSEN * cell, reach)
    axis_y, first_y = _axis(first_tile[1] * side, int(tiles[1]), COARSEN * cell, reach)
    z = heights(surface, *np.meshgrid(axis_x, axis_y, indexing="ij"))
    slope_x, slope_y = np.gradient(z, axis_x, axis_y)
    normal = np.stack([-np.nan_to_num(slope_x), -np.nan_to_num(slope_y), np.ones_like(z)], -1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    uneven = z + GRAINS * COARSEN * cell * np.random.default_rng(0).uniform(-1, 1, z.shape)
    return GroundSheet(
        x=axis_x,
        y=axis_y,
        z=uneven,
        normal=normal,
        first=(first_x, first_y),
        tiles=(int(tiles[0]), int(tiles[1])),
        cell=float(cell),
    )


def grid_faces(rows: int, columns: int) -> np.ndarray:
    """(2 (rows - 1) (columns - 1), 3) triangles of a grid of nodes, seen from above anticlockwise."""
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    lower = np.stack([corner, corner + columns, corner + columns + 1], -1)
    upper = np.stack([corner, corner + columns + 1, corner + 1], -1)
    return np.stack([lower, upper], 1).reshape(-1, 3).astype(np.uint32)


def _axis(start: float, tiles: int, step: float, reach: float) -> tuple[np.ndarray, int]:
    """Nodes along one axis, equal in the near field and growing outside, and where the near field begins."""
    near = start + step * np.arange(tiles * TILE_NODES + 1)
    beyond = [step * GROWTH]
    while sum(beyond) < reach:
        beyond.append(beyond[-1] * GROWTH)
    outside = np.cumsum(beyond)
    return np.concatenate([near[0] - outside[::-1], near, near[-1] + outside]), len(outside)


def _interpolation() -> np.ndarray:
    """(TILE_CELLS + 1, TILE_NODES + 1) weights of the coarse nodes at the fine ones."""
    place = np.arange(TILE_CELLS + 1) / COARSEN
    return np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(TILE_NODES + 1)))
