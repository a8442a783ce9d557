"""Robots: models read from MJCF or URDF, their dynamics in JAX, their feet."""

from softground.robots.catalogue import available
from softground.robots.dynamics import Kinematics
from softground.robots.feet import Box, Cylinder, Foot, HalfCylinder, Polygon, Shape, Sphere
from softground.robots.recipe import Recipe
from softground.robots.robot import Robot

__all__ = [
    "Box",
    "Cylinder",
    "Foot",
    "HalfCylinder",
    "Kinematics",
    "Polygon",
    "Recipe",
    "Robot",
    "Shape",
    "Sphere",
    "available",
]
