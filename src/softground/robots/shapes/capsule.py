"""Capsules: cylinders with round ends, parts of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softground.robots import outline as plane
from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels, ball, joined_panels, wall
from softground.robots.shapes.rolling_points import balls


@register_shape
@dataclass(frozen=True)
class Capsule(Shape):
    """Cylinder along z with round ends: radius, and length between their centres (m), origin in its middle.

    `Capsule(0.04, 0.3)`. A part of a body; the foot at the end of one is a `Sphere`.
    """

    name: ClassVar[str] = "capsule"
    is_round: ClassVar[bool] = True
    has_fine_panels: ClassVar[bool] = True
    serves_robots: ClassVar[bool] = False

    radius: float
    length: float

    @property
    def outline(self):
        return plane.circle(self.radius)

    @property
    def extent(self):
        return 2 * self.radius, 2 * self.radius, self.length + 2 * self.radius

    def panels(self, refine: int = 1) -> Panels:
        whole, half = ball(self.radius, 20 * refine, 20 * refine), np.array([0.0, 0.0, self.length / 2])
        caps = [
            Panels(*(field[sign * whole.centre[:, 2] > 0] for field in whole))._replace(
                centre=whole.centre[sign * whole.centre[:, 2] > 0] + sign * half
            )
            for sign in (-1, 1)
        ]
        side = wall(self.radius, self.length, 20 * refine, 20 * refine)
        return joined_panels(*caps, side._replace(centre=side.centre - half))

    def closed_panels(self, refine: int = 1) -> Panels:
        return self.panels(refine)

    def contains(self, points):
        along = np.clip(points[:, 2], -self.length / 2, self.length / 2)
        return np.hypot(np.hypot(points[:, 0], points[:, 1]), points[:, 2] - along) <= self.radius

    def rolling_points(self, sole: bool = True):
        """Balls at its ends and its middle: Simpson's rule for one that lies."""
        z = np.array([-0.5, 0.0, 0.5]) * self.length
        ends, side = np.pi * self.radius / 2, 2 * self.length
        return balls(np.c_[np.zeros((3, 2)), z], self.radius, [ends + side / 6, side * 4 / 6, ends + side / 6])
