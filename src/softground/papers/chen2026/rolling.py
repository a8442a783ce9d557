"""The rolling foot of chen2026 (II.A): which point of a convex sole is lowest, and how it turns there.

The sole is a contour z_r = S(x_r) in a frame fixed to the foot, x_r forwards and z_r up. A foot pitched by theta about
+y has the point x_r of its contour at the height -x_r sin(theta) + S cos(theta); it is lowest where

    dS/dx_r = tan(theta),

so the slope of the contour at the contact point gives the foot's orientation theta_r (4). The condition printed in the
paper, x_r / S = dS/dx_r, is met with the opposite sign by *every* point of an arc about the frame's origin, the foot of
the experiments; for other contours it does not find the lowest point, and is not used here.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from softground.arrays import Array
from softground.errors import RobotError


class Contour(eqx.Module):
    """A convex sole by points of its contour, from rear to front, and its slope there."""

    x: Float[Array, " n"]  # m, forwards
    z: Float[Array, " n"]  # m, up
    slope: Float[Array, " n"]  # dz/dx, rising

    def __init__(self, points: ArrayLike, slope: ArrayLike | None = None):
        """Points (x_r, z_r), (n, 2), m; the slope by differences unless it is given."""
        points = np.asarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
            raise RobotError(f"a sole contour needs at least 3 points (x, z), got an array of shape {points.shape}")
        if not np.isfinite(points).all():
            raise RobotError("a sole contour must be finite: look for NaN in its points")
        x, z = points.T
        if not (np.diff(x) > 0).all():
            raise RobotError(
                "points of a sole contour must run from rear to front: x must increase from each to the next"
            )
        _check_convex(x, np.diff(z) / np.diff(x))
        slopes = np.gradient(z, x) if slope is None else np.asarray(slope, dtype=float)
        _check_convex(x, slopes)
        self.x, self.z, self.slope = x, z, slopes

    @classmethod
    def from_curve(cls, curve: Callable, rear: float, front: float, points: int = 401) -> Contour:
        """Contour of a differentiable z_r = curve(x_r) between two ends (m)."""
        x = np.linspace(rear, front, points)
        return cls(np.c_[x, jax.vmap(curve)(x)], np.asarray(jax.vmap(jax.grad(curve))(x)))

    def contact(self, pitch: float | Float[Array, "*t"]) -> Float[Array, "*t 2"]:
        """Lowest point (x_r, z_r), m, of the foot at this pitch (rad); at most an end of the contour."""
        x = jnp.interp(jnp.tan(pitch), self.slope, self.x)
        return jnp.stack([x, self._height(x)], axis=-1)

    def orientation(self, contact: Float[Array, "*t 2"]) -> Float[Array, "*t"]:
        """theta_r of (4), rad: the angle of the contour's slope at a contact point."""
        return jnp.arctan(jnp.interp(contact[..., 0], self.x, self.slope))

    def rolling_angle(self, pitch: Float[Array, "*t"], start: Float[Array, ""]) -> Float[Array, "*t"]:
        """Delta theta_r of (4), rad: how far the foot has rolled since it touched down at the pitch `start`."""
        return self.orientation(self.contact(pitch)) - self.orientation(self.contact(start))

    def _height(self, x: Float[Array, "*t"]) -> Float[Array, "*t"]:
        """z_r between the points: the cubic that has their heights and slopes."""
        row = jnp.clip(jnp.searchsorted(self.x, x) - 1, 0, len(self.x) - 2)
        at = lambda row: [jnp.asarray(values)[row] for values in (self.x, self.z, self.slope)]  # noqa: E731
        (x0, z0, slope0), (x1, z1, slope1) = at(row), at(row + 1)
        s, rise = (x - x0) / (x1 - x0), z1 - z0
        bend = (1 - s) * ((x1 - x0) * slope0 - rise) - s * ((x1 - x0) * slope1 - rise)
        return z0 + s * rise + s * (1 - s) * bend


def _check_convex(x: np.ndarray, slopes: np.ndarray) -> None:
    falls = np.flatnonzero(np.diff(slopes) < -1e-9 * np.abs(slopes).max())
    if len(falls):
        first, second = slopes[falls[0] : falls[0] + 2]
        raise RobotError(
            "a sole contour must be convex, so that it rolls: its slope must not fall from rear to front, but it goes "
            f"from {first:.4g} to {second:.4g} at x = {x[falls[0] + 1]:.4g} m"
        )


def arc(radius: float, points: int = 401, reach: float = 1.4) -> Contour:
    """Half-cylinder of this radius (m) about the frame's origin, up to `reach` rad either side of its lowest point."""
    if not (np.isfinite(radius) and radius > 0):
        raise RobotError(f"radius of a round sole must be positive, got {radius}")
    angle = np.linspace(-reach, reach, points)
    return Contour(radius * np.c_[np.sin(angle), -np.cos(angle)], np.tan(angle))


def effective_rolling_radius(velocity: Float[Array, "*t 2"], rate: Float[Array, "*t"]) -> Float[Array, "*t"]:
    """R_eff of (5), m: speed of the contact point (m/s) over the rate at which the foot turns (rad/s).

    With gamma the direction of the velocity, |v| = |dx_s/dt| sqrt(1 + tan^2 gamma). Infinite where the foot only slips.
    """
    return jnp.linalg.norm(velocity, axis=-1) / jnp.abs(rate)
