"""Flat soles with any outline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from softground.robots.outline import checked_outline
from softground.robots.shapes.base import Shape, register_shape


@register_shape
@dataclass(frozen=True, init=False)
class Polygon(Shape):
    """Flat sole with any outline that does not cross itself: its vertices (x, y) in order round it, and height (m).

    `Polygon([(0.1, 0.0), (-0.1, 0.06), (-0.1, -0.06)])`. The origin of the foot frame need not be the centroid.
    Vertices are kept anticlockwise.
    """

    name: ClassVar[str] = "polygon"

    vertices: tuple[tuple[float, float], ...]
    height: float

    def __init__(self, vertices: ArrayLike, height: float = 0.02):
        outline = checked_outline(vertices)
        object.__setattr__(self, "vertices", tuple((float(x), float(y)) for x, y in outline))
        object.__setattr__(self, "height", height)

    @property
    def outline(self):
        return np.array(self.vertices)

    @property
    def length(self) -> float:
        """Extent along x, m."""
        return float(np.ptp(self.outline[:, 0]))

    @property
    def width(self) -> float:
        """Extent along y, m."""
        return float(np.ptp(self.outline[:, 1]))

    @property
    def extent(self):
        return self.length, self.width, self.height
