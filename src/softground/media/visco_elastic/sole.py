"""The sole of a foot as a few points that carry its area.

The wrench of springs and dampers under a flat sole is the integral of a polynomial of second degree in the position
on the sole (`lemma`). Points with areas that have the sole's area, first and second moments therefore give *the same*
wrench as the whole sole, exactly, and can each lift off and slip on their own.

*Four points* do for any outline: with centroid c and L L' the second moment per area about it, they stand at
c + L (+-1, +-1) with a quarter of the area each. For a rectangle these are its Gauss points. They lie in every convex
outline: scaled by the inverse of L, a convex figure holds the disc of radius sqrt 2 about its centroid (Kannan, Lovasz
and Simonovits 1995), and the points are on its rim.

They do not reach the edge, though. As soon as the centre of pressure of a rectangle passes 1/sqrt 3 of the way to its
edge (58 %), the two points behind it have lifted off, and the foot pivots freely on the two in front. Points *to the
edge* (`to_edge`: Simpson's rule on a rectangle, 9 points) carry it all the way, for more work in each step.
"""

from __future__ import annotations

import equinox as eqx
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.robots import outline
from softground.robots.feet import Box, Cylinder, HalfCylinder, Polygon, Shape, Sphere

RIM_POINTS = 8


class Patch(eqx.Module):
    """The part of a foot that touches: points that stand for its area."""

    points: Float[Array, "p 3"]  # m, in the foot frame; a sole lies in the plane z = 0
    areas: Float[Array, " p"]  # m2, that each point stands for
    radius: Float[Array, ""]  # m; of a ball or half-cylinder
    rolls: bool = eqx.field(static=True)  # a ball or half-cylinder: points of contact stay below its centre or axis

    @property
    def area(self) -> Float[Array, ""]:
        """Area of the sole, m2."""
        return self.areas.sum()

    @property
    def first_moment(self) -> Float[Array, "3"]:
        """Integral of the position on the sole, m3, foot frame, about the origin of the foot frame."""
        return self.areas @ self.points

    @property
    def second_moment(self) -> Float[Array, "3 3"]:
        """Integral of position times its transpose, m4, foot frame, about the origin of the foot frame."""
        return (self.areas[:, None] * self.points).T @ self.points

    def with_points(self, count: int) -> Patch:
        """The same sole on at least as many points: some stand twice and share their area."""
        index = np.arange(max(count, len(self.points))) % len(self.points)
        shares = np.bincount(index)[index]
        return Patch(self.points[index], self.areas[index] / shares, self.radius, self.rolls)


def patch(shape: Shape, to_edge: bool = False) -> Patch:
    """Points with the area, the first and the second moments of the shape's sole.

    to_edge: whether the points reach the edge of the sole. Those of an outline that is not convex always do, because
    four might lie outside it.
    """
    match shape:
        case Box(length, width):
            if to_edge:
                return _flat(*_simpson(length, width))
            return _flat(*_four(length * width, np.zeros(2), np.diag([length**2, width**2]) / 12))
        case Cylinder(radius):
            if to_edge:
                return _flat(*_rim(radius))
            return _flat(*_four(np.pi * radius**2, np.zeros(2), np.eye(2) * radius**2 / 4))
        case Polygon():
            if to_edge or not outline.is_convex(shape.outline):
                return _flat(*_triangulated(shape.outline))
            area, first, second = outline.moments(shape.outline)
            centre = first / area
            return _flat(*_four(area, centre, second / area - np.outer(centre, centre)))
        case Sphere(radius):
            return Patch(np.zeros((4, 3)), np.full(4, np.pi * radius**2 / 4), np.asarray(radius), rolls=True)
        case HalfCylinder(radius, width):
            return _line(radius, width, to_edge)
        case _:
            raise MediumError(f"foot shape must be Box, Cylinder, HalfCylinder, Polygon or Sphere, got {shape!r}")


def _flat(points: np.ndarray, areas: np.ndarray) -> Patch:
    return Patch(np.c_[points, np.zeros(len(points))], areas, np.zeros(()), rolls=False)


def _line(radius: float, width: float, to_edge: bool) -> Patch:
    """The line on which a half-cylinder rolls: two points with its second moment, or three by Simpson's rule."""
    shares = np.array([1, 4, 1]) / 6 if to_edge else np.array([1, 1]) / 2
    place = np.linspace(-1, 1, len(shares)) * (width / 2 if to_edge else width / np.sqrt(12))
    points = np.c_[np.zeros_like(place), place, np.zeros_like(place)]
    return Patch(points, radius * width * shares, np.asarray(radius), rolls=True)


def _four(area: float, centre: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Four points by area, centroid and second moment per area about it."""
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    return centre + signs @ np.linalg.cholesky(spread).T, np.full(4, area / 4)


def _simpson(length: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Corners, middles of the sides and centre of a rectangle: exact to the third degree."""
    nodes, weights = np.array([-0.5, 0.0, 0.5]), np.array([1, 4, 1]) / 6
    points = np.stack(np.meshgrid(length * nodes, width * nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, length * width * np.outer(weights, weights).ravel()


def _rim(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Centre and rim of a disc with half the area each: a second moment of r2/4 about any diameter."""
    angles = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
    points = radius * np.c_[np.cos(angles), np.sin(angles)]
    shares = np.r_[0.5, np.full(RIM_POINTS, 0.5 / RIM_POINTS)]
    return np.r_[np.zeros((1, 2)), points], np.pi * radius**2 * shares


def _triangulated(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices, middles of the sides and centroids of triangles that fill a polygon: exact to the third degree."""
    a, b, c = np.moveaxis(outline.triangles(vertices), 1, 0)
    size = ((b - a)[:, 0] * (c - b)[:, 1] - (b - a)[:, 1] * (c - b)[:, 0]) / 2
    points = np.concatenate([a, b, c, (a + b) / 2, (b + c) / 2, (c + a) / 2, (a + b + c) / 3])
    areas = np.outer(np.r_[np.full(3, 1 / 20), np.full(3, 2 / 15), 9 / 20], size).ravel()
    # Triangles share vertices and sides: (a + b) / 2 is (b + a) / 2 to the last bit.
    points, index = np.unique(points, axis=0, return_inverse=True)
    return points, np.bincount(index.ravel(), areas)
