"""Points on springs and dampers whose forces only push and are bounded by friction, as one convex law.

The force that a point's spring and damper ask for, y(u), is linear and isotropic in the point's velocity u. The ground
only pushes, and friction bounds the tangential force by a disc of known radius. Both are projections P on convex sets,
so the force P(y) is the negative gradient of the convex potential

    Phi(u) = (y.P(y) - |P(y)|^2 / 2) / slope,      slope = -dy/du.
"""

from __future__ import annotations

import jax
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
        return jax.vmap(bounded_force)(self._wanted(twist), self.bound)[0]

    def potential(self, twist):
        wanted = self._wanted(twist)
        force, _ = jax.vmap(bounded_force)(wanted, self.bound)
        return (((wanted - force / 2) * force).sum(-1) / self.slope).sum()

    def wrench(self, twist):
        return (self.arm * self.point_forces(twist)[:, :, None]).sum((0, 1))

    def response(self, twist):
        force, rate = jax.vmap(bounded_force)(self._wanted(twist), self.bound)
        wrench = (self.arm * force[:, :, None]).sum((0, 1))
        stiff = self.slope[:, None, None] * (rate @ self.arm)
        return wrench, jnp.einsum("pci,pcj->ij", self.arm, stiff)


def bounded_force(wanted: Float[Array, "3"], bound: Float[Array, ""]):
    """Nearest force (N) that pushes (z >= 0) and is tangentially within the bound, and its symmetric derivative."""
    tangential, normal = wanted[:2], wanted[2]
    squared = (tangential**2).sum()
    size = jnp.sqrt(jnp.where(squared > 0, squared, 1.0))
    sticks = squared <= bound**2
    share = jnp.where(sticks, 1.0, bound / size)
    pushes = normal > 0
    force = jnp.concatenate([share * tangential, jnp.where(pushes, normal, 0.0)[None]])
    along = tangential / size
    # A slipping force keeps its size and turns with the wanted one.
    turning = jnp.eye(2, dtype=wanted.dtype) - jnp.where(sticks, 0.0, 1.0) * along[:, None] * along
    rate = jnp.zeros((3, 3), wanted.dtype).at[:2, :2].set(share * turning)
    return force, rate.at[2, 2].set(jnp.where(pushes, 1.0, 0.0))


def velocity_map(arms: Float[Array, "p 3"]) -> Float[Array, "p 3 6"]:
    """Velocity of points at `arms` from the origin, per unit twist (linear, angular) of the origin."""
    identity = jnp.broadcast_to(jnp.eye(3, dtype=arms.dtype), (len(arms), 3, 3))
    spin = -jnp.cross(arms[:, None, :], identity)  # row i: d(omega x r)/d omega_i = e_i x r
    return jnp.concatenate([identity, jnp.swapaxes(spin, -1, -2)], -1)
