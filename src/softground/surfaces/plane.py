"""Flat ground, level or inclined."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.surfaces import checks
from softground.surfaces.base import Surface, minimal_rotation


class Plane(Surface):
    """A plane that rises by `slope` towards +x, the whole rotated by `heading` about +z.

        n = (-sin(slope) cos(heading), -sin(slope) sin(heading), cos(slope)),   d(p) = n . p - n . point

    The frame and the offset are worked out once here, so that a distance in the simulator's inner loop
    is three multiplications. To change the slope of a batch, build the planes again
    (`eqx.filter_vmap(Plane)(slopes)`), do not edit the field.

    >>> import numpy as np, softground as sg
    >>> float(sg.Plane(slope=np.deg2rad(5)).signed_distance(np.array([0.0, 0.0, 1.0])))  # m, of a point over the origin
    0.996...
    """

    type_name: ClassVar[str] = "plane"

    slope: Float[Array, ""]
    """Inclination [rad], |slope| < pi/2."""
    heading: Float[Array, ""]
    """Direction of steepest ascent [rad], about world +z from +x."""
    point: Float[Array, "3"]
    """A point of the plane [m], world."""

    def __init__(self, slope=0.0, heading=0.0, point=(0.0, 0.0, 0.0)):
        self.slope = checks.slope_angle("Plane slope", slope)
        self.heading = checks.finite("Plane heading", heading)
        self.point = checks.finite("Plane point", point, (3,))

    @property
    def frame_world(self) -> Float[Array, "3 3"]:
        """R_bar; its last column is the normal."""
        sine = jnp.sin(self.slope)
        return minimal_rotation(
            jnp.stack([-sine * jnp.cos(self.heading), -sine * jnp.sin(self.heading), jnp.cos(self.slope)])
        )

    @property
    def offset(self) -> Float[Array, ""]:
        """n . point [m]."""
        return self.frame_world[:, 2] @ self.point

    def signed_distance(self, point: Float[Array, "3"]) -> Float[Array, ""]:
        return self.normal(point) @ point - self.offset.astype(point.dtype)

    def normal(self, point: Float[Array, "3"]) -> Float[Array, "3"]:
        return self.frame_world[:, 2].astype(point.dtype)

    def frame(self, point: Float[Array, "3"]) -> Float[Array, "3 3"]:
        return self.frame_world.astype(point.dtype)

    def height(self, xy: Float[Array, "2"]) -> Float[Array, ""]:
        """z [m] of the plane over (x, y), in closed form."""
        normal = self.frame_world[:, 2].astype(xy.dtype)
        return (self.offset.astype(xy.dtype) - normal[:2] @ xy) / normal[2]

    def _parameters(self) -> dict[str, Any]:
        return {name: np.asarray(getattr(self, name)).tolist() for name in ("slope", "heading", "point")}
