"""Points on springs and dampers whose forces only push and are bounded by friction, as one convex law.

The force that a point's spring and damper ask for, y(u), is linear and isotropic in the point's velocity u. The ground
only pushes, and friction bounds the tangential force by a disc of known radius. Both are projections P on convex sets,
so the force P(y) is the negative gradient of the convex potential

    Phi(u) = (y.P(y) - |P(y)|^2 / 2) / slope,      slope = -dy/du.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import Law


class FrictionLaw(Law):
    """Points whose forces, linear in the twist, only push and are bounded by friction."""

    offset: Float[Array, "p 3"]  # N, force at zero twist before projection
    slope: Float[Array, " p"]  # N s/m, its fall with the point's velocity
    arm: Float[Array, "p 3 n"]  # velocity of each point per unit twist, surface frame
    bound: Float[Array, " p"]  # N, greatest tangential force

    def _wanted(self, twist: Float[Array, " n"]) -> Float[Array, "p 3"]:
        return self.offset - self.slope[:, None] * (self.arm * twist).sum(-1)

    def point_forces(self, twist: Float[Array, " n"]) -> Float[Array, "p 3"]:
        """Force on each point, N, surface frame."""
        return bounded_force(self._wanted(twist), self.bound)[0]

    def potential(self, twist):
        wanted = self._wanted(twist)
        force, _ = bounded_force(wanted, self.bound)
        return (((wanted - force / 2) * force).sum(-1) / self.slope).sum()

    def wrench(self, twist):
        return (self.arm * self.point_forces(twist)[:, :, None]).sum((0, 1))

    def response(self, twist):
        force, rate = bounded_force(self._wanted(twist), self.bound)
        wrench = (self.arm * force[:, :, None]).sum((0, 1))
        # Sums of products rather than matrix products: native code makes loops over the points of them.
        stiff = self.slope[:, None, None] * (rate[:, :, :, None] * self.arm[:, None]).sum(2)
        return wrench, (self.arm[:, :, :, None] * stiff[:, :, None, :]).sum((0, 1))


def bounded_force(wanted: Float[Array, "*p 3"], bound: Float[Array, "*p"]):
    """Nearest forces (N) that push (z >= 0) and are tangentially within the bounds, and their symmetric derivatives."""
    tangential, normal = wanted[..., :2], wanted[..., 2]
    squared = (tangential**2).sum(-1)
    size = jnp.sqrt(jnp.where(squared > 0, squared, 1.0))
    sticks, pushes = squared <= bound**2, normal > 0
    share = jnp.where(sticks, 1.0, bound / size)
    force = jnp.concatenate([share[..., None] * tangential, jnp.where(pushes, normal, 0.0)[..., None]], -1)
    # A slipping force keeps its size and turns with the wanted one.
    x, y = tangential[..., 0] / size, tangential[..., 1] / size
    slips, zero = jnp.where(sticks, 0.0, 1.0), jnp.zeros_like(size)
    across = -share * slips * x * y
    rows = (
        (share * (1 - slips * x * x), across, zero),
        (across, share * (1 - slips * y * y), zero),
        (zero, zero, jnp.where(pushes, 1.0, 0.0)),
    )
    return force, jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def velocity_map(arms: Float[Array, "p 3"]) -> Float[Array, "p 3 6"]:
    """Velocity of points at `arms` from the origin, per unit twist (linear, angular) of the origin."""
    x, y, z = arms[:, 0], arms[:, 1], arms[:, 2]
    one, zero = jnp.ones_like(x), jnp.zeros_like(x)
    rows = ((one, zero, zero, zero, z, -y), (zero, one, zero, -z, zero, x), (zero, zero, one, y, -x, zero))
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)
