"""Memory of granular ground: resistance drops when a foot stops going down, and comes back over some way.

Wrench spaces answer to the present only (zhu2019 names this the missing piece). Grains under a foot that goes down
are packed and carry it; when the foot turns sideways or up they follow only in part, and where it comes back they
are loose at first. What the ground remembers of a foot is one number, the *thrust* m in [-1, 1]: how much of its
latest way went down, forgotten exponentially over a length l of way (rate-independent, as grains are),

    dm/ds = (c - m) / l,      c = -v_z / |v|,      s the way of the foot,

and the wrench space shrinks with it: vertical forces by f(m), all wrenches by g(m), both smooth steps from `vertical`
and `least` at thrusts below `start` to 1 above `end`. The thrust of the step before is used, so that a step stays one
convex problem. A wrench space that shrinks towards the origin, which it holds, never adds energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium
from softground.media.parameters import check_positive
from softground.media.round_space import RoundSupport
from softground.media.smooth import smooth_step
from softground.media.wrench_space import SupportFunction, WrenchSpace
from softground.robots.shapes import Shape

FRESH = 1.0
"""Thrust of ground that no foot has been in."""
UP = 2
"""Component of a twist or wrench along the surface's normal."""


class Remembering(Medium):
    """A granular medium (`ground`: a wrench space, or one that makes them for feet) that remembers."""

    name: ClassVar[str] = "remembering"

    ground: Medium
    length: Float[Array, ""]  # m, of way over which the ground forgets
    start: Float[Array, ""]  # dimensionless thrust below which the wrench space is smallest
    end: Float[Array, ""]  # dimensionless thrust above which it is whole
    vertical: Float[Array, ""]  # share of the vertical force left at the least, on top of `least`
    least: Float[Array, ""]  # share of all wrenches left at the least

    def __init__(
        self,
        ground: Medium,
        length: float = 0.007,
        *,
        start: float = -0.17,
        end: float = 0.77,
        vertical: float = 0.1,
        least: float = 0.57,
    ):
        """The defaults were identified on a foot that DEM drove along a curve through beads (docs/zhu2019.md)."""
        check_positive("length of the ground's memory", length)
        if is_known(start) and is_known(end) and not -1 <= start < end <= 1:
            raise MediumError(f"thrusts must satisfy -1 <= start < end <= 1, got {start} and {end}")
        for label, value in {"vertical": vertical, "least": least}.items():
            if is_known(value) and not 0 <= value <= 1:
                raise MediumError(f"{label} is a share between 0 and 1, got {value}")
        self.ground = ground
        self.length, self.start, self.end = as_float(length), as_float(start), as_float(end)
        self.vertical, self.least = as_float(vertical), as_float(least)

    def for_foot(self, shape: Shape, planar: bool) -> RememberingFoot:
        space = self.ground.for_foot(shape, planar)
        if not isinstance(space, WrenchSpace):
            raise MediumError(f"memory is for granular ground (wrench spaces), not for {type(self.ground).__name__}")
        return RememberingFoot(medium=self, ground=space, kind=space.kind)

    def for_body(self, shape: Shape, planar: bool) -> FootMedium:
        """What the ground remembers is of feet only."""
        return self.ground.for_body(shape, planar)

    def under_bodies(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        return self.ground.under_bodies(shapes, planar)


class RememberingFoot(FootMedium):
    """A wrench space that is as large as a foot's last movements leave it."""

    medium: Remembering
    ground: WrenchSpace
    kind: str = eqx.field(static=True)

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        return self.ground.reference(foot)

    def initial_memory(self, foot: FootInGround) -> Float[Array, ""]:
        return jnp.full_like(foot.depth, FRESH)

    def law(self, foot: FootInGround, memory: Float[Array, ""], dt) -> SupportFunction | RoundSupport:
        whole = self.ground.law(foot, (), dt)
        assert isinstance(whole, SupportFunction | RoundSupport)
        return whole.scaled(self.shares(memory).astype(foot.depth.dtype))

    def shares(self, thrust: Float[Array, ""]) -> Float[Array, " n"]:
        """Factors on the components of every vertex, between 0 and 1."""
        x = (thrust - self.medium.start) / (self.medium.end - self.medium.start)
        step = smooth_step(x)
        every = self.medium.least + (1 - self.medium.least) * step
        upward = self.medium.vertical + (1 - self.medium.vertical) * step
        return jnp.where(COMPONENTS[self.kind] == UP, upward * every, every)

    def remember(self, foot: FootInGround, memory, law, twist, dt) -> Float[Array, ""]:
        components = COMPONENTS[self.kind]
        velocity = twist[np.flatnonzero(components < 3)]
        speed = jnp.sqrt((velocity**2).sum() + 1e-18)
        down = -twist[int(np.flatnonzero(components == UP)[0])] / speed
        kept = jnp.exp(-speed * dt / self.medium.length)
        # A foot in the air forgets: where it lands the ground is taken to be fresh.
        return jnp.where(foot.depth > 0, down + (memory - down) * kept, FRESH)

    def outside_data(self, foot: FootInGround) -> Bool[Array, ""]:
        return self.ground.outside_data(foot)
