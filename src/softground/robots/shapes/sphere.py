"""Balls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softground.robots import outline as plane
from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels, ball
from softground.robots.shapes.rolling_points import balls


@register_shape
@dataclass(frozen=True)
class Sphere(Shape):
    """Ball of this radius (m): `Sphere(0.03)`."""

    name: ClassVar[str] = "sphere"
    rolls: ClassVar[bool] = True
    is_round: ClassVar[bool] = True
    is_ball: ClassVar[bool] = True
    has_fine_panels: ClassVar[bool] = True

    radius: float

    @property
    def outline(self):
        return plane.circle(self.radius)

    @property
    def extent(self):
        return 2 * self.radius, 2 * self.radius, 2 * self.radius

    @property
    def clearance(self):
        return self.radius

    @property
    def farthest(self):
        return self.radius

    @property
    def reach(self):
        return 2 * self.radius

    def moments(self):
        """Those of a point that carries the area of a great circle: what it stands on has no extent."""
        return np.pi * self.radius**2, np.zeros(2), np.zeros((2, 2))

    def quadrature(self):
        """Four times the point on which it stands, as flat soles have four points at least."""
        return np.zeros((4, 2)), np.full(4, self.area / 4)

    def half_planes(self):
        return plane.rectangle_half_planes(0.0, 0.0)

    def nearest(self, points):
        return plane.nearest_in_circle(self.radius, points)

    def panels(self, refine: int = 1) -> Panels:
        return ball(self.radius, 40 * refine, 40 * refine)

    def closed_panels(self, refine: int = 1) -> Panels:
        return self.panels(refine)

    def contains(self, points):
        return np.linalg.norm(points, axis=1) <= self.radius

    def rolling_points(self, sole: bool = True):
        """The ball itself, all of which is sole."""
        whole = balls(np.zeros((1, 3)), self.radius, [np.pi * self.radius])
        return whole if sole else whole.chosen(np.zeros(1, bool))
