"""Boxes: flat soles that are rectangles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softground.robots import outline as plane
from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels, box_faces, joined_panels, with_lid
from softground.robots.shapes.rolling_points import corners


@register_shape
@dataclass(frozen=True)
class Box(Shape):
    """Flat sole: length along x, width along y, height along z (m), `Box(0.2, 0.1, 0.02)`."""

    name: ClassVar[str] = "box"
    has_fine_panels: ClassVar[bool] = True

    length: float
    width: float
    height: float

    @property
    def outline(self):
        return plane.rectangle(self.length, self.width)

    @property
    def extent(self):
        return self.length, self.width, self.height

    def moments(self):
        area = self.length * self.width
        return area, np.zeros(2), area * np.diag([self.length**2, self.width**2]) / 12

    def quadrature(self):
        """Corners, middles of the sides and centre: Simpson's rule both ways."""
        nodes, weights = np.array([-0.5, 0.0, 0.5]), np.array([1, 4, 1]) / 6
        points = np.stack(np.meshgrid(self.length * nodes, self.width * nodes, indexing="ij"), axis=-1).reshape(-1, 2)
        return points, self.area * np.outer(weights, weights).ravel()

    def half_planes(self):
        return plane.rectangle_half_planes(self.length, self.width)

    def nearest(self, points):
        half = np.array([self.length, self.width]) / 2
        return np.clip(points, -half, half)

    def panels(self, refine: int = 1) -> Panels:
        return joined_panels(*box_faces(self.extent, (24 * refine, 8 * refine, 12 * refine)))

    def closed_panels(self, refine: int = 1) -> Panels:
        return with_lid(self.panels(refine), self.height)

    def contains(self, points):
        return (np.abs(points - [0, 0, self.height / 2]) <= np.array(self.extent) / 2).all(1)

    def rolling_points(self, sole: bool = True):
        """Its eight corners, each with a quarter of its three faces."""
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
        x, y, z = self.extent
        areas = signs * np.array([y * z, x * z, x * y]) / 4
        if not sole:
            below = signs[:, 2] < 0
            areas[below, 2] = np.hypot(*areas[below, :2].T)
        return corners(signs * np.array(self.extent) / 2 + [0, 0, z / 2], areas)
