"""Upright cylinders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softground.robots import outline as plane
from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels, disc, joined_panels, wall, with_lid
from softground.robots.shapes.rolling_points import RollingPoints, corners, joined_points

PRESSURE_SIDES, RIM_POINTS = 8, 8
"""Sides of the polygon inside the sole in which pushes have their centre; points on the rim of the quadrature."""
BODY_RIM_POINTS = 6
"""Points on each rim of a body that stands."""


@register_shape
@dataclass(frozen=True)
class Cylinder(Shape):
    """Upright cylinder: radius of the sole and length of the shank above it (m), `Cylinder(0.05, 0.15)`."""

    name: ClassVar[str] = "cylinder"
    is_round: ClassVar[bool] = True
    has_fine_panels: ClassVar[bool] = True

    radius: float
    length: float

    @property
    def outline(self):
        return plane.circle(self.radius)

    @property
    def extent(self):
        return 2 * self.radius, 2 * self.radius, self.length

    @property
    def farthest(self):
        return self.radius

    def moments(self):
        area = np.pi * self.radius**2
        return area, np.zeros(2), area * np.eye(2) * self.radius**2 / 4

    def quadrature(self):
        """Centre and rim of the disc with half the area each: a second moment of r2/4 about any diameter."""
        angles = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
        points = self.radius * np.c_[np.cos(angles), np.sin(angles)]
        shares = np.r_[0.5, np.full(RIM_POINTS, 0.5 / RIM_POINTS)]
        return np.r_[np.zeros((1, 2)), points], self.area * shares

    def half_planes(self):
        angle = 2 * np.pi * np.arange(PRESSURE_SIDES) / PRESSURE_SIDES
        inside = self.radius * np.cos(np.pi / PRESSURE_SIDES)
        return np.c_[np.cos(angle), np.sin(angle)], np.full(PRESSURE_SIDES, inside)

    def nearest(self, points):
        return plane.nearest_in_circle(self.radius, points)

    def panels(self, refine: int = 1) -> Panels:
        sole = disc(self.radius, 8 * refine, 32 * refine)
        return joined_panels(sole, wall(self.radius, self.length, 20 * refine, 24 * refine))

    def closed_panels(self, refine: int = 1) -> Panels:
        return with_lid(self.panels(refine), self.length)

    def contains(self, points):
        return (np.hypot(points[:, 0], points[:, 1]) <= self.radius) & (
            np.abs(points[:, 2] - self.length / 2) <= self.length / 2
        )

    def rolling_points(self, sole: bool = True):
        """Where its two rims are lowest, for one that lies, and points on them for one that stands."""
        ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, self.length]])
        disc = np.diag([self.radius**2, self.radius**2, 0.0])
        standing = np.array([[0.0, 0.0, 0.0 if sole else self.length * self.radius], [0.0, 0.0, 0.0]])
        rims = RollingPoints(ends, np.stack([disc, disc]), np.full(2, self.length), standing)
        angle = 2 * np.pi * np.arange(BODY_RIM_POINTS) / BODY_RIM_POINTS
        circle = self.radius * np.c_[np.cos(angle), np.sin(angle), np.zeros(BODY_RIM_POINTS)]
        share = np.array([0, 0, self.area / BODY_RIM_POINTS])
        lids = [
            corners(circle + end, np.tile(sign * share, (BODY_RIM_POINTS, 1)))
            for end, sign in zip(ends, (-1, 1), strict=True)
        ]
        return joined_points(rims, *(lids if sole else lids[1:]))
