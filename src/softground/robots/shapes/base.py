"""Shapes of feet and bodies: what all that meets the ground answers about itself.

A shape is a frozen dataclass of lengths (m) in the frame of the foot: x forwards, y left, z up along the foot, the
origin in the sole. Soles that roll are the exception: their frame sits in the centre of the ball or the middle of the
axis, `clearance` above the sole, so that for every foot the depth in the ground is
`clearance - signed_distance(origin)`.

A shape of your own gives `outline` and `extent`; all other answers follow from these, and are overridden where a
closed form is known. One line enters it under a name for files and commands:

    @register_shape
    @dataclass(frozen=True)
    class Hexagon(Shape):
        name = "hexagon"
        side: float  # m
        height: float  # m

        @property
        def outline(self):
            angle = np.pi / 3 * np.arange(6)
            return self.side * np.c_[np.cos(angle), np.sin(angle)]

        @property
        def extent(self):
            return 2 * self.side, np.sqrt(3) * self.side, self.height

Whoever needs something of a shape asks it, and never tests its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from softground.errors import RobotError, SoftgroundError, unknown_name
from softground.robots import outline as plane
from softground.robots.shapes.panels import Panels
from softground.robots.shapes.rolling_points import RollingPoints
from softground.robots.shapes.triangles import panels_of_prism

AnyShape = TypeVar("AnyShape", bound="type[Shape]")
#: Every shape that files and commands know, by its public name.
SHAPES: dict[str, type[Shape]] = {}


def register_shape(cls: AnyShape) -> AnyShape:
    """Enter a shape into `SHAPES` by its `name`: a decorator. RobotError where the name is missing or taken."""
    taken = SHAPES.get(cls.name, cls)
    if not cls.name or ":" in cls.name or (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
        raise RobotError(f"{cls.__name__} cannot be called {cls.name!r}: the name is taken, empty, or holds a colon")
    SHAPES[cls.name] = cls
    return cls


class Shape:
    """Base class of all shapes of feet: a frozen dataclass of lengths in m, foot frame.

    What is asked of it (`outline`, `extent`, `clearance`, `panels`, ...) is geometry; what the ground makes of it is
    up to the media.
    """

    #: public name, in files and on command lines
    name: ClassVar[str] = ""
    #: whether it rolls on a curved sole: then its `clearance` is the radius, and its twist is taken at its lowest point
    rolls: ClassVar[bool] = False
    #: whether turning it about z changes nothing
    is_round: ClassVar[bool] = False
    #: whether turning it about any axis changes nothing: the ground gives it a force, and no torque about its centre
    is_ball: ClassVar[bool] = False
    #: whether `panels` are fine enough as they come; if not, who sums over them refines until the sum stays
    has_fine_panels: ClassVar[bool] = False
    #: whether a robot may have it as a foot
    serves_robots: ClassVar[bool] = True

    # -- to be given ---------------------------------------------------------------------------------------------

    @property
    def outline(self) -> Float[np.ndarray, "n 2"]:
        """Vertices (x, y) of the shape seen from above, anticlockwise, m; of a circle a polygon inside it."""
        raise NotImplementedError(f"{type(self).__name__} must give an outline")

    @property
    def extent(self) -> tuple[float, float, float]:
        """Sides along x, y and z of the box around it, m."""
        raise NotImplementedError(f"{type(self).__name__} must give its extent")

    # -- what follows --------------------------------------------------------------------------------------------

    @property
    def clearance(self) -> float:
        """Height of the frame's origin above the sole, m: the radius of a sole that rolls, else 0."""
        return 0.0

    @property
    def half_width(self) -> float:
        """Half the lesser horizontal side, m."""
        return min(self.extent[:2]) / 2

    @property
    def farthest(self) -> float:
        """Horizontal distance of the farthest point from the origin, m."""
        return float(np.hypot(*self.outline.T).max())

    @property
    def reach(self) -> float:
        """Distance of the farthest point from the middle of the sole, m."""
        return float(np.hypot(self.farthest, self.extent[2]))

    @property
    def area(self) -> float:
        """Area of the sole, m2."""
        return self.moments()[0]

    @property
    def is_convex(self) -> bool:
        """Whether the outline is."""
        return plane.is_convex(self.outline)

    @property
    def is_mirrored(self) -> bool:
        """Whether it is its own mirror image in the x-z and in the y-z plane."""
        return plane.is_mirrored(self.outline)

    def moments(self) -> tuple[float, Float[np.ndarray, "2"], Float[np.ndarray, "2 2"]]:
        """Integrals of 1, p and p p' over the sole, p = (x, y): m2, m3, m4."""
        return plane.moments(self.outline)

    def quadrature(self) -> tuple[Float[np.ndarray, "p 2"], Float[np.ndarray, " p"]]:
        """Points (m) that reach the edge of the sole, and areas (m2) that integrate cubic polynomials over it."""
        return plane.quadrature(self.outline)

    def half_planes(self) -> tuple[Float[np.ndarray, "e 2"], Float[np.ndarray, " e"]]:
        """normals @ c <= distances (m) for every point c from which the ground can push: the hull of the sole.

        Of a sole that rolls it is the line or point below the axis or centre.
        """
        return plane.half_planes(self.outline)

    def nearest(self, points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """The points of the sole that are nearest to points (x, y) in its plane, m."""
        return plane.nearest(self.outline, points)

    def panels(self, refine: int = 1) -> Panels:
        """Elements of the sole and the sides; `refine` multiplies their number along each edge.

        The top of what ends in a flat face belongs to the leg above it and is left out.
        """
        return panels_of_prism(self.outline, self.extent[2], refine)

    def closed_panels(self, refine: int = 1) -> Panels:
        """Elements of the whole surface, the top too: those of a part of a body."""
        raise NotImplementedError(f"{type(self).__name__} is no part of a body: it must give closed_panels")

    def contains(self, points: Float[np.ndarray, "n 3"]) -> Bool[np.ndarray, " n"]:
        """Which points (m) lie inside it, of a part of a body."""
        raise NotImplementedError(f"{type(self).__name__} is no part of a body: it must say what it contains")

    def rolling_points(self, sole: bool = True) -> RollingPoints:
        """Points on which it can stand, as a part of a body; sole: whether also on its sole."""
        raise NotImplementedError(f"{type(self).__name__} is no part of a body: it must give rolling_points")

    def points_beside_feet(self) -> RollingPoints:
        """Points on which it can stand, those of feet that are parts of it left out."""
        return self.rolling_points()

    def points_with_walls(self) -> RollingPoints:
        """Points that can be its lowest, those of walls that end at feet too: where it stands on none of them, its
        surface may be in the ground."""
        return self.rolling_points()

    @property
    def is_solid(self) -> bool:
        """Whether it can be a part of a body."""
        return type(self).rolling_points is not Shape.rolling_points

    # -- files ---------------------------------------------------------------------------------------------------

    @classmethod
    def size_names(cls) -> tuple[str, ...]:
        """Names of the lengths that define it, in order; none where numbers alone do not (a polygon, a mesh)."""
        own = fields(cls)  # pyright: ignore[reportArgumentType] - every shape is a dataclass, their base is not
        return tuple(field.name for field in own) if all(field.type in (float, "float") for field in own) else ()

    def sizes(self) -> tuple[float, ...]:
        """The lengths of `size_names`, m."""
        return tuple(getattr(self, name) for name in self.size_names())

    def to_dict(self) -> dict[str, Any]:
        """The shape as JSON values: its public name under "type", and its lengths in m."""
        own = fields(self)  # pyright: ignore[reportArgumentType]
        return {"type": self.name, **{f"{field.name}_m": _plain(getattr(self, field.name)) for field in own}}

    def identity(self) -> dict[str, Any]:
        """JSON values that tell it from other shapes: as `to_dict`, or in short where that is long."""
        return self.to_dict()

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Shape:
        """The shape of what `to_dict` gives beside the type; numbers may be text."""
        given = {name.removesuffix("_m"): value for name, value in values.items()}
        return cls(**{name: value if isinstance(value, list) else float(value) for name, value in given.items()})


def shape_from_dict(document: Mapping[str, Any]) -> Shape:
    """The shape of `Shape.to_dict`; RobotError for a type that is not registered, TypeError for wrong sizes."""
    name = document["type"]
    if name not in SHAPES:
        remedy = "a shape of your own must be registered first (softground.robots.register_shape)"
        raise RobotError(f"{unknown_name('foot', name, SHAPES)}; {remedy}")
    return SHAPES[name].from_values({key: value for key, value in document.items() if key != "type"})


def checked_shape(value: Any, error: type[SoftgroundError] = RobotError, what: str = "foot shape") -> Shape:
    """The value, if it is a shape that a robot may have; an error that names those that are if not."""
    if isinstance(value, Shape) and value.serves_robots:
        return value
    *first, last = sorted(cls.__name__ for cls in SHAPES.values() if cls.serves_robots)
    raise error(f"{what} must be {', '.join(first)} or {last}, got {value!r}")


def _plain(value: Any) -> Any:
    """Tuples as lists."""
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
