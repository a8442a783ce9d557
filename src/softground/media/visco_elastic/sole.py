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
from softground.robots.shapes import Shape, checked_shape


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
    checked_shape(shape, MediumError)
    if to_edge or shape.is_ball or not shape.is_convex:
        points, areas = shape.quadrature()
    else:
        area, first, second = shape.moments()
        centre = first / area
        points, areas = (_two if shape.rolls else _four)(area, centre, second / area - np.outer(centre, centre))
    return Patch(np.c_[points, np.zeros(len(points))], areas, np.asarray(shape.clearance), shape.rolls)


def _two(area: float, centre: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two points on the line along y on which a sole rolls, by area, centroid and second moment per area about it."""
    return centre + np.sqrt(spread[1, 1]) * np.array([[0.0, -1.0], [0.0, 1.0]]), np.full(2, area / 2)


def _four(area: float, centre: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Four points by area, centroid and second moment per area about it."""
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    return centre + signs @ np.linalg.cholesky(spread).T, np.full(4, area / 4)
