"""Convex polyhedra, the hulls of meshes: parts of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from softground.errors import RobotError
from softground.robots import outline as plane
from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels
from softground.robots.shapes.rolling_points import corners, directions
from softground.robots.shapes.triangles import ELEMENTS_ALONG, cut, joined

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

DIRECTIONS = 400
"""Directions in which the vertices of a hull are kept: 6 degrees apart, so that a ball of radius r loses 0.2 % of r."""


@register_shape
@dataclass(frozen=True)
class ConvexMesh(Shape):
    """Convex hull of points (m), in any frame: `ConvexMesh(((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)))`.

    A part of a body.
    """

    name: ClassVar[str] = "convex-mesh"
    serves_robots: ClassVar[bool] = False

    vertices: tuple[tuple[float, float, float], ...]

    def __post_init__(self):
        points = np.asarray(self.vertices, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise RobotError(f"vertices of a ConvexMesh must be finite points (n, 3) in m, got shape {points.shape}")
        object.__setattr__(self, "vertices", tuple(map(tuple, points.tolist())))
        from scipy.spatial import QhullError

        try:
            self.hull  # noqa: B018 - computed once, and checked
        except QhullError as error:
            raise RobotError("the vertices of a ConvexMesh lie in a plane: give it some thickness") from error

    @classmethod
    def around(cls, points: np.ndarray) -> ConvexMesh:
        """The hull of many points, of which those are kept that are outermost in one of many directions."""
        outermost = np.unique((points @ directions(DIRECTIONS).T).argmax(0))
        return cls(tuple(map(tuple, points[outermost].tolist())))

    @cached_property
    def hull(self) -> ConvexHull:
        """Faces of the hull."""
        from scipy.spatial import ConvexHull  # takes a while, and few robots have meshes that meet the ground

        return ConvexHull(np.asarray(self.vertices))

    @cached_property
    def triangles(self) -> np.ndarray:
        """Corners (f, 3, 3) of its faces, anticlockwise seen from outside, m."""
        found = self.hull.points[self.hull.simplices]
        normal = np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0])
        inwards = (normal * self.hull.equations[:, :3]).sum(1) < 0
        return np.where(inwards[:, None, None], found[:, ::-1], found)

    @property
    def outline(self):
        return plane.convex_hull(np.asarray(self.vertices)[:, :2])

    @property
    def extent(self):
        length, width, height = np.ptp(np.asarray(self.vertices), axis=0).tolist()
        return length, width, height

    @property
    def is_mirrored(self) -> bool:
        """Not for certain, so no."""
        return False

    def panels(self, refine: int = 1) -> Panels:
        size = max(self.extent) / (ELEMENTS_ALONG // 2 * refine)
        return joined(cut(self.triangles, size), size)

    def closed_panels(self, refine: int = 1) -> Panels:
        return self.panels(refine)

    def contains(self, points):
        faces = self.hull.equations
        return (points @ faces[:, :3].T + faces[:, 3] <= 0).all(1)

    def rolling_points(self, sole: bool = True):
        faces = self.triangles
        share = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]) / 6  # a third of the vector area
        areas = np.zeros((len(self.vertices), 3))
        np.add.at(areas, self.hull.simplices, share[:, None])
        return corners(self.hull.points[self.hull.vertices], areas[self.hull.vertices])

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.name, "vertices_m": [list(vertex) for vertex in self.vertices]}
