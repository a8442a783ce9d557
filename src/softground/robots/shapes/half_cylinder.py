"""Curved soles that roll forwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softground.robots import outline as plane
from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels, half_cylinder, joined_panels


@register_shape
@dataclass(frozen=True)
class HalfCylinder(Shape):
    """Curved sole: the lower half of a cylinder that lies along y, on which the foot rolls forwards (m).

    `HalfCylinder(radius=0.04, width=0.08)`.
    """

    name: ClassVar[str] = "half-cylinder"
    rolls: ClassVar[bool] = True
    has_fine_panels: ClassVar[bool] = True

    radius: float
    width: float

    @property
    def outline(self):
        return plane.rectangle(2 * self.radius, self.width)

    @property
    def extent(self):
        return 2 * self.radius, self.width, self.radius

    @property
    def clearance(self):
        return self.radius

    def moments(self):
        """Those of the line on which it stands, which carries radius times width."""
        area = self.radius * self.width
        return area, np.zeros(2), area * np.diag([0.0, self.width**2]) / 12

    def quadrature(self):
        """Ends and middle of the line on which it stands: Simpson's rule."""
        place = self.width / 2 * np.array([-1.0, 0.0, 1.0])
        return np.c_[np.zeros(3), place], self.area * np.array([1, 4, 1]) / 6

    def half_planes(self):
        return plane.rectangle_half_planes(0.0, self.width)

    def panels(self, refine: int = 1) -> Panels:
        return joined_panels(*half_cylinder(self.radius, self.width, 8 * refine, 32 * refine, 8 * refine))
