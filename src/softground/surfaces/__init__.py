"""Where the ground is: signed distance, normal and contact frame, twice differentiable."""

from softground.surfaces.base import SURFACE_TYPES, Surface, minimal_rotation
from softground.surfaces.graph import Graph
from softground.surfaces.height_field import HeightField
from softground.surfaces.mesh import MeshSurface
from softground.surfaces.plane import Plane
from softground.surfaces.ramp import Ramp
from softground.surfaces.spline import CubicSpline
from softground.surfaces.wave import Wave

__all__ = [
    "SURFACE_TYPES",
    "CubicSpline",
    "Graph",
    "HeightField",
    "MeshSurface",
    "Plane",
    "Ramp",
    "Surface",
    "Wave",
    "minimal_rotation",
]
