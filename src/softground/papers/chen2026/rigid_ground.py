"""The rigid-ground assumption: a foot that rolls on ground which does not give way.

As a medium it is a damper at the contact point, so stiff that the point hardly moves:

    Phi(u) = C/2 |u_contact|^2,         C = 1e8 N s/m,

at 100 N by 0.2 um in a stance. Contact is neither lost nor limited by friction, as under the holonomic constraints of
the models that the paper compares with. The lowest point of a round foot goes ahead with the foot: what is held is
the point of the foot that is there now, so that the foot rolls, its axis moving by R times its turn.

In augmented coordinates the same constraint is linear, with R the radius and theta the pitch of the stance link,

    (x_s, z_s) = (R theta, 0) + constant in the sagittal plane,       (y_s, z_s) = constant in the frontal one,

and the two rows of *inverse dynamics* are the reaction forces that a motion of the joints asks for. That is how the
paper has its conventional model estimate them: from joint angles as they were measured, the foot believed to be fixed.
"""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media import FootInGround, FootMedium, Law, Medium
from softground.media.base import COMPONENTS, kind_of
from softground.robots import Robot
from softground.robots.shapes import Shape

HELD = 1e8
"""C, N s/m."""
INTRUSION = 2
"""Coordinates of slip and sinkage: the first of every augmented model."""


class HeldPoint(Law):
    """A contact point that does not move."""

    held: Float[Array, " n"]  # N s/m, by component of the twist

    def potential(self, twist):
        return (self.held * twist**2).sum() / 2

    def wrench(self, twist):
        return -self.held * twist

    def response(self, twist):
        return self.wrench(twist), jnp.diag(self.held)


class Rigid(Medium):
    """Ground that does not give way."""

    name: ClassVar[str] = "rigid"

    def for_foot(self, shape: Shape, planar: bool) -> FootOnRigid:
        return FootOnRigid(clearance=np.asarray(shape.clearance, dtype=float), kind=kind_of(shape, planar))


class FootOnRigid(FootMedium):
    """The same under one foot."""

    clearance: Float[Array, ""]  # m, of the foot's origin over its lowest point
    kind: str = eqx.field(static=True)

    def reference(self, foot: FootInGround) -> Float[Array, "3"]:
        return -self.clearance * np.array([0, 0, 1], foot.depth.dtype)

    def law(self, foot: FootInGround, memory, dt) -> HeldPoint:
        return HeldPoint(HELD * (COMPONENTS[self.kind] < 3).astype(foot.depth.dtype))


def carried_along(robot: Robot, rates: Float[Array, "*t n"]) -> Float[Array, "*t n"]:
    """Rates of augmented coordinates with those of slip and sinkage that a foot has which rolls on rigid ground."""
    radius = robot.feet[0].shape.clearance if robot.planar else 0.0
    slip = radius * rates[..., INTRUSION]
    return jnp.concatenate([jnp.stack([slip, 0 * slip], axis=-1), rates[..., INTRUSION:]], axis=-1)
