"""Visco-elastic ground: a continuum of springs and dampers under the sole (romualdi2021).

Every point x of the sole is pulled back to where it touched down, with a force per area (their eq. 8)

    rho(x, dx/dt) = k (x_bar - x) - b dx/dt,

and Lemma 1 integrates rho over a rectangle (eqs 9 and 10). The integrand is a polynomial of second degree in the
position on the sole, so the 2 x 2 Gauss points of a rectangle give *the same* wrench, exactly (tests/media). We
therefore put a quarter of the sole's area on each of four points, and can then let each point lift off and slip
on its own, which the lemma leaves aside ("valid as long as the normal forces are positive and the tangential
component lies inside the friction cone").

Over a time step the spring is taken at its end, x + dt u, so the force per area at a point is
y(u) = k (x_bar - x) - (b + dt k) u: isotropic in u. The ground only pushes, and friction bounds the tangential force
by a disc whose radius is friction times the point's normal force *one step ago*. Both are projections P on convex
sets, so the force P(y) is the negative gradient of the convex potential

    Phi(u) = (y.P(y) - |P(y)|^2 / 2) / (b + dt k),

which makes the step convex for any stiffness: 1 ms steps where explicit integration needs 10 us. Taking the radius
of the disc from the step before is what keeps Coulomb's law convex without the side effect of the usual convex
cone, which pushes a slipping foot out of the ground (docs/media.md).

Memory: the anchor x_bar of each point and its normal force. The anchor is set where the point meets the surface,
and dragged along by slip.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.media.base import COMPONENTS, FootInGround, Law, Medium
from softground.robots.feet import Box, Cylinder, Shape, Sphere


def _as_float(value) -> Array:
    return np.asarray(value, dtype=float) if not isinstance(value, jax.Array) else value


class Patch(eqx.Module):
    """The part of a foot that touches: four points that stand for its area."""

    points: Float[Array, "p 3"]  # m, in the foot frame
    area: Float[Array, ""]  # m2
    radius: Float[Array, ""]  # m; of a ball, whose point of contact stays below its centre
    is_ball: bool = eqx.field(static=True)


def patch(shape: Shape) -> Patch:
    """Four points with the area and the second moments of the shape's sole."""
    match shape:
        case Box(length, width):
            half = np.array([length, width]) / np.sqrt(12)  # Gauss points: second moment l^2/12
            area, radius = length * width, 0.0
        case Cylinder(sole):
            half = np.array([sole, sole]) / 2  # second moment of a disc about a diameter: r^2/4
            area, radius = np.pi * sole**2, 0.0
        case Sphere(ball):
            half = np.zeros(2)
            area, radius = np.pi * ball**2, ball
        case _:
            raise MediumError(f"foot shape must be Box, Cylinder or Sphere, got {shape!r}")
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    points = np.c_[signs * half, np.zeros(4)]
    return Patch(points, np.asarray(area), np.asarray(radius), is_ball=isinstance(shape, Sphere))


class Memory(eqx.Module):
    """What the ground remembers of a foot's points."""

    anchor: Float[Array, "p 3"]  # m, world; for a ball, which rolls, the stretch of the spring instead
    normal_force: Float[Array, " p"]  # N, in the last step


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
    """Nearest force that pushes (z >= 0) and is tangentially within the bound, and its symmetric derivative."""
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


class ViscoElastic(Medium):
    """Ground of springs and dampers with Coulomb friction: foam, carpet, turf."""

    name: ClassVar[str] = "visco_elastic"

    stiffness: Float[Array, ""] = eqx.field(converter=_as_float, default=8e5)  # k, N/m per m2
    damping: Float[Array, ""] = eqx.field(converter=_as_float, default=1e4)  # b, N s/m per m2
    friction: Float[Array, ""] = eqx.field(converter=_as_float, default=0.6)
    sole: Patch | None = None
    components: str = eqx.field(static=True, default="spatial")

    def __check_init__(self):
        for label in ("stiffness", "damping"):
            value = getattr(self, label)
            if not (np.isfinite(value) and value > 0):
                raise MediumError(f"{label} of the ground must be positive and finite, got {value:g}")
        if not (np.isfinite(self.friction) and self.friction >= 0):
            raise MediumError(f"friction of the ground must be >= 0 and finite, got {self.friction:g}")

    @property
    def kind(self) -> str:
        return self.components

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        """A ball is pushed where it touches, below its centre; a sole at its centre."""
        sole = self._sole
        up = np.array([0.0, 0.0, 1.0])
        return (-sole.radius * up).astype(foot.depth.dtype) if sole.is_ball else None

    def for_foot(self, shape: Shape, planar: bool) -> ViscoElastic:
        components = "planar" if planar else "point" if isinstance(shape, Sphere) else "spatial"
        return dataclasses.replace(self, sole=patch(shape), components=components)

    def initial_memory(self, foot: FootInGround) -> Memory:
        """Springs relaxed where the foot is, and carrying it if it is below the surface."""
        sole = self._sole
        arms = sole.points @ foot.rotation.T
        here = foot.position + arms @ foot.surface.T
        depth = jnp.maximum(foot.depth - arms[:, 2], 0.0)
        anchor = jnp.zeros_like(here) if sole.is_ball else here
        return Memory(anchor, self.stiffness * self._point_area(foot) * depth)

    @property
    def _sole(self) -> Patch:
        if self.sole is None:
            raise MediumError("this ground does not know the foot yet: call medium.for_foot(shape, planar)")
        return self.sole

    def law(self, foot: FootInGround, memory: Memory, dt) -> FrictionLaw:
        arms, depth, stretch = self._points(foot, memory)
        area = self._point_area(foot)
        # Above the surface a damper would push before the foot has touched: only the spring's end may act there.
        damping = jnp.where(depth > 0, self.damping, 0.0)
        return FrictionLaw(
            offset=self.stiffness * area * stretch,
            slope=area * (damping + dt * self.stiffness),
            arm=_velocity_map(arms)[..., COMPONENTS[self.kind]],
            bound=self.friction * memory.normal_force,
        )

    def remember(self, foot, memory: Memory, law: FrictionLaw, twist, dt) -> Memory:
        """Anchors slip by what the springs cannot hold.

        With force f per area at the end of the step, a spring in series with the sliding contact is left with the
        stretch (dt f + b s) / (dt k + b), s being its stretch before: s - dt u where the point sticks, and always
        at most what the work done on it pays for (docs/media.md).
        """
        arms, depth, stretch = self._points(foot, memory)
        area, damping = self._point_area(foot), jnp.where(depth > 0, self.damping, 0.0)[:, None]
        force = law.point_forces(twist)
        left = (dt * force / area + damping * stretch) / (dt * self.stiffness + damping)
        if self._sole.is_ball:
            tangential = left * np.array([1, 1, 0], left.dtype)
            return Memory(tangential @ foot.surface.T, force[:, 2])
        moved = arms + dt * (law.arm * twist).sum(-1) + left
        return Memory(foot.position + moved @ foot.surface.T, force[:, 2])

    def stored_energy(self, foot, memory) -> Float[Array, ""]:
        _, depth, stretch = self._points(foot, memory)
        energy = self.stiffness * self._point_area(foot) * (stretch**2).sum(-1) / 2
        return jnp.where(depth > 0, energy, 0.0).sum()

    def _points(self, foot: FootInGround, memory: Memory):
        """Arm from the reference point, depth, and stretch of the spring of every point, surface frame."""
        sole = self._sole
        arms = sole.points @ foot.rotation.T  # all zero for a ball
        depth = foot.depth - arms[:, 2]
        anchor = memory.anchor
        anchored = anchor @ foot.surface if sole.is_ball else (anchor - foot.position) @ foot.surface - arms
        tangential = jnp.where(depth[:, None] > 0, anchored[:, :2], 0.0)
        return arms, depth, jnp.concatenate([tangential, depth[:, None]], -1)

    def _point_area(self, foot: FootInGround):
        """Area per point, projected on the surface (the factor |e3' R e3| of eqs 9 and 10), m2."""
        projection = 1.0 if self._sole.is_ball else jnp.abs(foot.rotation[2, 2])
        return self._sole.area * jnp.maximum(projection, 1e-3) / len(self._sole.points)


def _velocity_map(arms: Float[Array, "p 3"]) -> Float[Array, "p 3 6"]:
    """Velocity of points at `arms` from the origin, per unit twist (linear, angular) of the origin."""
    identity = jnp.broadcast_to(jnp.eye(3, dtype=arms.dtype), (len(arms), 3, 3))
    spin = -jnp.cross(arms[:, None, :], identity)  # row i: d(omega x r)/d omega_i = e_i x r
    return jnp.concatenate([identity, jnp.swapaxes(spin, -1, -2)], -1)


class Firm(ViscoElastic):
    """Firm ground: so stiff and damped that a foot sinks a fraction of a millimetre. The rigid reference."""

    name: ClassVar[str] = "firm"

    stiffness: Float[Array, ""] = eqx.field(converter=_as_float, default=1e8)
    damping: Float[Array, ""] = eqx.field(converter=_as_float, default=1e6)
    friction: Float[Array, ""] = eqx.field(converter=_as_float, default=0.8)
