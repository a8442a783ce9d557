"""Sand that turns solid under a foot, as a medium (chen2026, after Chen et al. 2025).

Grains under a sole that goes down jam into a wedge with flanks of the friction angle. The wedge moves with the foot,
meets the resistance of the grains around it on its faces (8), and adds its mass to the foot's; the foot's sides
bulldoze (9), and with `shear` the grains below it rub sideways:

    ground = Wedge(zeta=1.36).for_foot(HalfCylinder(radius=0.04, width=0.08), planar=True)

One slice of the foot is in `geometry`, the forces on it in `resistance`, a foot in space in `slices`, the potential in
`law`, the derivation in docs/chen2026.md.

Forces act where they arise, on the faces of the wedge, so their torque follows: under a flat sole the centre of
pressure moves to the face that leads; a round sole rolls, and its wedge stays below its lowest point.

The ground remembers the wedge's velocity and mass, for its momentum, and how far the foot has slipped sideways since
it touched down. The wedge lets go of a foot that was lifted in the step before: grains do not pull.
"""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array, as_float
from softground.errors import MediumError
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium, kind_of
from softground.media.parameters import check_not_negative, check_positive
from softground.media.round_space import Rims, RoundSupport
from softground.media.wedge.geometry import Solid, solid_under
from softground.media.wedge.law import ForceSets, WedgeLaw, velocity_maps
from softground.media.wedge.resistance import lateral_force, round_profile, sheared_sets, stress_sets, wall_stress
from softground.media.wedge.slices import Slices, one_slice, two_slices
from softground.media.wedge.sole import Sole, sole_of
from softground.media.wrench_space import DEFAULT_EPS, SupportFunction
from softground.robots.shapes import Shape

FRICTION_ANGLE = float(np.deg2rad(38.0))
"""phi_s, which chen2026 takes for most sands, rad."""


def _as_optional(value) -> Array | None:
    return None if value is None else as_float(value)


class Memory(eqx.Module):
    """What the ground remembers of a foot."""

    velocity: Float[Array, "3"]  # m/s, world, of the wedge in the last step
    mass: Float[Array, ""]  # kg, of the wedge that went along
    slip: Float[Array, ""]  # m, to the foot's left since touch-down; zero of balls and in the plane


class Wedge(Medium):
    """Granular ground with a solid wedge under the sole.

    zeta, density and friction angle are those of chen2026's sand; the paper does not give lambda and the growth.
    The paper's wedge moves as the lowest point of a round foot does; grains hold much less of its pitching (`grip`,
    identified in docs/chen2026.md).
    A density of zero leaves the added mass out. As printed, only the foot's sides resist a sideways motion (9); with
    `shear` the grains below its wedge do so as well, which feet that carry need (`resistance`; 1: as in plane RFT). A
    ball has no sides: (8) holds in the plane of its motion, and neither (9) nor shear is added.
    """

    name: ClassVar[str] = "wedge"

    zeta: Float[Array, ""] = eqx.field(converter=as_float, default=1.36)  # N/cm3, stress per depth on a plate
    saturation_length: Float[Array, ""] = eqx.field(converter=as_float, default=0.05)  # m, lambda of (9)
    density: Float[Array, ""] = eqx.field(converter=as_float, default=1660.0)  # kg/m3, of the solid grains
    growth: Float[Array, ""] = eqx.field(converter=as_float, default=1.0)  # m of wedge per m of depth, flat soles
    eps: Float[Array, ""] = eqx.field(converter=as_float, default=DEFAULT_EPS)  # W, temperature
    friction_angle: float = eqx.field(static=True, converter=float, default=FRICTION_ANGLE)  # rad, phi_s
    shear: Float[Array, ""] | None = eqx.field(
        converter=_as_optional, default=None
    )  # share of plane RFT's; None: no shear
    grip: Float[Array, ""] | None = eqx.field(
        converter=_as_optional, default=None
    )  # share of a round foot's pitching in which its wedge takes part; None: all of it

    def __check_init__(self):
        for label in ("zeta", "saturation_length", "growth", "eps"):
            check_positive(f"{label} of a wedge medium", getattr(self, label))
        check_not_negative("density of a wedge medium", self.density)
        if self.shear is not None:
            check_not_negative("shear of a wedge medium", self.shear)
        if self.grip is not None:
            check_not_negative("grip of a wedge medium", self.grip)
        if not 0 < self.friction_angle < np.pi / 2:
            raise MediumError(f"friction_angle must lie between 0 and pi/2 rad, got {self.friction_angle}")

    def for_foot(self, shape: Shape, planar: bool) -> WedgeFoot:
        return WedgeFoot(medium=self, sole=sole_of(shape), kind=kind_of(shape, planar))


class WedgeFoot(FootMedium):
    """The wedge under one sole."""

    medium: Wedge
    sole: Sole
    kind: str = eqx.field(static=True)

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        """The lowest point of a round sole, wherever it has rolled to; the centre of a flat one."""
        if self.sole.is_flat:
            return None
        return -self.sole.clearance * np.array([0, 0, 1], foot.depth.dtype)

    # -- the wedge ---------------------------------------------------------------------------------------

    def slices(self, foot: FootInGround) -> Slices:
        """The slices that stand for this foot."""
        if self.kind != "spatial":
            return one_slice(foot)
        sole = self.sole
        chord = sole.chord(foot.depth, foot.tilt, self.medium.friction_angle)
        return two_slices(foot, sole.across(chord), sole.clearance)

    def solids(self, slices: Slices) -> Solid:
        """The wedge under every slice (leading axis)."""
        under = lambda depth: solid_under(self.sole, depth, slices.tilt, self.medium.friction_angle, self.medium.growth)  # noqa: E731
        return jax.vmap(under)(slices.depths)

    def added_mass(self, solids: Solid) -> Float[Array, ""]:
        """Mass of the solid grains, kg."""
        return self.medium.density * (self._widths(solids) * solids.area).sum()

    def _widths(self, solids: Solid) -> Float[Array, " s"]:
        """Width for which each slice stands, m."""
        return jax.vmap(self.sole.across)(solids.chord) / len(solids.area)

    # -- the step ----------------------------------------------------------------------------------------

    def initial_memory(self, foot: FootInGround) -> Memory:
        return Memory(jnp.zeros(3, foot.depth.dtype), jnp.zeros_like(foot.depth), jnp.zeros_like(foot.depth))

    def law(self, foot: FootInGround, memory: Memory, dt) -> WedgeLaw:
        slices = self.slices(foot)
        solids = self.solids(slices)
        if self.kind == "point":
            groups = (self._round_faces(solids),)
        elif self.kind == "planar":
            groups = (self._faces(slices, solids),)
        else:
            groups = (self._faces(slices, solids), self._sides(slices, solids, memory.slip))
        velocity = (foot.surface * memory.velocity[:, None]).sum(0)
        mass = jnp.where(velocity[2] > 0, 0.0, self.added_mass(solids))
        # Grains that joined were at rest; those that stayed behind took their momentum with them.
        kept = jnp.minimum(memory.mass, mass) / jnp.where(mass > 0, mass, 1.0)
        at_reference = self._arms(slices, jnp.zeros_like(velocity))
        return WedgeLaw(groups, mass, at_reference, kept * velocity, dt)

    def _faces(self, slices: Slices, solids: Solid) -> ForceSets:
        """Every face of every slice, at the place where its force acts."""
        faces, dtype = solids.faces, slices.depth.dtype
        stresses = self._stresses().astype(dtype) @ slices.turn.T
        forces = (self.medium.zeta * self._widths(solids)[:, None] * faces.load)[..., None, None] * stresses
        offset = jnp.broadcast_to(slices.offset[:, None], faces.x.shape)
        return self._sets(forces, self._arms(slices, slices.places(faces.x, faces.depth, offset)))

    def _arms(self, slices: Slices, places: Float[Array, "*p 3"]) -> Float[Array, "*p 3 n"]:
        """Velocity of points of the wedge per unit twist. Below a round sole it goes with the foot's axis, and turns
        about it with a share of the foot's pitching only: the sole slides over the grains, which stay behind."""
        components = COMPONENTS[self.kind]
        arms = velocity_maps(places, components)
        if self.medium.grip is None or self.sole.is_flat or self.kind == "point":
            return arms
        left = slices.turn[:, 1]
        to_axis = self.sole.clearance * slices.turn[:, 2] - places
        slid = (1 - self.medium.grip) * jnp.cross(jnp.broadcast_to(left, to_axis.shape), to_axis)
        pitching = jnp.concatenate([jnp.zeros_like(left), left])[components]
        return arms + slid[..., None] * pitching

    def _round_faces(self, solids: Solid) -> RoundSupport:
        """The flanks of a ball's wedge in the plane of its motion, whichever that is."""
        load, dtype = solids.faces.load[0, 0], solids.faces.load.dtype
        profile = jnp.asarray(round_profile(self.medium.friction_angle), dtype)
        profile = self.medium.zeta * self._widths(solids)[0] * load * profile
        away, up = profile[:, :1], profile[:, 1:]
        x, y, z = np.eye(3, dtype=dtype)
        return RoundSupport(Rims(up * z, away * x, away * y), jnp.asarray(self.medium.eps, dtype))

    def _stresses(self) -> Float[Array, "f k 3"]:
        """That span the forces on every face, N/m3 at zeta = 1: x forwards, y left."""
        if self.medium.shear is None or self.kind == "planar":
            return jnp.asarray(stress_sets(self.medium.friction_angle, self.sole.is_flat))
        return sheared_sets(self.medium.friction_angle, self.sole.is_flat, self.medium.shear)

    def _sides(self, slices: Slices, solids: Solid, slip: Float[Array, ""]) -> ForceSets:
        """Left and right side, each cut in a front and a rear half so that they resist a turn as well."""
        left = np.array([[1, 1], [-1, -1]], slices.depth.dtype)
        ahead = left.T
        offset = left * self.sole.across(jax.tree.map(jnp.mean, solids.chord)) / 2
        depth = jnp.maximum(slices.depth_at(offset), 0.0)
        x = ahead * solids.chord.length.mean() / math.sqrt(12)
        size = lateral_force(depth, left * slip, self.medium.saturation_length, wall_stress())
        forces = (-self.medium.zeta / 2 * left * size)[..., None, None] * slices.turn[:, 1]
        with_none = jnp.concatenate([forces, jnp.zeros_like(forces)], axis=-2)
        arms = velocity_maps(slices.places(x, 2 / 3 * depth, offset), COMPONENTS[self.kind])
        return self._sets(with_none, arms)

    def _sets(self, forces: Float[Array, "a b k 3"], arms: Float[Array, "a b 3 n"]) -> ForceSets:
        vertices = forces.reshape(-1, *forces.shape[2:])
        eps = jnp.broadcast_to(jnp.asarray(self.medium.eps, forces.dtype), len(vertices))
        return ForceSets(SupportFunction(vertices, eps), arms.reshape(-1, *arms.shape[2:]))

    def remember(self, foot: FootInGround, memory: Memory, law: WedgeLaw, twist, dt) -> Memory:
        velocity, slip = law.wedge_velocity(twist), memory.slip
        if self.kind == "spatial":
            sideways = (velocity * self.slices(foot).turn[:, 1]).sum()
            slip = jnp.where(foot.depth > 0, slip + dt * sideways, 0.0)
        return Memory((foot.surface * velocity).sum(-1), law.mass, slip)

    def stored_energy(self, foot: FootInGround, memory: Memory) -> Float[Array, ""]:
        """Kinetic energy of the solid grains, J: the foot can get it back when it slows down."""
        return memory.mass * (memory.velocity**2).sum() / 2

    def outside_data(self, foot: FootInGround) -> Bool[Array, ""]:
        """A flat sole steeper than the wedge's flanks."""
        if not self.sole.is_flat:
            return jnp.zeros_like(foot.depth, dtype=bool)
        return (foot.depth > 0) & (jnp.abs(self.slices(foot).tilt) > self.medium.friction_angle)
