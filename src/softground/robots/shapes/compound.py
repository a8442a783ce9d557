"""Compounds: all that is rigidly joined in a body, as one shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from softground.errors import RobotError
from softground.robots import outline as plane
from softground.robots.shapes.base import Shape, register_shape, shape_from_dict
from softground.robots.shapes.panels import Panels, joined_panels
from softground.robots.shapes.rolling_points import RollingPoints, corners, directions, joined_points

WITHIN = 1e-3
"""Points of a part that are this deep (m) inside another part, or less far outside a foot, never touch the ground."""


_SPECK = Panels(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), np.array([1e-12]), np.zeros((1, 2, 3)))
"""The surface of what has none of its own beside its feet."""


@dataclass(frozen=True)
class Part:
    """A shape at a pose in the frame of the compound."""

    shape: Shape
    position: tuple[float, ...]
    """Origin of the shape's frame, m."""
    rotation: tuple[float, ...]
    """Its axes: the nine entries of a matrix, row by row."""
    is_foot: bool = False
    """Whether it is a foot, whose sole, and whose sides in grains, are another's business."""

    @classmethod
    def at(cls, shape: Shape, position, rotation, is_foot: bool = False) -> Part:
        return cls(shape, tuple(np.asarray(position).tolist()), tuple(np.asarray(rotation).ravel().tolist()), is_foot)

    @property
    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.position), np.array(self.rotation).reshape(3, 3)

    def panels(self, refine: int) -> Panels:
        """Elements of its closed surface, in the frame of the compound."""
        position, rotation = self.pose
        own = self.shape.closed_panels(refine)
        centre, normal = position + own.centre @ rotation.T, own.normal @ rotation.T
        return Panels(centre, normal, own.area, own.edges @ rotation.T)

    def rolling_points(self) -> RollingPoints:
        return self.shape.rolling_points(sole=not self.is_foot).moved(*self.pose)

    def contains(self, points: np.ndarray, margin: float = 0.0) -> np.ndarray:
        """Whether points lie in it, or less than `margin` (m) outside; a negative margin: that deep inside."""
        position, rotation = self.pose
        local = (points - position) @ rotation
        if margin == 0:
            return self.shape.contains(local)
        around = local[:, None] + abs(margin) * np.concatenate([np.eye(3), -np.eye(3)])
        found = self.shape.contains(around.reshape(-1, 3)).reshape(len(points), 6)
        return np.asarray(found.any(1) if margin > 0 else found.all(1))


@register_shape
@dataclass(frozen=True)
class Compound(Shape):
    """Several shapes that are one rigid body; its frame is that of the body."""

    name: ClassVar[str] = "compound"
    has_fine_panels: ClassVar[bool] = True
    serves_robots: ClassVar[bool] = False

    parts: tuple[Part, ...]

    def __post_init__(self):
        if not self.parts:
            raise RobotError("a Compound needs parts, got none")

    def __str__(self) -> str:
        return f"compound of {', '.join(type(part.shape).__name__ for part in self.parts)}"

    @cached_property
    def _hull(self) -> np.ndarray:
        """Outermost points (n, 3) in many directions, m."""
        normal = directions(200)
        lowest = joined_points(*(part.rolling_points() for part in self.parts)).lowest(normal)
        return lowest[np.arange(len(normal)), np.einsum("dpi,di->dp", lowest, normal).argmin(1)]

    @property
    def outline(self):
        return plane.convex_hull(self._hull[:, :2])

    @property
    def extent(self):
        length, width, height = np.ptp(self._hull, axis=0).tolist()
        return length, width, height

    @property
    def is_mirrored(self) -> bool:
        """Not for certain, so no."""
        return False

    def panels(self, refine: int = 1) -> Panels:
        """Elements of the surface, those inside other parts and those of feet left out."""
        own = [part for part in self.parts if not part.is_foot]
        panels = [part.panels(refine) for part in own]
        kept = [
            Panels(*(field[~self._covered(part, lambda other, at=one: _hides(other, at.centre))] for field in one))
            for part, one in zip(own, panels, strict=True)
        ]
        found = joined_panels(*kept) if kept else _SPECK
        return found if len(found.area) else _SPECK

    def closed_panels(self, refine: int = 1) -> Panels:
        return self.panels(refine)

    def contains(self, points):
        return np.any([part.contains(points) for part in self.parts], axis=0)

    def rolling_points(self, sole: bool = True) -> RollingPoints:
        """Points of all parts, those inside other parts left out."""
        return self._points(self.parts)

    def points_with_walls(self) -> RollingPoints:
        points = self.rolling_points()
        if not any(part.is_foot for part in self.parts):
            return points
        panels = self.panels()
        sides = panels.edges[:, 0] + panels.edges[:, 1], panels.edges[:, 0] - panels.edges[:, 1]
        found = np.concatenate([panels.centre + sign * side for side in sides for sign in (1, -1)])
        return joined_points(points, corners(found, np.zeros_like(found)))

    def points_beside_feet(self) -> RollingPoints:
        found = self._points(tuple(part for part in self.parts if not part.is_foot))
        return found if len(found.centre) else corners(np.zeros((1, 3)), np.zeros((1, 3)))

    def _points(self, parts: tuple[Part, ...]) -> RollingPoints:
        """Points of some parts, those inside others of the compound left out."""
        kept = []
        for part in parts:
            points = part.rolling_points()
            kept.append(points.chosen(~self._covered(part, lambda other, at=points: _holds(other, at))))
        return joined_points(*kept) if kept else corners(np.zeros((0, 3)), np.zeros((0, 3)))

    def _covered(self, part: Part, holds: Callable[[Part], np.ndarray]) -> np.ndarray:
        """Which points of a part others hold."""
        found = [holds(other) for other in self.parts if other != part]
        return np.any(found, axis=0) if found else np.zeros(len(holds(part)), bool)

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": self.name,
            "parts": [
                {
                    "shape": part.shape.to_dict(),
                    "position_m": list(part.position),
                    "rotation": list(part.rotation),
                    "is_foot": part.is_foot,
                }
                for part in self.parts
            ],
        }

    @classmethod
    def from_values(cls, values) -> Compound:
        return cls(
            tuple(
                Part.at(shape_from_dict(part["shape"]), part["position_m"], part["rotation"], part["is_foot"])
                for part in values["parts"]
            )
        )


def _hides(part: Part, points: np.ndarray) -> np.ndarray:
    """Which points of a surface are inside a part, or, of a foot, nearly: a foot is often a part of its body too."""
    return part.contains(points, WITHIN if part.is_foot else 0.0)


def _holds(part: Part, points: RollingPoints) -> np.ndarray:
    """Which points are inside a part wherever they roll: deep inside, or, of a foot, nearly."""
    six = points.lowest(np.concatenate([np.eye(3), -np.eye(3)]))  # (6, p, 3)
    found = part.contains(six.reshape(-1, 3), WITHIN if part.is_foot else -WITHIN)
    return np.asarray(found.reshape(six.shape[:2]).all(0))
