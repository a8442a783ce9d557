"""Points on which a body can stand: where ground of springs takes hold of it.

A point stands for a piece of the surface, and *rolls* on it: it sits where that piece is lowest. The piece is an
ellipsoid about `centre` c with the matrix Q (a ball of radius r: Q = r^2 1; a disc: Q = r^2 (1 - a a'), a its axis; a
corner: Q = 0), whose lowest point under an upward normal n is

    c - Q n / s,      s = sqrt(n' Q n).

So a ball, a capsule, the rim of a cylinder that lies and an ellipsoid touch where geometry says, with one to three
points each, and polyhedra with their corners. The horizontal area that a point stands for is

    max(0, width s - V.n),

V being the *vector area* of the faces around a corner (area times outward normal, shared among the corners of a face):
what looks up carries nothing, and of a face that lies flat the corners have its area between them.

Of a foot the sole is left out, and its edge counts when the foot lies, not while it stands: V of its edge looks up as
much as aside, so that its area begins at a tilt of 45 degrees, and is that of the side at 90.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from softground.robots.shapes.base import Shape


NO_GAP = 1e-9
"""m: no deeper than this is as deep."""


class RollingPoints(NamedTuple):
    """Points on which a body can stand, in its frame."""

    centre: Float[np.ndarray, "p 3"]  # m
    roundness: Float[np.ndarray, "p 3 3"]  # Q, m2
    width: Float[np.ndarray, " p"]  # m
    vector_area: Float[np.ndarray, "p 3"]  # V, m2

    def moved(self, position: np.ndarray, rotation: np.ndarray) -> RollingPoints:
        """The same in the frame in which theirs has this pose."""
        turned = rotation @ self.roundness @ rotation.T
        return RollingPoints(position + self.centre @ rotation.T, turned, self.width, self.vector_area @ rotation.T)

    def chosen(self, which: np.ndarray) -> RollingPoints:
        """Some of them."""
        return RollingPoints(*(field[which] for field in self))

    def lowest(self, normal: Float[np.ndarray, "d 3"]) -> Float[np.ndarray, "d p 3"]:
        """Where each is lowest, under upward normals."""
        down = np.einsum("pij,dj->dpi", self.roundness, normal)
        size = np.sqrt(np.einsum("dpi,di->dp", down, normal))
        return self.centre - down / np.maximum(size, 1e-12)[..., None]

    def fewer(self, most: int) -> RollingPoints:
        """At most so many: one by one that on which the body stands in the direction in which those before would let it
        sink deepest. What the others carry goes to the nearest of those that stay, and all are thicker by what would
        otherwise be left out (`overhang`), so that nothing of the body goes deeper than it is felt.
        """
        if len(self.centre) <= most:
            return self
        standing, gap = self._standing(most)
        kept = np.unique(standing)
        away = np.linalg.norm(self.centre[:, None] - self.centre[kept], axis=-1)
        alike = self.vector_area @ self.vector_area[kept].T >= 0  # what looks up takes nothing from what looks down
        nearest = np.where(alike, away, away + 1e3).argmin(1)
        nearest[kept] = np.arange(len(kept))
        width, area = np.zeros(len(kept)), np.zeros((len(kept), 3))
        gives = (self.roundness[kept[nearest]] > 0).any((1, 2))  # a width counts on what is round only
        np.add.at(width, nearest, np.where(gives, self.width, 0.0))
        np.add.at(area, nearest, self.vector_area)
        return RollingPoints(self.centre[kept], _thicker(self.roundness[kept], gap), width, area)

    def overhang(self, most: int) -> float:
        """How far `fewer` reach beyond the body, at most, m."""
        return 0.0 if len(self.centre) <= most else self._standing(most)[1]

    def deciding(self, most: int) -> tuple[RollingPoints, float]:
        """Those that say how deep the body is, at most so many, and how much deeper it may be than they say, m.

        A cylinder is as deep as the deeper of its rims, whatever else stands on them.
        """
        kept, gap = self._standing(most)
        return self.chosen(np.unique(kept)), gap

    def _standing(self, most: int) -> tuple[list[int], float]:
        """Numbers of the points on which it stands, those that matter most first, and the greatest gap that they
        leave, m."""
        normal = directions(2000)
        heights = np.einsum("dpi,di->dp", self.lowest(normal), normal)
        lowest, chosen = heights.min(1), [int(heights[0].argmin())]
        while True:
            gap = heights[:, chosen].min(1) - lowest
            if gap.max() <= NO_GAP or len(chosen) == most:
                return chosen, float(gap.max())
            chosen.append(int(heights[gap.argmax()].argmin()))

    def padded(self, count: int) -> RollingPoints:
        """With points that carry nothing, so that there are `count`."""
        more = count - len(self.centre)
        return RollingPoints(
            np.concatenate([self.centre, np.repeat(self.centre[:1], more, axis=0)]),
            np.concatenate([self.roundness, np.zeros((more, 3, 3))]),
            np.concatenate([self.width, np.zeros(more)]),
            np.concatenate([self.vector_area, np.zeros((more, 3))]),
        )


def _thicker(roundness: Float[np.ndarray, "p 3 3"], by: float) -> Float[np.ndarray, "p 3 3"]:
    """Matrices of ellipsoids around those given that reach further by this (m): a ball more, and of balls a larger one.

    For any t > 0 the ellipsoid of (1 + t) Q + (1 + 1/t) by^2 holds the sum of both.
    """
    size = np.sqrt(np.linalg.eigvalsh(roundness)[:, -1])
    share = by / np.where(size > 0, size, np.inf)
    ball = np.where(size > 0, by * (by + size), by**2)
    return (1 + share)[:, None, None] * roundness + ball[:, None, None] * np.eye(3)


@cache
def overhang(shape: Shape, most: int, feet: bool = True) -> float:
    """How far the `outermost_points` reach beyond the shape, at most, m."""
    return (shape.rolling_points() if feet else shape.points_beside_feet()).overhang(most)


@cache
def outermost_points(shape: Shape, most: int, feet: bool = True) -> RollingPoints:
    """At most so many points on which a shape can stand, or, of a body, beside its feet; see `RollingPoints.fewer`."""
    return (shape.rolling_points() if feet else shape.points_beside_feet()).fewer(most)


def joined_points(*parts: RollingPoints) -> RollingPoints:
    """All points of several parts."""
    return RollingPoints(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def balls(centres, radius: float, widths) -> RollingPoints:
    """Balls of one radius (m)."""
    centres = np.atleast_2d(np.asarray(centres, dtype=float))
    count = len(centres)
    return RollingPoints(
        centres, np.tile(radius**2 * np.eye(3), (count, 1, 1)), np.asarray(widths), np.zeros((count, 3))
    )


def corners(points, vector_areas) -> RollingPoints:
    """Corners of a polyhedron (m) with their vector areas (m2)."""
    points = np.asarray(points, dtype=float)
    return RollingPoints(points, np.zeros((len(points), 3, 3)), np.zeros(len(points)), np.asarray(vector_areas))


def directions(count: int) -> Float[np.ndarray, "count 3"]:
    """Unit vectors spread evenly over the sphere (a Fibonacci lattice)."""
    i = np.arange(count) + 0.5
    z, angle = 1 - 2 * i / count, np.pi * (1 + 5**0.5) * i
    r = np.sqrt(1 - z * z)
    return np.c_[r * np.cos(angle), r * np.sin(angle), z]
