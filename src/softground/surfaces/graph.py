"""Ground that is the graph of a function, z = h(x, y): closest point by a fixed number of Newton steps."""

import abc

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.surfaces.base import Surface

NEWTON_STEPS = 2
"""Two are exact to 5e-8 of the radius of curvature R for |d| < R/4; beyond, the softening dominates."""


def soft_limit(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """x / (1 + x^8)^(1/8): x to within x^9/8 for |x| < 1, and never beyond +-1. Smooth."""
    # At 100 the limit is reached to 1e-17; the clip keeps x^8 from overflowing in float32.
    x = jnp.clip(x, -100.0, 100.0)
    return x * (1.0 + x**8) ** -0.125


class Graph(Surface):
    """Base of surfaces z = h(x, y). A subclass writes `jet`: h, its gradient and its Hessian.

    The closest point (t, h(t)) to p = (s, z) satisfies

        t - s - e(t) grad h(t) = 0,   e = z - h(t)

    and is found by `NEWTON_STEPS` Newton steps from t = s. Then, with n the unit normal at t,
    d = (p - (t, h(t))) . n. The derivative of this d in t vanishes at the closest point, so an error of t
    enters d only squared. The steps are plain arithmetic and are differentiated as they stand.

    Farther away than a radius of curvature the closest point is not unique and the true distance has
    kinks. There smoothness is worth more than exactness: e is held softly within `reach`, half the
    least radius of curvature, beyond which d grows as the distance to the tangent plane of a point nearly
    below p. It keeps its sign, and the normal its n_z > 0, so the frame is never singular.
    """

    @abc.abstractmethod
    def jet(self, xy: Float[Array, "2"]) -> tuple[Float[Array, ""], Float[Array, "2"], Float[Array, "2 2"]]:
        """h [m], grad h [-] and the Hessian of h [1/m] at (x, y) [m]."""

    @abc.abstractmethod
    def greatest_curvature(self) -> Float[Array, ""]:
        """A bound [1/m] on the norm of the Hessian of h over the surface; 0 is allowed (a plane)."""

    def closest(self, point: Float[Array, "3"]) -> Float[Array, "2"]:
        """(x, y) [m] of the surface point closest to the point, within `reach` of the surface."""
        xy, z = point[:2], point[2]
        # 1/reach, floored so that a plane has a finite reach (1000 km).
        inverse_reach = jnp.maximum(2.0 * self.greatest_curvature().astype(point.dtype), 1e-6)
        foot = xy
        for _ in range(NEWTON_STEPS):
            h, gradient, hessian = self.jet(foot)
            e = soft_limit((z - h) * inverse_reach) / inverse_reach
            foot = foot - _newton_step(foot - xy - e * gradient, gradient, e * hessian)
        return foot

    def signed_distance(self, point: Float[Array, "3"]) -> Float[Array, ""]:
        foot = self.closest(point)
        h, gradient, _ = self.jet(foot)
        return (point[2] - h - gradient @ (point[:2] - foot)) / jnp.sqrt(1.0 + gradient @ gradient)

    def normal(self, point: Float[Array, "3"]) -> Float[Array, "3"]:
        """Unit normal of the surface at the closest point; equals grad d within `reach`, and is cheaper."""
        _, gradient, _ = self.jet(self.closest(point))
        upward = jnp.concatenate([-gradient, jnp.ones(1, point.dtype)])
        return upward / jnp.sqrt(1.0 + gradient @ gradient)

    def height(self, xy: Float[Array, "2"]) -> Float[Array, ""]:
        """z [m] of the surface over (x, y): h itself."""
        return self.jet(xy)[0]


def _newton_step(
    residual: Float[Array, "2"], gradient: Float[Array, "2"], bend: Float[Array, "2 2"]
) -> Float[Array, "2"]:
    """(I + grad h grad h' - e H)^-1 residual, with |e H| held below 0.6 so that the matrix stays definite."""
    squared = jnp.sum(bend**2) / 0.36
    bend = bend * (1.0 + jnp.minimum(squared, 1e4) ** 4) ** -0.125
    a = 1.0 + gradient[0] ** 2 - bend[0, 0]
    b = gradient[0] * gradient[1] - bend[0, 1]
    c = 1.0 + gradient[1] ** 2 - bend[1, 1]
    x, y = residual
    return jnp.stack([c * x - b * y, a * y - b * x]) / (a * c - b * b)
