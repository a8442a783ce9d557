"""Springs and dampers under a body of any shape and orientation.

The points on which a body can stand (`robots.shapes.rolling_points`) have springs and dampers of the ground's
stiffness and damping times the horizontal area that they stand for now, and friction of their own, as the points of a
sole have (`medium`). A point that rolls is another point of the body from step to step, so the ground remembers the
stretch of its spring and not where it is anchored.

Areas follow the attitude of the body. A spring that stands for more area than before would hold more energy than was
put in, so its stretch shrinks until it holds what it did: stretch^2 area stays, and the stretch is less than the
depth. What the damper takes from then on goes into that spring until it is as far stretched as its point is deep: with
the energy D that a point loses in a step,

    stretch'^2 = min(depth'^2, (stretch - dt u)^2 + 2 D / (k area)),

so that a body which tips from an edge onto a face ends where the face carries it, if it comes down with enough of a
bump to pay for it, and else a little deeper. With that, and the damper that pays for the spring at the start of a step,
the ground never gives more than it was given, whatever the body does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import COMPONENTS, FootInGround, FootMedium
from softground.media.visco_elastic.fields import value_at
from softground.media.visco_elastic.friction import FrictionLaw, velocity_map

if TYPE_CHECKING:
    from softground.media.visco_elastic.medium import ViscoElastic

LEAST_AREA = 1e-9
"""m2; of a point that looks up."""


def slope_of(stiffness, damping, dt):
    """c, by which the force per area of a step falls with the velocity at its end."""
    return jnp.maximum(damping, dt * stiffness / 2)


def _in_components(arm: Float[Array, "p 3 6"], kind: str) -> Float[Array, "p 3 n"]:
    return arm if kind == "spatial" else arm[..., COMPONENTS[kind]]


class BodyMemory(eqx.Module):
    """What the ground remembers of a body's points."""

    stretch: Float[Array, "p 3"]  # m, world, of the springs
    area: Float[Array, " p"]  # m2, of the springs with that stretch; zero: none is remembered
    normal_force: Float[Array, " p"]  # N, in the last step


class ViscoElasticBody(FootMedium):
    """The springs and dampers under one body: the fields of `RollingPoints`."""

    at_points: ClassVar[bool] = True

    medium: ViscoElastic
    centre: Float[Array, "p 3"]
    roundness: Float[Array, "p 3 3"]
    width: Float[Array, " p"]
    vector_area: Float[Array, "p 3"]
    reaches: Float[Array, ""]  # m, `overhang`
    clearance: Float[Array, ""]  # m, of the origin over the point whose depth is given: of a foot that rolls
    kind: str = eqx.field(static=True)

    @property
    def overhang(self) -> Float[Array, "*b"]:
        return self.reaches

    def initial_memory(self, foot: FootInGround) -> BodyMemory:
        """Springs relaxed along the surface, and carrying the body where it is below."""
        arms, areas = self._points(foot)
        depth = jnp.maximum(self._depths(foot, arms), 0.0)
        stiffness = value_at(self.medium.stiffness, foot.position)
        return BodyMemory(depth[:, None] * foot.surface[:, 2], areas, stiffness * areas * depth)

    def law(self, foot: FootInGround, memory: BodyMemory, dt) -> FrictionLaw:
        arms, areas = self._points(foot)
        depth, stretch = self._stretch(foot, arms, areas, memory)
        stiffness, damping = self._coefficients(foot)
        slope = slope_of(stiffness, damping, dt)
        # As under a sole: a point above the surface is resisted from there on, and friction vanishes at the surface.
        normal = jnp.where(depth < 0, slope / dt * depth, stiffness * stretch[:, 2])
        wanted = jnp.concatenate([stiffness * stretch[:, :2], normal[:, None]], -1)
        carried = jnp.where(depth > 0, jnp.minimum(memory.normal_force, areas * slope * stretch[:, 2] / dt), 0.0)
        return FrictionLaw(
            offset=areas[:, None] * wanted,
            slope=areas * slope,
            arm=_in_components(velocity_map(arms), self.kind),
            bound=self.medium.friction * carried,
        )

    def remember(self, foot: FootInGround, memory: BodyMemory, law: FrictionLaw, twist, dt) -> BodyMemory:
        """Springs follow their points, and slip along the surface by what they cannot hold, as under a sole."""
        arms, areas = self._points(foot)
        depth, stretch = self._stretch(foot, arms, areas, memory)
        stiffness, damping = self._coefficients(foot)
        force, velocity = law.point_forces(twist), (law.arm * twist).sum(-1)
        change = force[:, :2] / areas[:, None] - stiffness * stretch[:, :2]
        along = stretch[:, :2] + dt * change / slope_of(stiffness, damping, dt)
        way = dt * velocity[:, 2]
        normal = jnp.maximum(jnp.where(depth > 0, stretch[:, 2], depth) - way, 0.0)
        lost = jnp.maximum(stretch[:, 2] ** 2 - normal**2 - 2 * way * force[:, 2] / (stiffness * areas), 0.0)
        short = (depth - way > normal) & (lost > 0)
        longer = jnp.sqrt(jnp.where(short, normal**2 + lost, 1.0))
        normal = jnp.where(short, jnp.minimum(depth - way, longer), normal)
        stretched = jnp.concatenate([along, normal[:, None]], -1)
        return BodyMemory((stretched[:, None, :] * foot.surface).sum(-1), areas, force[:, 2])

    def untouched(self, memory: BodyMemory) -> BodyMemory:
        return jax.tree.map(jnp.zeros_like, memory)

    def stored_energy(self, foot: FootInGround, memory: BodyMemory) -> Float[Array, ""]:
        arms, areas = self._points(foot)
        _, stretch = self._stretch(foot, arms, areas, memory)
        return (value_at(self.medium.stiffness, foot.position) * areas * (stretch**2).sum(-1)).sum() / 2

    def _points(self, foot: FootInGround) -> tuple[Float[Array, "p 3"], Float[Array, " p"]]:
        """Where the points are from the body's origin (m, surface frame), and the areas that they stand for (m2)."""
        up = foot.rotation[2]  # the surface's normal in the body's frame
        down = (self.roundness * up).sum(-1)
        squared = (down * up).sum(-1)
        round_ = squared > 0
        size = jnp.sqrt(jnp.where(round_, squared, 1.0))
        arms = ((self.centre - down / size[:, None])[:, None, :] * foot.rotation).sum(-1)
        areas = self.width * jnp.where(round_, size, 0.0) - (self.vector_area * up).sum(-1)
        return arms, jnp.maximum(areas, LEAST_AREA)

    def _depths(self, foot: FootInGround, arms: Float[Array, "p 3"]) -> Float[Array, " p"]:
        return foot.depth - self.clearance.astype(foot.depth.dtype) - arms[:, 2]

    def _stretch(self, foot: FootInGround, arms: Float[Array, "p 3"], areas: Float[Array, " p"], memory: BodyMemory):
        """Depth of the points and stretch of their springs, none above the surface; surface frame.

        Springs whose area changed, because the body turned, keep the energy that they had, at most: stretch^2 area.
        """
        depth = self._depths(foot, arms)
        kept = (memory.stretch[:, None, :] * foot.surface.T).sum(-1)
        known = memory.area > 0
        share = jnp.sqrt(jnp.where(known, memory.area / areas, 1.0))
        # Where the surface curves a spring that was stretched along it may seem to pull.
        normal = jnp.where(known, jnp.clip(share * kept[:, 2], 0.0, depth), depth)
        stretch = jnp.concatenate([jnp.minimum(share, 1.0)[:, None] * kept[:, :2], normal[:, None]], -1)
        return depth, jnp.where(depth[:, None] > 0, stretch, 0.0)

    def _coefficients(self, foot: FootInGround):
        return value_at(self.medium.stiffness, foot.position), value_at(self.medium.damping, foot.position)
