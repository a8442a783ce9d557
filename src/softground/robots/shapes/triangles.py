"""Panels of any surface, from triangles that are cut until they are small."""

from __future__ import annotations

import numpy as np

from softground.errors import RobotError
from softground.robots import outline as plane
from softground.robots.shapes.panels import Panels

ELEMENTS_ALONG = 40
"""Elements along the longest side of the mesh."""
NORMAL_STEPS = 4
"""Triangles whose normals fall in the same of this many steps per unit, about 14 degrees, may be joined."""
MOST_TRIANGLES = 2_000_000
TOP_SHARE = 1e-3
"""A face within this share of the height from the top belongs to the leg above the foot."""


def panels_of_triangles(corners: np.ndarray, refine: int = 1) -> Panels:
    """Elements of a surface of triangles (n, 3, 3), m; `refine` divides their greatest length. A flat top is left out.

    Triangles are first cut to the size of an element, then those in one cell of a grid that look the same way are
    joined: the number of elements follows from the foot's size, not from how finely it was exported.
    """
    size = np.ptp(corners.reshape(-1, 3), axis=0).max() / (ELEMENTS_ALONG * refine)
    return joined(cut(_without_top(corners), size), size)


def panels_of_prism(outline: plane.Points, height: float, refine: int = 1) -> Panels:
    """Elements of the sole and the sides of what stands on an outline, m."""
    up = np.array([0.0, 0.0, height])
    sole = np.pad(plane.triangles(outline)[:, ::-1], ((0, 0), (0, 0), (0, 1)))  # facing down
    start = np.pad(outline, ((0, 0), (0, 1)))
    end = np.roll(start, -1, axis=0)
    sides = [np.stack([start, end, end + up], axis=1), np.stack([start, end + up, start + up], axis=1)]
    return panels_of_triangles(np.concatenate([sole, *sides]), refine)


def joined(corners: np.ndarray, size: float) -> Panels:
    """One element for all triangles (n, 3, 3) in the same cell of `size` (m) that look the same way.

    It has their area, mean normal, centroid, and the second moments of their area.
    """
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    double = np.cross(u, v)
    area = np.linalg.norm(double, axis=1) / 2
    normal = double / np.maximum(2 * area, 1e-300)[:, None]
    centre = corners.mean(axis=1)
    # Cells meet at the axis: the sole of a foot that turns about its sole's centre leads on one side of it.
    place, facing = np.floor(centre / size), np.rint(NORMAL_STEPS * normal)
    cell = _cells(np.concatenate([place, facing], axis=1).astype(np.int64))

    def total(values: np.ndarray) -> np.ndarray:
        sums = np.zeros((cell.max() + 1, *values.shape[1:]))
        np.add.at(sums, cell, values)
        return sums

    areas = np.maximum(total(area), 1e-300)
    middle = total(area[:, None] * centre) / areas[:, None]
    # Second moments of a triangle about its centroid: (uu' + vv' - (uv' + vu')/2) / 18.
    own = (_outer(u, u) + _outer(v, v) - (_outer(u, v) + _outer(v, u)) / 2) / 18
    away = centre - middle[cell]
    spread = total(area[:, None, None] * (own + _outer(away, away))) / areas[:, None, None]
    facing = total(area[:, None] * normal)
    facing /= np.maximum(np.linalg.norm(facing, axis=1), 1e-300)[:, None]
    keep = areas > 1e-9 * size**2  # slivers without area have no normal
    return Panels(middle[keep], facing[keep], areas[keep], _half_sides(spread[keep]))


def _cells(keys: np.ndarray) -> np.ndarray:
    """Number 0, 1, ... of each distinct row of integers."""
    keys = keys - keys.min(axis=0)
    return np.unique(np.ravel_multi_index(tuple(keys.T), tuple(keys.max(axis=0) + 1)), return_inverse=True)[1]


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, :, None] * b[:, None, :]


def _half_sides(spread: np.ndarray) -> np.ndarray:
    """Half the sides (n, 2, 3) of the rectangle with these second moments (n, 3, 3) per area: l^2/12 along a side."""
    moments, axes = np.linalg.eigh(spread)
    return (np.sqrt(3 * np.maximum(moments, 0.0))[:, None, :] * axes).swapaxes(1, 2)[:, 1:]


def _without_top(corners: np.ndarray) -> np.ndarray:
    height = corners[..., 2].max()
    at_top = (corners[..., 2] > height * (1 - TOP_SHARE)).all(axis=1)
    return corners[~at_top]


def cut(corners: np.ndarray, size: float) -> np.ndarray:
    """Triangles (n, 3, 3) halved across their longest side until none is longer than `size` (m).

    Halving the longest side turns the slivers of exported cylinders into compact triangles, where cutting in
    four would keep their shape. Neighbours need not share corners: stresses are summed, nothing is interpolated.
    """
    small: list[np.ndarray] = []
    while len(corners):
        sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=-1)
        is_small = sides.max(axis=1) <= size
        small.append(corners[is_small])
        corners, sides = corners[~is_small], sides[~is_small]
        # Turn each triangle so that its longest side runs from corner 0 to corner 1.
        order = (sides.argmax(axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(corners, order[..., None], axis=1), 1, 0)
        middle = (a + b) / 2
        corners = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
        if sum(map(len, small)) + len(corners) > MOST_TRIANGLES:
            raise RobotError(
                f"the foot mesh needs more than {MOST_TRIANGLES:,} triangles of {size:.2g} m: simplify it "
                "(simplify_quadric_decimation of trimesh)"
            )
    return np.concatenate(small)
