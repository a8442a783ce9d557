"""Ground in elements, bound to a body: from its pose and the ground's memory to the potential of one step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import COMPONENTS, FootInGround, FootMedium
from softground.media.elements.bearing import depth_more, width_and_length
from softground.media.elements.following import PLAIN_STRESSES, following, remembered
from softground.media.elements.inertia import cone_alone, cone_mass
from softground.media.elements.law import ElementsLaw, Motion
from softground.media.elements.stress_sets import cohesive, ellipsoids
from softground.media.elements.submerged import submerged
from softground.media.resistive.stress import GENERIC

if TYPE_CHECKING:
    from softground.media.elements.medium import Elements

FASTEST_CREEP = 0.1
"""Greatest speed over which corners are rounded, m/s: that of bodies that hardly touch."""
USUAL_DEPTH = 0.02
"""Depth at which the scale holds where stress does not grow in proportion to depth, m."""
PLANE = np.array([0, 2])


class Memory(eqx.Module):
    """What the ground remembers of a body; None where it does not."""

    past: Float[Array, " n"] | None  # direction of its twist, spins times its size
    momentum: Float[Array, " e"] | None  # N s, of the grains under each element, along its normal


class InGround(NamedTuple):
    """Elements as they lie in the ground, in the surface frame."""

    arm: Float[Array, "e 3"]  # m, from the origin to the centre of the load
    normal: Float[Array, "e 3"]
    depth: Float[Array, " e"]  # m, mean
    share: Float[Array, " e"]  # of the element that is in the ground


class ElementsFoot(FootMedium):
    """Ground in elements, bound to a body."""

    medium: Elements
    centre: Float[Array, "e 3"]  # m, body frame
    normal: Float[Array, "e 3"]
    area: Float[Array, " e"]  # m2
    moments: Float[Array, "e 3 3"]  # m2
    corners: Float[Array, "e c 3"] | None  # m, from the centres, where elements are felt as far as these reach
    clearance: Float[Array, ""]  # m, of the body's origin over the point whose depth is given
    half_width: Float[Array, ""]  # m
    is_ball: bool = eqx.field(static=True)
    kind: str = eqx.field(static=True)

    @property
    def remembers(self) -> bool:
        """Whether the next step depends on the last."""
        return self.medium.length is not None or self.medium.added_mass is not None

    def initial_memory(self, foot: FootInGround) -> Memory | tuple[()]:
        if not self.remembers:
            return ()
        zero = jnp.zeros_like(foot.depth)
        past = None if self.medium.length is None else jnp.stack([zero] * len(COMPONENTS[self.kind]), axis=-1)
        momentum = None if self.medium.added_mass is None else zero[..., None] * jnp.zeros_like(self.area)
        return Memory(past, momentum)

    def law(self, foot: FootInGround, memory, dt) -> ElementsLaw:
        medium, area = in_precision((self.medium, self.area), foot.depth.dtype)
        placed = self.placed(foot)
        depth = placed.depth
        if medium.bearing is not None:
            more = depth_more(medium.bearing, *self._width_and_length(foot, area, placed), depth)
            depth = depth + jnp.maximum(-placed.normal[:, 2], 0.0) * more
        if medium.power is not None:
            depth = depth * (depth / USUAL_DEPTH + 1e-6) ** (medium.power - 1)
        load = medium.scale * medium.strength * GENERIC * area * depth
        centre, square = ellipsoids(placed.normal, medium.friction)
        if medium.length is not None:
            past = self.velocities(placed.arm, memory.past / self.sizes(load.dtype))
            shares = medium.level, medium.vertical
            stresses = PLAIN_STRESSES[medium.law]
            centre, square = following(placed.normal, centre, square, past, medium.friction, *shares, stresses)
        load, motion = self._inertia(medium, area, placed, load, centre, square, memory, dt)
        sticks = None
        if medium.cohesion is not None:
            wet = medium.strength * area * placed.share
            sticks = cohesive(placed.normal, wet, medium.cohesion, medium.suction)
        size = load.sum() if sticks is None else load.sum() + sticks[2].sum()
        creep = medium.eps / (size + medium.eps / FASTEST_CREEP)
        centre, square = load[:, None] * centre, (load**2)[:, None, None] * square
        law = ElementsLaw(centre, square, load * creep, levers(placed.arm), motion)
        return in_components(law if sticks is None else law.joined(*sticks, creep), self.kind)

    def _width_and_length(self, foot: FootInGround, area, placed: InGround):
        """Of the area in the ground that looks down, seen from above, m."""
        weight = area * placed.share * jnp.maximum(-placed.normal[:, 2], 0.0)
        level = (jnp.eye(3, dtype=area.dtype) if self.is_ball else foot.rotation)[:2]
        moments = jnp.asarray(self.moments).astype(area.dtype)
        turned = ((moments[:, None] * level[:, None, :]).sum(-1)[:, :, None] * level).sum(-1)  # level M level'
        turned = turned * (placed.share**2)[:, None, None]
        symmetric = np.array([self.is_ball, self.is_ball or self.kind == "planar"]).astype(area.dtype)
        return width_and_length(weight, placed.arm[:, :2], turned, symmetric)

    def _inertia(self, medium, area, placed: InGround, load, centre, square, memory, dt):
        """The load that is left to resistive force theory, and the inertia of grains."""
        if medium.inertia is None and medium.added_mass is None:
            return load, None
        none, normal = jnp.zeros_like(load), placed.normal
        drag = none if medium.inertia is None else medium.inertia * medium.density * area * placed.share
        if medium.added_mass is None:
            return load, Motion(normal, drag, none, none)
        pushed = (square * normal[:, None, :]).sum(-1)
        straight = jnp.maximum((centre * normal).sum(-1) + jnp.sqrt((normal * pushed).sum(-1) + 1e-12), 1e-3)
        mass = self._cone(medium, area, placed)
        flow, left = cone_alone(mass, memory.momentum, load * straight, dt)
        return load * left, Motion(normal, drag, mass / dt, flow)

    def _cone(self, medium, area, placed: InGround) -> Float[Array, " e"]:
        radius = self.half_width.astype(area.dtype)
        return cone_mass(medium.added_mass * medium.density, area, placed.normal[:, 2], placed.depth, radius)

    def remember(self, foot: FootInGround, memory, law, twist, dt):
        if not self.remembers:
            return memory
        medium, area = in_precision((self.medium, self.area), foot.depth.dtype)
        placed, past, momentum = self.placed(foot), memory.past, memory.momentum
        if medium.length is not None:
            after = remembered(past, twist * self.sizes(area.dtype), dt / medium.length)
            past = jnp.where(placed.share.sum() > 0, after, 0.0)  # where a body comes down the ground is fresh
        if medium.added_mass is not None:
            assert isinstance(law, ElementsLaw)
            assert law.motion is not None
            speed = (law.motion.normal * law.velocities(twist)).sum(-1)
            reached = jnp.maximum(speed, law.motion.flow)[: len(area)]
            momentum = self._cone(medium, area, placed) * reached
        return Memory(past, momentum)

    def sizes(self, dtype) -> Float[Array, " n"]:
        """What makes the components of a twist speeds: 1, and for spins the body's size (m)."""
        square = (self.area * (self.centre**2).sum(-1)).sum() / self.area.sum()
        size = jnp.sqrt(square).astype(dtype)
        return jnp.where(COMPONENTS[self.kind] < 3, jnp.ones_like(size), size)

    def velocities(self, arm: Float[Array, "e 3"], twist: Float[Array, " n"]) -> Float[Array, "e 3"]:
        """Of elements, m/s, from the components of a twist."""
        if self.kind == "point":
            return jnp.broadcast_to(twist, arm.shape)
        if self.kind == "planar":
            zero = jnp.zeros_like(twist[0])
            twist = jnp.stack([twist[0], zero, twist[1], zero, twist[2], zero])
        return twist[:3] + (levers(arm) * twist[3:]).sum(-1)

    def placed(self, foot: FootInGround) -> InGround:
        """The elements in the ground. A ball that turns is the ball that it was: its elements do not turn with it."""
        dtype = foot.depth.dtype
        centre, normal, moments = in_precision((self.centre, self.normal, self.moments), dtype)
        rotation = jnp.eye(3, dtype=dtype) if self.is_ball else foot.rotation
        up = rotation[2]
        lean = (moments * up).sum(-1)
        level = foot.depth - self.clearance.astype(dtype)
        reach = None if self.corners is None else (in_precision(self.corners, dtype) * -up).sum(-1).max(-1)
        depth, shift, share = submerged(level - (centre * up).sum(-1), (lean * up).sum(-1), reach)
        loaded = centre - lean * shift[:, None]
        arm, normal = (loaded[:, None, :] * rotation).sum(-1), (normal[:, None, :] * rotation).sum(-1)
        return InGround(arm, normal, depth, share)


def in_precision(tree, dtype):
    """Numbers of a tree in a precision."""
    return jax.tree.map(lambda x: jnp.asarray(x).astype(dtype), tree)


def in_components(law: ElementsLaw, kind: str) -> ElementsLaw:
    """A law in space with the components that a body of this kind has."""
    if kind == "spatial" or law.lever is None:
        return law
    parts = np.arange(3) if kind == "point" else PLANE
    lever = None if kind == "point" else law.lever[:, parts, 1:2]
    motion = None if law.motion is None else replace(law.motion, normal=law.motion.normal[:, parts])
    return ElementsLaw(law.centre[:, parts], law.square[:, parts][:, :, parts], law.rounding, lever, motion)


def levers(arm: Float[Array, "e 3"]) -> Float[Array, "e 3 3"]:
    """Matrices that turn a spin w into w x arm."""
    x, y, z = arm[:, 0], arm[:, 1], arm[:, 2]
    zero = jnp.zeros_like(x)
    return jnp.stack([zero, z, -y, -z, zero, x, y, -x, zero], axis=-1).reshape(-1, 3, 3)
