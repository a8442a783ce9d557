"""The surface of a shape as small elements, over which laws of the ground are summed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Panels(NamedTuple):
    """Elements of a surface, in the foot frame (origin at the centre of the sole, of soles that roll of the arc)."""

    centre: np.ndarray  # (e, 3) m
    normal: np.ndarray  # (e, 3) outward unit vectors
    area: np.ndarray  # (e,) m2
    edges: np.ndarray  # (e, 2, 3) m, half the extent of the element along its two sides


def joined_panels(*parts: Panels) -> Panels:
    """All elements of several parts."""
    return Panels(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def with_lid(panels: Panels, height: float) -> Panels:
    """Panels of what stands on its sole, with a top at this height (m) like the sole."""
    sole = np.isclose(panels.normal[:, 2], -1.0)
    up = np.array([0.0, 0.0, 1.0])
    lid = Panels(panels.centre[sole] + height * up, -panels.normal[sole], panels.area[sole], panels.edges[sole])
    return joined_panels(panels, lid)


def _sectors(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Radial and tangential unit vectors (count, 3) in the middle of the sectors of a circle."""
    angle = (np.arange(count) + 0.5) * 2 * np.pi / count
    zero = np.zeros(count)
    radial = np.stack([np.cos(angle), np.sin(angle), zero], axis=-1)
    return radial, np.stack([-np.sin(angle), np.cos(angle), zero], axis=-1)


def disc(radius: float, rings: int, sectors: int) -> Panels:
    """Sole of a cylinder: sectors of rings of equal width, normal down."""
    radial, tangent = _sectors(sectors)
    inner = np.arange(rings) * radius / rings
    middle = inner + radius / rings / 2
    half = np.pi / sectors
    area = 2 * half * middle * radius / rings
    # A sector's centroid lies nearer the axis than the middle of its arc, by sin(half)/half.
    reach = (middle + (radius / rings) ** 2 / (12 * middle)) * np.sin(half) / half
    return _elements(
        reach[:, None, None] * radial,
        np.array([0.0, 0.0, -1.0]),
        area[:, None],
        radius / rings / 2 * radial,
        half * middle[:, None, None] * tangent,
    )


def wall(radius: float, length: float, layers: int, sectors: int) -> Panels:
    """Side wall of a cylinder standing on its sole."""
    radial, tangent = _sectors(sectors)
    up = np.array([0.0, 0.0, 1.0])
    height = (np.arange(layers) + 0.5) * length / layers
    return _elements(
        radius * radial + height[:, None, None] * up,
        radial,
        2 * np.pi * radius / sectors * length / layers,
        np.pi * radius / sectors * tangent,
        length / layers / 2 * up,
    )


def ball(radius: float, rings: int, sectors: int) -> Panels:
    """Sphere about the origin: rings of equal height have equal area (Archimedes)."""
    radial, tangent = _sectors(sectors)
    up = np.array([0.0, 0.0, 1.0])
    height = _middles(rings)[:, None, None]
    width = np.sqrt(1 - height**2)
    normal = width * radial + height * up
    return _elements(
        radius * normal,
        normal,
        4 * np.pi * radius**2 / (rings * sectors),
        np.pi * radius / sectors * width * tangent,
        radius / rings * up,
    )


def half_cylinder(radius: float, width: float, rings: int, sectors: int, slices: int) -> list[Panels]:
    """Lower half of a cylinder about the y axis, and its two ends in sectors of rings."""
    angle = (np.arange(sectors) + 0.5) * np.pi / sectors - np.pi / 2
    zero, across = np.zeros(sectors), np.array([0.0, 1.0, 0.0])
    radial = np.stack([np.sin(angle), zero, -np.cos(angle)], axis=-1)
    tangent = np.stack([np.cos(angle), zero, np.sin(angle)], axis=-1)
    half, place = np.pi / sectors / 2, width / 2 * _middles(slices)
    arc = _elements(
        radius * radial + place[:, None, None] * across,
        radial,
        2 * half * radius * width / slices,
        half * radius * tangent,
        width / slices / 2 * across,
    )
    thick = radius / rings
    middle = (np.arange(rings) + 0.5) * thick
    reach = (middle + thick**2 / (12 * middle)) * np.sin(half) / half  # centroids of the sectors, as in `disc`
    ends = [
        _elements(
            reach[:, None, None] * radial + side * width / 2 * across,
            side * across,
            (2 * half * middle * thick)[:, None],
            thick / 2 * radial,
            half * middle[:, None, None] * tangent,
        )
        for side in (1, -1)
    ]
    return [arc, *ends]


def box_faces(sides: tuple[float, float, float], counts: tuple[int, int, int]) -> list[Panels]:
    """Sole and four side faces of a box of these sides (m), cut into so many elements along x, y and z."""
    x, y, z = np.eye(3)
    a, b, h = (side / 2 * axis for side, axis in zip(sides, (x, y, z), strict=True))
    along, across, up = counts
    faces = [_rectangle(h + s * a, s * x, b, h, across, up) for s in (-1, 1)]
    faces += [_rectangle(h + s * b, s * y, a, h, along, up) for s in (-1, 1)]
    return [_rectangle(0 * x, -z, a, b, along, across), *faces]


def _rectangle(centre, normal, first, second, rows: int, columns: int) -> Panels:
    """Rectangle `centre +- first +- second` cut into rows x columns."""
    points = centre + _middles(rows)[:, None, None] * first + _middles(columns)[None, :, None] * second
    area = 4 * np.linalg.norm(first) * np.linalg.norm(second) / (rows * columns)
    return _elements(points, normal, area, first / rows, second / columns)


def _middles(count: int) -> np.ndarray:
    """Middles of `count` equal parts of -1 .. 1."""
    return (np.arange(count) + 0.5) * 2 / count - 1


def _elements(centre, normal, area, first, second) -> Panels:
    """A grid of elements, broadcast and laid out in a row."""
    grid = centre.shape
    edges = np.stack([np.broadcast_to(first, grid), np.broadcast_to(second, grid)], axis=-2)
    return Panels(
        centre.reshape(-1, 3),
        np.broadcast_to(normal, grid).reshape(-1, 3),
        np.broadcast_to(area, grid[:-1]).reshape(-1).astype(float),
        edges.reshape(-1, 2, 3),
    )
