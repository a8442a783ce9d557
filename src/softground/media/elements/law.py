"""The potential of a body whose surface is a few elements: one convex function of each element's velocity.

Element e moves with v_e = v + w x r_e. Grains can put any force of a convex set on it, the ellipsoid with centre -c_e
and matrix Q_e joined with the origin, and put the one that dissipates most:

    phi_e(v) = max(0, x),      x = c_e.v + sqrt(v'Q_e v)        W,      Phi(u) = sum over elements of phi_e(v_e(u)).

Both corners are rounded over speeds of the order of `creep` s (m/s): the tip of the cone, sqrt(v'Qv + (l s)^2), and the
maximum, (x + sqrt(x^2 + (l s)^2)) / 2, with l the element's load (N). The second grows with x and is convex, x is
convex in v, and v_e is linear in u: so Phi is convex. With y the rounded root and m = sqrt(x^2 + (l s)^2),

    phi' = (1 + x/m) / 2,      phi'' = (l s)^2 / (2 m^3),      g = dx/dv = c + Qv / y,
    force = -phi' g,           Hessian = phi'' g g' + phi' (Q - (Qv)(Qv)'/y^2) / y.

Grains that move with the body add a convex function of the speed along each normal (`Motion`, see `inertia`).
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import Derivatives, Law


class Motion(eqx.Module):
    """Inertia of grains: drag <q>^3 / 3 + rate <q - flow>^2 / 2 with q = n.v, and v is relative to flow * n above."""

    normal: Float[Array, "e d"]
    drag: Float[Array, " e"]  # N s2/m2
    rate: Float[Array, " e"]  # N s/m, mass over time step
    flow: Float[Array, " e"]  # m/s, of the grains that move away

    def speeds(self, velocity: Float[Array, "e d"]) -> tuple[Float[Array, " e"], Float[Array, " e"]]:
        """Of elements towards the ground, and towards grains that move with them, where positive: m/s."""
        speed = (self.normal * velocity).sum(-1)
        return jnp.maximum(speed, 0.0), jnp.maximum(speed - self.flow, 0.0)

    def potential(self, speed, pushed) -> Float[Array, ""]:
        return (self.drag * speed**3 / 3 + self.rate * pushed**2 / 2).sum()

    def slopes(self, speed, pushed) -> tuple[Float[Array, " e"], Float[Array, " e"]]:
        """First and second derivative by the speed along the normal."""
        first = self.drag * speed**2 + self.rate * pushed
        return first, 2 * self.drag * speed + jnp.where(pushed > 0, self.rate, 0.0)


class ElementsLaw(Law):
    """d components of velocity (two in the plane), a of spin (none of a ball), n = d + a of a twist."""

    centre: Float[Array, "e d"]  # N, force per unit of the loads: the negative of the ellipsoids' centres
    square: Float[Array, "e d d"]  # N2, matrices of the ellipsoids
    rounding: Float[Array, " e"]  # W, load times creep: over which corners are rounded
    lever: Float[Array, "e d a"] | None  # m: velocity of the elements for a unit of spin
    motion: Motion | None = None

    def joined(self, centre, square, size, creep) -> ElementsLaw:
        """With further sets (c, Q, N) on the same elements, which have no inertia."""
        assert self.lever is not None
        motion = self.motion
        if motion is not None:
            none = jnp.zeros_like(motion.drag)
            more = Motion(motion.normal, none, none, none)
            motion = jax.tree.map(lambda *pair: jnp.concatenate(pair), motion, more)
        return ElementsLaw(
            jnp.concatenate([self.centre, centre]),
            jnp.concatenate([self.square, square]),
            jnp.concatenate([self.rounding, size * creep]),
            jnp.concatenate([self.lever, self.lever]),
            motion,
        )

    def velocities(self, twist: Float[Array, " n"]) -> Float[Array, "e d"]:
        """Velocity of every element, m/s."""
        size = self.centre.shape[-1]
        linear = jnp.broadcast_to(twist[:size], self.centre.shape)
        return linear if self.lever is None else linear + (self.lever * twist[size:]).sum(-1)

    def _parts(self, velocity):
        """x, dx/dv, Qv over the rounded root and one over that root, of every element. Quotients take longest: few."""
        if self.motion is not None:
            velocity = velocity - self.motion.flow[:, None] * self.motion.normal
        pushed = (self.square * velocity[:, None, :]).sum(-1)
        root = jnp.sqrt((velocity * pushed).sum(-1) + self.rounding**2 + TINY)
        inverse = 1 / root
        along = pushed * inverse[:, None]
        return (self.centre * velocity).sum(-1) + root, self.centre + along, along, inverse

    def potential(self, twist):
        velocity = self.velocities(twist)
        x, *_ = self._parts(velocity)
        potential = ((x + jnp.sqrt(x * x + self.rounding**2 + TINY)) / 2).sum()
        return potential if self.motion is None else potential + self.motion.potential(*self.motion.speeds(velocity))

    def wrench(self, twist):
        velocity = self.velocities(twist)
        x, slope, *_ = self._parts(velocity)
        share = (1 + x / jnp.sqrt(x * x + self.rounding**2 + TINY)) / 2
        force = -share[:, None] * slope
        if self.motion is not None:
            first, _ = self.motion.slopes(*self.motion.speeds(velocity))
            force = force - first[:, None] * self.motion.normal
        return self._gathered(force)

    def _gathered(self, force: Float[Array, "e d"]) -> Float[Array, " n"]:
        """Sum of the elements' forces as a wrench."""
        if self.lever is None:
            return force.sum(0)
        return jnp.concatenate([force.sum(0), (self.lever * force[:, :, None]).sum((0, 1))])

    def response(self, twist):
        velocity = self.velocities(twist)
        x, slope, along, inverse = self._parts(velocity)
        soft = self.rounding**2 + TINY
        rim = 1 / jnp.sqrt(x * x + soft)
        share, bend = 0.5 + 0.5 * x * rim, 0.5 * soft * rim * rim * rim
        # Sums of products rather than matrix products: XLA fuses them into one kernel for all feet.
        flat = (share * inverse)[:, None, None]
        local = bend[:, None, None] * slope[:, :, None] * slope[:, None, :]
        local = local + flat * (self.square - along[:, :, None] * along[:, None, :])
        force = -share[:, None] * slope
        if self.motion is not None:
            normal = self.motion.normal
            first, second = self.motion.slopes(*self.motion.speeds(velocity))
            force = force - first[:, None] * normal
            local = local + second[:, None, None] * normal[:, :, None] * normal[:, None, :]
        wrench = self._gathered(force)
        if self.lever is None:
            return wrench, local.sum(0)
        turned = (local[:, :, :, None] * self.lever[:, None, :, :]).sum(2)
        across = turned.sum(0)
        spin = (self.lever[:, :, :, None] * turned[:, :, None, :]).sum((0, 1))
        rows = jnp.concatenate([local.sum(0), across], axis=1)
        return wrench, jnp.concatenate([rows, jnp.concatenate([across.T, spin], axis=1)])

    def along(self, twist, direction) -> ElementsAlongLine:
        velocity, change = self.velocities(twist), self.velocities(direction)
        motion = None
        if self.motion is not None:
            normal = self.motion.normal
            motion = MotionAlongLine(self.motion, (normal * velocity).sum(-1), (normal * change).sum(-1))
            velocity = velocity - self.motion.flow[:, None] * normal
        pushed, pulled = ((self.square * one[:, None, :]).sum(-1) for one in (velocity, change))
        return ElementsAlongLine(
            (self.centre * velocity).sum(-1),
            (self.centre * change).sum(-1),
            (velocity * pushed).sum(-1),
            (change * pushed).sum(-1),
            (change * pulled).sum(-1),
            self.rounding,
            motion,
        )


TINY = 1e-24
"""W2: keeps slopes of elements that are not in the ground finite; its power 3/2 is a number in single precision."""


class MotionAlongLine(eqx.Module):
    """The same on a line of twists, where the speeds along the normals are linear."""

    motion: Motion
    start: Float[Array, " e"]  # m/s
    change: Float[Array, " e"]

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        speed = self.start + t * self.change
        speeds = jnp.maximum(speed, 0.0), jnp.maximum(speed - self.motion.flow, 0.0)
        first, second = self.motion.slopes(*speeds)
        return self.motion.potential(*speeds), (first * self.change).sum(), (second * self.change**2).sum()


class ElementsAlongLine(eqx.Module):
    """The potential on a line of twists, where x = p + p' t + sqrt(a + 2 b t + c t^2) for every element."""

    start: Float[Array, " e"]  # W, c.v
    rate: Float[Array, " e"]  # W
    a: Float[Array, " e"]  # W2
    b: Float[Array, " e"]
    c: Float[Array, " e"]
    rounding: Float[Array, " e"]  # W
    motion: MotionAlongLine | None = None

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        soft = self.rounding**2 + TINY
        turn = self.b + self.c * t
        square = self.a + t * (self.b + turn) + soft
        root = jnp.sqrt(square)
        x = self.start + self.rate * t + root
        slope, bend = self.rate + turn / root, (self.c - turn * turn / square) / root
        corner = x * x + soft
        rim = jnp.sqrt(corner)
        share = (1 + x / rim) / 2
        value, first = ((x + rim) / 2).sum(), (share * slope).sum()
        second = (share * bend + soft / (2 * rim * corner) * slope * slope).sum()
        if self.motion is None:
            return value, first, second
        more, steeper, bent = self.motion.derivatives(t)
        return value + more, first + steeper, second + bent
