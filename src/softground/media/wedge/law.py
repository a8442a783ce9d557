"""The potential of a foot on its wedge: faces that each resist with a set of forces, and a mass that goes along.

    Phi(u) = sum over faces of eps log sum_k exp(-p_k . A u / eps)  +  m / (2 dt) |A_m u - c|^2

A u is the velocity of the point where a face's force acts, u being the twist of the foot. The second part is the
*added mass*: over a step the solid grains change their momentum from p to m A_m u, and the foot must give it to them,

    force = -(m A_m u - p) / dt,       c = p / m the velocity of the wedge with the grains it has just caught up,

which is the gradient of a convex quadratic in the step of velocity. Catching up grains at rest lowers c, so the
inertial drag dm/dt u of a growing wedge is part of it.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import Derivatives, Law
from softground.media.round_space import RoundAlongLine, RoundSupport
from softground.media.support_line import SupportAlongLine
from softground.media.wrench_space import SupportFunction


class ForceSets(eqx.Module):
    """Forces that act each at a point of the foot, out of a convex set of its own."""

    sets: SupportFunction  # leading axis: points; vertices (f, k, 3), N, surface frame
    arm: Float[Array, "f 3 n"]  # velocity of each point per unit twist

    def velocities(self, twist: Float[Array, " n"]) -> Float[Array, "f 3"]:
        return (self.arm * twist).sum(-1)

    def potential(self, twist: Float[Array, " n"]) -> Float[Array, ""]:
        return jax.vmap(lambda s, u: s.potential(u))(self.sets, self.velocities(twist)).sum()

    def wrench(self, twist: Float[Array, " n"]) -> Float[Array, " n"]:
        force = jax.vmap(lambda s, u: s.wrench(u))(self.sets, self.velocities(twist))
        return (self.arm * force[:, :, None]).sum((0, 1))

    def response(self, twist: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
        force, stiffness = jax.vmap(lambda s, u: s.response(u))(self.sets, self.velocities(twist))
        wrench = (self.arm * force[:, :, None]).sum((0, 1))
        stiff = (stiffness[..., None] * self.arm[:, None]).sum(2)
        return wrench, (self.arm[..., None] * stiff[:, :, None, :]).sum((0, 1))

    def along(self, twist: Float[Array, " n"], direction: Float[Array, " n"]) -> ForceSetsAlongLine:
        lines = jax.vmap(lambda s, *line: s.along(*line))
        return ForceSetsAlongLine(lines(self.sets, self.velocities(twist), self.velocities(direction)))


class ForceSetsAlongLine(eqx.Module):
    """Their potentials, summed, on a line of twists."""

    lines: SupportAlongLine  # leading axis: points

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        values, slopes, curvatures = jax.vmap(lambda line: line.derivatives(t))(self.lines)
        return values.sum(), slopes.sum(), curvatures.sum()


class WedgeLaw(Law):
    """Resistance of the wedge's faces, of the foot's sides (in space), and the wedge's mass."""

    groups: tuple[ForceSets | RoundSupport, ...]
    mass: Float[Array, ""]  # kg
    mass_arm: Float[Array, "3 n"]  # velocity of the wedge per unit twist
    carried: Float[Array, "3"]  # m/s, velocity at which the wedge gives and takes no force, surface frame
    dt: float | Float[Array, ""]  # s

    def wedge_velocity(self, twist: Float[Array, " n"]) -> Float[Array, "3"]:
        """Velocity of the solid grains that go with the foot, m/s, surface frame."""
        return (self.mass_arm * twist).sum(-1)

    def potential(self, twist):
        change = self.wedge_velocity(twist) - self.carried
        return sum(group.potential(twist) for group in self.groups) + self.mass / (2 * self.dt) * (change**2).sum()

    def wrench(self, twist):
        return sum(group.wrench(twist) for group in self.groups) + self._inertial(twist)

    def response(self, twist):
        wrenches, stiffnesses = zip(*(group.response(twist) for group in self.groups), strict=True)
        gram = (self.mass_arm[:, :, None] * self.mass_arm[:, None, :]).sum(0)
        return sum(wrenches) + self._inertial(twist), sum(stiffnesses) + self.mass / self.dt * gram

    def along(self, twist, direction) -> WedgeAlongLine:
        lines = tuple(group.along(twist, direction) for group in self.groups)
        change, rate = self.wedge_velocity(twist) - self.carried, self.wedge_velocity(direction)
        inertia = self.mass / self.dt
        return WedgeAlongLine(lines, inertia * (change * rate).sum(), inertia * (rate**2).sum())

    def _inertial(self, twist: Float[Array, " n"]) -> Float[Array, " n"]:
        force = self.mass / self.dt * (self.carried - self.wedge_velocity(twist))
        return (self.mass_arm * force[:, None]).sum(0)


class WedgeAlongLine(eqx.Module):
    """The law on a line of twists: smoothed support functions and a parabola."""

    lines: tuple[ForceSetsAlongLine | RoundAlongLine, ...]
    slope: Float[Array, ""]  # W, of the parabola at the start
    curvature: Float[Array, ""]  # W

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        value = t * (self.slope + t * self.curvature / 2)
        slope, curvature = self.slope + t * self.curvature, self.curvature
        for line in self.lines:
            more, steeper, bent = line.derivatives(t)
            value, slope, curvature = value + more, slope + steeper, curvature + bent
        return value, slope, curvature


def velocity_maps(points: Float[Array, "*p 3"], components: np.ndarray) -> Float[Array, "*p 3 n"]:
    """Velocity of points (m, from the reference point) per unit of these components of a twist."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    zero, one = jnp.zeros_like(x), jnp.ones_like(x)
    rows = [[one, zero, zero, zero, z, -y], [zero, one, zero, -z, zero, x], [zero, zero, one, y, -x, zero]]
    return jnp.stack([jnp.stack([row[i] for i in components], -1) for row in rows], -2)
