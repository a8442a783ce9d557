"""Robots: models read from MJCF or URDF, their dynamics in JAX, their feet."""

from softground.robots.catalogue import Recipe, available
from softground.robots.dynamics import Kinematics
from softground.robots.feet import Foot
from softground.robots.robot import Robot
from softground.robots.shapes import (
    Box,
    Cylinder,
    HalfCylinder,
    MeshFoot,
    Polygon,
    Shape,
    Sphere,
    register_shape,
)

__all__ = [
    "Box",
    "Cylinder",
    "Foot",
    "HalfCylinder",
    "Kinematics",
    "MeshFoot",
    "Polygon",
    "Recipe",
    "Robot",
    "Shape",
    "Sphere",
    "available",
    "register_shape",
]
