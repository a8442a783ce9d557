"""Sinusoidal ground."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.surfaces import checks
from softground.surfaces.graph import Graph


class Wave(Graph):
    """z = amplitude sin(2 pi s / wavelength + phase), with s = x cos(heading) + y sin(heading).

    The distance is that of `Graph`: Newton to the closest point, C-infinity. Measured against a dense
    search, with R = 1 / (amplitude (2 pi / wavelength)^2) the least radius of curvature and slopes up to
    68 degrees, the error is below 2e-11 R for |d| < R/10, 5e-8 R for |d| < R/4, 1e-3 R for |d| < R/2 and
    5e-2 R for |d| < R, on both sides. The plain first-order (z - h) / sqrt(1 + |grad h|^2) errs by 1e-2 R
    already at R/4.
    """

    type_name: ClassVar[str] = "wave"

    amplitude: Float[Array, ""]
    """[m]; a negative one turns crests into troughs."""
    wavelength: Float[Array, ""]
    """[m], positive."""
    heading: Float[Array, ""]
    """Direction across the crests [rad], about world +z from +x."""
    phase: Float[Array, ""]
    """[rad], at the world origin."""

    def __init__(self, amplitude, wavelength, heading=0.0, phase=0.0):
        self.amplitude = checks.finite("Wave amplitude", amplitude)
        self.wavelength = checks.positive("Wave wavelength", wavelength)
        self.heading = checks.finite("Wave heading", heading)
        self.phase = checks.finite("Wave phase", phase)

    def jet(self, xy: Float[Array, "2"]) -> tuple[Float[Array, ""], Float[Array, "2"], Float[Array, "2 2"]]:
        a, heading, phase = (v.astype(xy.dtype) for v in (self.amplitude, self.heading, self.phase))
        k = self._wavenumber().astype(xy.dtype)
        across = jnp.stack([jnp.cos(heading), jnp.sin(heading)])
        angle = k * (across @ xy) + phase
        h = a * jnp.sin(angle)
        return h, a * k * jnp.cos(angle) * across, -k * k * h * jnp.outer(across, across)

    def greatest_curvature(self) -> Float[Array, ""]:
        return jnp.abs(self.amplitude) * self._wavenumber() ** 2

    def _wavenumber(self) -> Float[Array, ""]:
        return 2.0 * jnp.pi / self.wavelength

    def _parameters(self) -> dict[str, Any]:
        names = ("amplitude", "wavelength", "heading", "phase")
        return {name: np.asarray(getattr(self, name)).tolist() for name in names}
