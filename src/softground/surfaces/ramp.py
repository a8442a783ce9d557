"""A slope that flattens."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import SurfaceError
from softground.surfaces import checks
from softground.surfaces.graph import Graph


class Ramp(Graph):
    """Level ground that bends smoothly into a slope rising towards +x, the whole rotated by `heading`.

    With s the horizontal coordinate along the heading, from the knee at `point`,

        h(s) = z_0 + w tan(slope) log(1 + exp(s / w)),   h -> z_0 for s << 0,  z_0 + s tan(slope) for s >> 0

    where the width w makes the radius of curvature at the knee equal to `radius`:
    w = radius tan(slope) / (4 (1 + tan(slope)^2 / 4)^(3/2)). The profile is infinitely smooth and meets
    both straight parts to exp(-|s| / w). A body released at s > 0 slides towards -x (for heading 0).

    The distance is that of `Graph`; measured against a dense search (slopes to 60 degrees) it errs by
    less than 2e-11 R for |d| < R/10 and 6e-8 R for |d| < R/4, R the least radius of curvature (0.6 to 1
    times `radius`).
    """

    type_name: ClassVar[str] = "ramp"

    slope: Float[Array, ""]
    """Inclination of the upper part [rad], in (0, pi/2)."""
    radius: Float[Array, ""]
    """Radius of curvature at the knee [m], positive."""
    heading: Float[Array, ""]
    """Direction of ascent [rad], about world +z from +x."""
    point: Float[Array, "3"]
    """Where the level and the inclined plane would meet [m], world."""

    def __init__(self, slope, radius, heading=0.0, point=(0.0, 0.0, 0.0)):
        self.slope = checks.slope_angle("Ramp slope", slope)
        if not isinstance(slope, Tracer) and not float(self.slope) > 0:
            raise SurfaceError(
                f"Ramp slope must be positive, got {slope!r}; use Plane() for level ground, "
                f"or heading=pi for a ramp that rises towards -x"
            )
        self.radius = checks.positive("Ramp radius", radius)
        self.heading = checks.finite("Ramp heading", heading)
        self.point = checks.finite("Ramp point", point, (3,))

    def jet(self, xy: Float[Array, "2"]) -> tuple[Float[Array, ""], Float[Array, "2"], Float[Array, "2 2"]]:
        point, heading = self.point.astype(xy.dtype), self.heading.astype(xy.dtype)
        rise, width = jnp.tan(self.slope).astype(xy.dtype), self._width().astype(xy.dtype)
        along = jnp.stack([jnp.cos(heading), jnp.sin(heading)])
        s = along @ (xy - point[:2]) / width
        share = jax.nn.sigmoid(s)
        h = point[2] + rise * width * jax.nn.softplus(s)
        return h, rise * share * along, rise / width * share * (1.0 - share) * jnp.outer(along, along)

    def greatest_curvature(self) -> Float[Array, ""]:
        return jnp.tan(self.slope) / (4.0 * self._width())

    def _width(self) -> Float[Array, ""]:
        rise = jnp.tan(self.slope)
        return self.radius * rise / (4.0 * (1.0 + 0.25 * rise**2) ** 1.5)

    def _parameters(self) -> dict[str, Any]:
        names = ("slope", "radius", "heading", "point")
        return {name: np.asarray(getattr(self, name)).tolist() for name in names}
