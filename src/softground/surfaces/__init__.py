"""Where the ground is: signed distance, normal and contact frame, twice differentiable."""

from softground.surfaces.base import SURFACE_TYPES as SURFACE_TYPES
from softground.surfaces.base import Surface as Surface
from softground.surfaces.base import minimal_rotation as minimal_rotation
from softground.surfaces.graph import Graph as Graph
from softground.surfaces.height_field import HeightField as HeightField
from softground.surfaces.mesh import MeshSurface as MeshSurface
from softground.surfaces.plane import Plane as Plane
from softground.surfaces.ramp import Ramp as Ramp
from softground.surfaces.spline import CubicSpline as CubicSpline
from softground.surfaces.wave import Wave as Wave
