"""Visco-elastic ground: a continuum of springs and dampers under the sole (romualdi2021).

Every point x of the sole is pulled back to where it touched down, with a force per area (their eq. 8)

    rho(x, dx/dt) = k (x_bar - x) - b dx/dt,

and Lemma 1 integrates rho over the sole (eqs 9 and 10; `lemma`). We put the sole's area on points that give *the same*
wrench (`sole`), and can then let each point lift off and slip on its own, which the lemma leaves aside ("valid as long
as the normal forces are positive and the tangential component lies inside the friction cone").

Over a time step the spring is taken at its start and the damper at its end, so the force per area at a point is
y(u) = k (x_bar - x) - c u with c = max(b, dt k / 2): isotropic in u. The spring takes up k dt^2 u^2 / 2 more than its
force at the start says, which the damper pays: with c >= dt k / 2 a step never gives back more than was put in, and
is stable for any mass and stiffness. With the spring at the step's end, c = b + dt k, feet would be damped by what the
ground does not have (docs/contact.md). A point that starts the step above the surface feels the
part of it that it is inside: its damper acts on the way below the surface, so the force is c/dt times the depth at the
end. The ground only pushes, and friction bounds the tangential force by a disc whose radius is friction times the
point's normal force *one step ago*: a convex law (`friction`), which makes the step convex for any stiffness: 1 ms
steps where explicit integration needs 10 us. Taking the radius of the disc from the step before is what keeps Coulomb's
law convex without the side effect of the usual convex cone, which pushes a slipping foot out of the ground
(docs/media.md).

Memory: the anchor x_bar of each point and its normal force. The anchor is set where the point meets the surface, and
dragged along by slip. Stiffness and damping may be fields of the place (`fields`). As in the paper all points of a
sole share the values where the foot touched down, that is at the mean of its anchors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float
from softground.errors import MediumError
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium, kind_of
from softground.media.parameters import check_not_negative
from softground.media.visco_elastic.body import ViscoElasticBody, slope_of
from softground.media.visco_elastic.fields import Coefficient, as_coefficient, check_coefficient, value_at
from softground.media.visco_elastic.friction import FrictionLaw, velocity_map
from softground.media.visco_elastic.sole import Patch, patch
from softground.robots.shapes import Shape, outermost_points, overhang


class Memory(eqx.Module):
    """What the ground remembers of a foot's points."""

    anchor: Float[Array, "p 3"]  # m, world; for a round sole, which rolls, the stretch of the spring instead
    normal_force: Float[Array, " p"]  # N, in the last step


class ViscoElastic(Medium):
    """Ground of springs and dampers with Coulomb friction: foam, carpet, turf."""

    name: ClassVar[str] = "visco_elastic"

    stiffness: Coefficient = eqx.field(converter=as_coefficient, default=8e5)  # k, N/m per m2
    damping: Coefficient = eqx.field(converter=as_coefficient, default=1e4)  # b, N s/m per m2
    friction: Float[Array, ""] = eqx.field(converter=as_float, default=0.6)
    to_edge: bool = eqx.field(static=True, default=False)  # whether the sole's points reach its edge (`sole`)
    #: most points on which a body can stand
    body_points: int = eqx.field(static=True, default=40, metadata={"absent_from_old_files": True})
    #: whether feet stand on all of their surface, as bodies do
    any_side: bool = eqx.field(static=True, default=False, metadata={"absent_from_old_files": True})

    def __check_init__(self):
        check_coefficient(self.stiffness, "stiffness")
        check_coefficient(self.damping, "damping")
        check_not_negative("friction of the ground", self.friction)
        if self.body_points < 1:
            raise MediumError(f"body_points must be at least 1, got {self.body_points}")

    def for_foot(self, shape: Shape, planar: bool) -> FootMedium:
        return self.under_feet([shape], planar)[0]

    def under_feet(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        """One for each foot, all with as many points, so that they can be stacked."""
        if self.any_side:
            return self._on_points(shapes, planar, feet=True)
        feet = [
            ViscoElasticFoot(medium=self, sole=patch(shape, self.to_edge), kind=kind_of(shape, planar))
            for shape in shapes
        ]
        count = max(len(foot.sole.points) for foot in feet)
        return [dataclasses.replace(foot, sole=foot.sole.with_points(count)) for foot in feet]

    def for_body(self, shape: Shape, planar: bool) -> ViscoElasticBody:
        return self.under_bodies([shape], planar)[0]

    def under_bodies(self, shapes: Sequence[Shape], planar: bool) -> list[ViscoElasticBody]:
        """One for each body, all with as many points, so that they can be stacked."""
        return self._on_points(shapes, planar, feet=not self.any_side)

    def on_any_side(self) -> ViscoElastic:
        return dataclasses.replace(self, any_side=True)

    def _on_points(self, shapes: Sequence[Shape], planar: bool, feet: bool) -> list[ViscoElasticBody]:
        """feet: whether those that are parts of the shapes count."""
        points = [outermost_points(shape, self.body_points, feet) for shape in shapes]
        count = max(len(one.centre) for one in points)
        kind = "planar" if planar else "spatial"
        return [
            ViscoElasticBody(
                medium=self,
                **one.padded(count)._asdict(),
                reaches=as_float(overhang(shape, self.body_points, feet)),
                clearance=as_float(shape.clearance),
                kind=kind,
            )
            for one, shape in zip(points, shapes, strict=True)
        ]


class Firm(ViscoElastic):
    """Firm ground: so stiff and damped that a foot sinks a fraction of a millimetre. The rigid reference."""

    name: ClassVar[str] = "firm"

    stiffness: Coefficient = eqx.field(converter=as_coefficient, default=1e8)
    damping: Coefficient = eqx.field(converter=as_coefficient, default=1e6)
    friction: Float[Array, ""] = eqx.field(converter=as_float, default=0.8)


class ViscoElasticFoot(FootMedium):
    """The springs and dampers under one sole."""

    medium: ViscoElastic
    sole: Patch
    kind: str = eqx.field(static=True)

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        """A round sole is pushed where it touches, below its centre or axis; a flat one at its centre."""
        up = np.array([0.0, 0.0, 1.0])
        return (-self.sole.radius * up).astype(foot.depth.dtype) if self.sole.rolls else None

    def place(self, foot: FootInGround, memory: Memory) -> Float[Array, "3"]:
        """Where the foot touched down; under a round sole, which rolls, where it is."""
        return self._place(foot, memory.anchor)

    def initial_memory(self, foot: FootInGround) -> Memory:
        """Springs relaxed where the foot is, and carrying it if it is below the surface."""
        sole = self.sole
        arms = sole.points @ foot.rotation.T
        here = foot.position + arms @ foot.surface.T
        depth = jnp.maximum(foot.depth - arms[:, 2], 0.0)
        anchor = jnp.zeros_like(here) if sole.rolls else here
        stiffness, _ = self._coefficients(foot, anchor)
        return Memory(anchor, stiffness * self._areas(foot) * depth)

    def law(self, foot: FootInGround, memory: Memory, dt) -> FrictionLaw:
        arms, depth, stretch = self._points(foot, memory)
        areas = self._areas(foot)
        stiffness, damping = self._coefficients(foot, memory.anchor)
        slope = slope_of(stiffness, damping, dt)
        # A point above the surface is resisted from there on, by slope / dt times its depth at the end of the step.
        normal = jnp.where(depth < 0, slope / dt, stiffness) * depth
        wanted = jnp.concatenate([stiffness * stretch[:, :2], normal[:, None]], -1)
        # A point that came down to this depth has carried no more than `most` in the last step. Friction vanishes with
        # it at the surface, where the stretch of the springs is forgotten.
        most = areas * slope * depth / dt
        carried = jnp.where(depth > 0, jnp.minimum(memory.normal_force, most), 0.0)
        return FrictionLaw(
            offset=areas[:, None] * wanted,
            slope=areas * slope,
            arm=velocity_map(arms)[..., COMPONENTS[self.kind]],
            bound=self.medium.friction * carried,
        )

    def remember(self, foot, memory: Memory, law: FrictionLaw, twist, dt) -> Memory:
        """Anchors slip by what the springs cannot hold.

        With force f per area over the step, a spring in series with the sliding contact is left with the stretch
        s + dt (f - k s) / c, s being its stretch before: s - dt u where the point sticks, and always at most what the
        work done on it pays for (docs/media.md).
        """
        arms, _, stretch = self._points(foot, memory)
        stiffness, damping = self._coefficients(foot, memory.anchor)
        force = law.point_forces(twist)
        change = force / self._areas(foot)[:, None] - stiffness * stretch
        left = stretch + dt * change / slope_of(stiffness, damping, dt)
        if self.sole.rolls:
            tangential = left * np.array([1, 1, 0], left.dtype)
            return Memory(tangential @ foot.surface.T, force[:, 2])
        moved = arms + dt * (law.arm * twist).sum(-1) + left
        return Memory(foot.position + moved @ foot.surface.T, force[:, 2])

    def stored_energy(self, foot, memory) -> Float[Array, ""]:
        _, _, stretch = self._points(foot, memory)
        stiffness, _ = self._coefficients(foot, memory.anchor)
        return (stiffness * self._areas(foot) * (stretch**2).sum(-1)).sum() / 2

    def _points(self, foot: FootInGround, memory: Memory):
        """Arm from the reference point, depth, and stretch of the spring of every point (none above the surface),
        surface frame."""
        sole = self.sole
        # A ball has its points where it touches; a half-cylinder along its axis, which pitching leaves where they are.
        arms = sole.points @ foot.rotation.T
        depth = foot.depth - arms[:, 2]
        anchor = memory.anchor
        anchored = anchor @ foot.surface if sole.rolls else (anchor - foot.position) @ foot.surface - arms
        tangential = jnp.where(depth[:, None] > 0, anchored[:, :2], 0.0)
        return arms, depth, jnp.concatenate([tangential, jnp.maximum(depth, 0.0)[:, None]], -1)

    def _areas(self, foot: FootInGround) -> Float[Array, " p"]:
        """Areas of the points, projected on the surface (the factor |e3' R e3| of eqs 9 and 10), m2."""
        projection = 1.0 if self.sole.rolls else jnp.abs(foot.rotation[2, 2])
        return self.sole.areas * jnp.maximum(projection, 1e-3)

    def _coefficients(self, foot: FootInGround, anchor: Float[Array, "p 3"]):
        """Stiffness and damping at the foot's place."""
        place = self._place(foot, anchor)
        return value_at(self.medium.stiffness, place), value_at(self.medium.damping, place)

    def _place(self, foot: FootInGround, anchor: Float[Array, "p 3"]) -> Float[Array, "3"]:
        sole = self.sole
        return foot.position if sole.rolls else sole.areas @ anchor / sole.area
