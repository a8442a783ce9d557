"""Shapes of feet and of bodies: one file each, behind one interface (`base`). A new shape is a file and a line here."""

from softground.robots.shapes.base import SHAPES, Shape, checked_shape, register_shape, shape_from_dict
from softground.robots.shapes.box import Box
from softground.robots.shapes.capsule import Capsule
from softground.robots.shapes.compound import Compound, Part
from softground.robots.shapes.convex_mesh import ConvexMesh
from softground.robots.shapes.cylinder import Cylinder
from softground.robots.shapes.ellipsoid import Ellipsoid
from softground.robots.shapes.half_cylinder import HalfCylinder
from softground.robots.shapes.mesh import MeshFoot
from softground.robots.shapes.panels import Panels
from softground.robots.shapes.polygon import Polygon
from softground.robots.shapes.rolling_points import RollingPoints, outermost_points, overhang
from softground.robots.shapes.sphere import Sphere

__all__ = [
    "SHAPES",
    "Box",
    "Capsule",
    "Compound",
    "ConvexMesh",
    "Cylinder",
    "Ellipsoid",
    "HalfCylinder",
    "MeshFoot",
    "Panels",
    "Part",
    "Polygon",
    "RollingPoints",
    "Shape",
    "Sphere",
    "checked_shape",
    "outermost_points",
    "overhang",
    "register_shape",
    "shape_from_dict",
]
