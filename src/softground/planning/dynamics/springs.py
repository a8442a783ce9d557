"""Ground of springs and dampers (foam) as a plan sees it: without memory, and smooth.

In the simulator a foot on foam drags anchors along (`media.visco_elastic`). A plan has steps of tens of milliseconds,
in which springs along the surface settle, so it leaves anchors out: every point of a sole, at depth d and with velocity
v, is pushed by

    N = A max(k d - b v_n, 0)                              for d > 0, corners rounded over a millimetre,
    f = -(mu N)^2 v_t / ((mu N)^2 |v_t|^2 + eps^2)^(1/2)   along the surface:

Coulomb's friction of bound mu N, which at the temperature eps (W) creeps at speeds of the order eps / (mu N), as feet
in sand do. The normal force is that of the simulator; unlike the wrench sets of granular ground it pushes a foot up as
well as it stops one.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import COMPONENTS, FootInGround, FootMedium
from softground.media.smooth import smooth_ramp, smooth_step
from softground.media.visco_elastic.fields import value_at
from softground.media.visco_elastic.friction import velocity_map
from softground.media.visco_elastic.medium import ViscoElasticFoot

ROUNDED = 1e-3
"""m, of depth: over which contact sets in."""


class SpringResponse(eqx.Module):
    """What the points of one sole answer to a twist."""

    depth: Float[Array, " p"]  # m
    arm: Float[Array, "p 3 n"]  # velocity of each point per unit twist, surface frame
    stiffness: Float[Array, " p"]  # N/m
    damping: Float[Array, " p"]  # N s/m
    friction: Float[Array, ""]  # share of the normal force
    eps: Float[Array, ""]  # W

    def wrench(self, twist: Float[Array, " n"]) -> Float[Array, " n"]:
        """Wrench on the foot, N and N m, surface frame, at the reference point."""
        velocity = (self.arm * twist).sum(-1)
        inside = smooth_step(self.depth / ROUNDED)
        pushed = self.stiffness * smooth_ramp(self.depth, ROUNDED) - self.damping * inside * velocity[:, 2]
        normal = self.stiffness * smooth_ramp(pushed / self.stiffness, ROUNDED)
        bound = (self.friction * normal)[:, None]
        along = velocity[:, :2]
        power = jnp.sqrt(((bound * along) ** 2).sum(-1, keepdims=True) + self.eps**2)
        force = jnp.concatenate([-(bound**2) * along / power, normal[:, None]], -1)
        return (self.arm * force[:, :, None]).sum((0, 1))


class PlannedSprings(FootMedium):
    """The springs and dampers under one sole, without memory."""

    sole: ViscoElasticFoot
    eps: Float[Array, "*f"]  # W
    kind: str = eqx.field(static=True)  # which components of the twist

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        return self.sole.reference(foot)

    def law(self, foot: FootInGround, memory, dt) -> SpringResponse:
        sole, medium = self.sole.sole, self.sole.medium
        arms = sole.points @ foot.rotation.T
        projection = 1.0 if sole.rolls else jnp.maximum(jnp.abs(foot.rotation[2, 2]), 1e-3)
        areas = sole.areas * projection
        return SpringResponse(
            foot.depth - arms[:, 2],
            velocity_map(arms)[..., COMPONENTS[self.kind]],
            areas * value_at(medium.stiffness, foot.position),
            areas * value_at(medium.damping, foot.position),
            jnp.asarray(medium.friction),
            jnp.asarray(self.eps),
        )


def planned_springs(feet: ViscoElasticFoot, eps: float = 1.0) -> PlannedSprings:
    """Feet (leading axis) on ground of springs, as a plan sees them at a temperature eps, W."""
    return PlannedSprings(kind=feet.kind, sole=feet, eps=np.full(len(np.asarray(feet.sole.areas)), float(eps)))
