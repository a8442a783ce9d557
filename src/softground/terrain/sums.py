"""Several media under one foot: the potentials that they would have alone, weighted and added.

    Phi(u) = sum_i w_i Phi_i(T_i u),      w_i >= 0

is convex, being a sum of convex functions of linear ones, and needs no switch anywhere. T_i takes the twist of the foot
to what medium i works with: its components, at its reference point. Where the media agree on these, T_i is none; else
the sum works with all components at the foot's origin (a ball on springs is pushed where it touches, in sand at its
middle).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.media.base import COMPONENTS, Derivatives, FootInGround, FootMedium, Law, Medium, check_is_medium
from softground.robots.rotations import skew
from softground.robots.shapes import Shape


class SumLaw(Law):
    """Potentials, weighted and added."""

    laws: tuple[Law, ...]
    weights: tuple[Float[Array, ""], ...]  # factors
    maps: tuple[Float[Array, "m n"] | None, ...]  # from the twist to what each law works with

    def potential(self, twist):
        return sum(w * law.potential(_mapped(turn, twist)) for law, w, turn in self._parts)

    def wrench(self, twist):
        return sum(w * _back(turn, law.wrench(_mapped(turn, twist))) for law, w, turn in self._parts)

    def response(self, twist):
        wrenches, stiffnesses = [], []
        for law, w, turn in self._parts:
            wrench, stiffness = law.response(_mapped(turn, twist))
            wrenches.append(w * _back(turn, wrench))
            stiffnesses.append(w * (stiffness if turn is None else turn.T @ stiffness @ turn))
        return sum(wrenches), sum(stiffnesses)

    def along(self, twist, direction) -> SumAlongLine:
        lines = [law.along(_mapped(turn, twist), _mapped(turn, direction)) for law, _, turn in self._parts]
        return SumAlongLine(tuple(lines), self.weights)

    @property
    def _parts(self):
        return list(zip(self.laws, self.weights, self.maps, strict=True))


class SumAlongLine(eqx.Module):
    """Potentials on a line of twists, weighted and added."""

    lines: tuple[Any, ...]
    weights: tuple[Float[Array, ""], ...]

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        parts = [line.derivatives(t) for line in self.lines]
        weights = jnp.stack(self.weights)
        value, slope, curvature = ((weights * jnp.stack(of)).sum() for of in zip(*parts, strict=True))
        return value, slope, curvature


class Sum(Medium):
    """Base of media that are made of others: a subclass says how much of each a foot meets, and how deep."""

    parts: eqx.AbstractVar[tuple[Medium, ...]]

    def __check_init__(self):
        for part in self.parts:
            check_is_medium(f"what {self.name} ground is made of", part)

    def weight(self, part: int, place: Float[Array, "3"], foot: FootInGround) -> Float[Array, ""]:
        """Factor on the potential of a part at a place (world, m), under a foot."""
        raise NotImplementedError

    def buried(self, part: int, place: Float[Array, "3"]) -> Float[Array, ""] | float:
        """How far below the surface (m) a part begins at a place."""
        return 0.0

    def for_foot(self, shape: Shape, planar: bool) -> SumFoot:
        return self.under_feet([shape], planar)[0]

    def under_feet(self, shapes: Sequence[Shape], planar: bool) -> list[SumFoot]:
        feet = zip(*(part.under_feet(shapes, planar) for part in self.parts), strict=True)
        return [_bound(self, media, planar) for media in feet]

    def for_body(self, shape: Shape, planar: bool) -> SumFoot:
        return self.under_bodies([shape], planar)[0]

    def under_bodies(self, shapes: Sequence[Shape], planar: bool) -> list[SumFoot]:
        bodies = zip(*(part.under_bodies(shapes, planar) for part in self.parts), strict=True)
        return [_bound(self, media, planar) for media in bodies]


def _bound(medium: Sum, media: tuple[FootMedium, ...], planar: bool) -> SumFoot:
    kind, alike = _shared(media, planar)
    return SumFoot(medium=medium, media=media, kind=kind, alike=alike)


def _shared(media: Sequence[FootMedium], planar: bool) -> tuple[str, bool]:
    """Components that all media work with, and whether they do so at one reference point as they are."""
    here = FootInGround(np.zeros(()), np.zeros(3), np.eye(3), np.eye(3))
    references = [medium.reference(here) for medium in media]
    points = [np.zeros(3) if point is None else np.asarray(point) for point in references]
    kinds = {medium.kind for medium in media}
    if len(kinds) == 1 and all(np.array_equal(point, points[0]) for point in points):
        return kinds.pop(), True
    if planar and kinds != {"planar"}:
        raise MediumError(f"media of a planar robot work with planar twists, got {sorted(kinds)}")
    return ("planar" if planar else "spatial"), False


class SumFoot(FootMedium):
    """Several media under one foot."""

    medium: Sum
    media: tuple[FootMedium, ...]
    kind: str = eqx.field(static=True)
    alike: bool = eqx.field(static=True)  # whether all media work with one kind of twist at one point

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        return self.media[0].reference(foot) if self.alike else None

    def place(self, foot: FootInGround, memory: tuple[Any, ...]) -> Float[Array, "3"]:
        return foot.position

    def initial_memory(self, foot: FootInGround) -> tuple[Any, ...]:
        return tuple(medium.initial_memory(self._placed(i, foot, foot.position)) for i, medium in enumerate(self.media))

    def law(self, foot: FootInGround, memory: tuple[Any, ...], dt) -> SumLaw:
        laws, weights = [], []
        for i, (medium, remembered) in enumerate(zip(self.media, memory, strict=True)):
            place = medium.place(foot, remembered)
            laws.append(medium.law(self._placed(i, foot, place), remembered, dt))
            weights.append(jnp.asarray(self.medium.weight(i, place, foot), foot.depth.dtype))
        return SumLaw(tuple(laws), tuple(weights), tuple(self._map(medium, foot) for medium in self.media))

    def remember(self, foot: FootInGround, memory: tuple[Any, ...], law: SumLaw, twist, dt) -> tuple[Any, ...]:
        after = []
        for i, (medium, remembered) in enumerate(zip(self.media, memory, strict=True)):
            placed = self._placed(i, foot, medium.place(foot, remembered))
            after.append(medium.remember(placed, remembered, law.laws[i], _mapped(law.maps[i], twist), dt))
        return tuple(after)

    def untouched(self, memory: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(medium.untouched(remembered) for medium, remembered in zip(self.media, memory, strict=True))

    def stored_energy(self, foot: FootInGround, memory: tuple[Any, ...]) -> Float[Array, ""]:
        total = jnp.zeros_like(foot.depth)
        for i, (medium, remembered) in enumerate(zip(self.media, memory, strict=True)):
            place = medium.place(foot, remembered)
            stored = medium.stored_energy(self._placed(i, foot, place), remembered)
            total = total + self.medium.weight(i, place, foot) * stored
        return total

    def outside_data(self, foot: FootInGround) -> Bool[Array, ""]:
        """Whether the foot is outside the data of a medium that it meets."""
        beyond = jnp.zeros_like(foot.depth, dtype=bool)
        for i, medium in enumerate(self.media):
            there = medium.outside_data(self._placed(i, foot, foot.position))
            beyond = beyond | (there & (self.medium.weight(i, foot.position, foot) > 0))
        return beyond

    def _placed(self, part: int, foot: FootInGround, place) -> FootInGround:
        """The foot as a part sees it: below its own upper end."""
        return replace(foot, depth=foot.depth - self.medium.buried(part, place))

    def _map(self, medium: FootMedium, foot: FootInGround) -> Float[Array, "m n"] | None:
        """From the sum's twist to a medium's: v_i = v + w x r, and of these its components."""
        if self.alike:
            return None
        whole = np.eye(6, dtype=foot.depth.dtype)
        reference = medium.reference(foot)
        if reference is not None:
            whole = jnp.asarray(whole).at[:3, 3:].set(-skew(jnp.asarray(reference)))
        return whole[COMPONENTS[medium.kind]][:, COMPONENTS[self.kind]]


def _mapped(turn: Float[Array, "m n"] | None, twist: Float[Array, " n"]) -> Float[Array, " m"]:
    return twist if turn is None else (turn * twist).sum(-1)


def _back(turn: Float[Array, "m n"] | None, wrench: Float[Array, " m"]) -> Float[Array, " n"]:
    return wrench if turn is None else (turn * wrench[:, None]).sum(0)
