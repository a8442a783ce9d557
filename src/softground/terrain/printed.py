"""A medium whose surface and strength are what feet have left of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.media.base import FootInGround, FootMedium, Medium
from softground.robots.shapes import Shape
from softground.terrain.footprints import Felt, Footprints
from softground.terrain.sums import SumLaw


class PrintedMemory(eqx.Module):
    """What the ground remembers of a foot, what the foot feels of the ground's memory, and where it was."""

    ground: Any
    felt: Felt
    foot: FootInGround  # m: at the start of the last step


class Printed(Medium):
    """A medium that feet meet as prints have left it; the simulator brings what they feel up to date."""

    name: ClassVar[str] = "printed"

    ground: Medium
    footprints: Footprints

    def for_foot(self, shape: Shape, planar: bool) -> PrintedFoot:
        return self.under_feet([shape], planar)[0]

    def under_feet(self, shapes: Sequence[Shape], planar: bool) -> list[PrintedFoot]:
        feet = self.ground.under_feet(shapes, planar)
        return [PrintedFoot(footprints=self.footprints, ground=ground, kind=ground.kind) for ground in feet]


class PrintedFoot(FootMedium):
    """A medium under one foot, as prints have left it."""

    footprints: Footprints
    ground: FootMedium
    kind: str = eqx.field(static=True)

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        return self.ground.reference(foot)

    def place(self, foot: FootInGround, memory: PrintedMemory) -> Float[Array, "3"]:
        return self.ground.place(foot, memory.ground)

    def initial_memory(self, foot: FootInGround) -> PrintedMemory:
        return PrintedMemory(self.ground.initial_memory(foot), Felt.fresh(foot), foot)

    def law(self, foot: FootInGround, memory: PrintedMemory, dt) -> SumLaw:
        inner = self.ground.law(self._felt(foot, memory), memory.ground, dt)
        return SumLaw((inner,), (memory.felt.firmness,), (None,))

    def remember(self, foot: FootInGround, memory: PrintedMemory, law: SumLaw, twist, dt) -> PrintedMemory:
        inner = self.ground.remember(self._felt(foot, memory), memory.ground, law.laws[0], twist, dt)
        return PrintedMemory(inner, memory.felt, foot)

    def stored_energy(self, foot: FootInGround, memory: PrintedMemory) -> Float[Array, ""]:
        return memory.felt.firmness * self.ground.stored_energy(self._felt(foot, memory), memory.ground)

    def outside_data(self, foot: FootInGround) -> Bool[Array, ""]:
        return self.ground.outside_data(foot)

    def _felt(self, foot: FootInGround, memory: PrintedMemory) -> FootInGround:
        return self.footprints.felt_depth(foot, jnp.asarray(memory.felt.level))
