"""Ellipsoids: parts of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels, ball
from softground.robots.shapes.rolling_points import RollingPoints


@register_shape
@dataclass(frozen=True)
class Ellipsoid(Shape):
    """Ellipsoid with half axes along x, y and z (m), origin in its centre: `Ellipsoid(0.1, 0.05, 0.03)`.

    A part of a body.
    """

    name: ClassVar[str] = "ellipsoid"
    has_fine_panels: ClassVar[bool] = True
    serves_robots: ClassVar[bool] = False

    x: float
    y: float
    z: float

    @property
    def axes(self) -> np.ndarray:
        """Half axes, m."""
        return np.array([self.x, self.y, self.z])

    @property
    def outline(self):
        angle = 2 * np.pi * np.arange(64) / 64
        return np.c_[self.x * np.cos(angle), self.y * np.sin(angle)]

    @property
    def extent(self):
        return 2 * self.x, 2 * self.y, 2 * self.z

    def panels(self, refine: int = 1) -> Panels:
        """Panels of a ball, stretched: vector areas go with the cofactors of the stretch."""
        unit, axes = ball(1.0, 30 * refine, 30 * refine), self.axes
        vector = unit.area[:, None] * unit.normal * axes.prod() / axes
        area = np.linalg.norm(vector, axis=1)
        return Panels(unit.centre * axes, vector / area[:, None], area, unit.edges * axes)

    def closed_panels(self, refine: int = 1) -> Panels:
        return self.panels(refine)

    def contains(self, points):
        return ((points / self.axes) ** 2).sum(-1) <= 1

    def rolling_points(self, sole: bool = True):
        width = np.pi * self.axes.prod() ** (1 / 3)
        return RollingPoints(np.zeros((1, 3)), np.diag(self.axes**2)[None], np.array([width]), np.zeros((1, 3)))
