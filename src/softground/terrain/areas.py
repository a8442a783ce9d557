"""Where something is: areas of the ground, as weights between 0 and 1 with soft borders.

An area is called with a position in the world and says how much of it belongs there: 1 inside, 0 outside, and between
the two over its border a smooth step, so that what a foot meets is twice differentiable in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError
from softground.media.parameters import check_positive
from softground.media.smooth import smooth_step

#: Width of a border, m: some grains.
BORDER = 0.02


class Area(eqx.Module):
    """A part of the ground. `a & b` is where both are, `a | b` where at least one is, `~a` where a is not.

    One of your own is a subclass with `__call__(position)`; its arrays are leaves, and a run file keeps them.
    """

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        """Share of the area at a position in the world (m), from 0 to 1."""
        raise NotImplementedError

    def __and__(self, other: Area) -> Area:
        return Both(self, other)

    def __or__(self, other: Area) -> Area:
        return ~(~self & ~other)

    def __invert__(self) -> Area:
        return Outside(self)


class Between(Area):
    """All of the ground with a coordinate, x or y, between two numbers: a strip, or half of the ground.

    >>> from softground import terrain
    >>> beyond = terrain.Between("x", 1.0)
    >>> [float(beyond(place)) for place in np.array([[0.9, 0, 0], [1.0, 0, 0], [1.1, 0, 0]])]
    [0.0, 0.5, 1.0]
    """

    axis: Literal["x", "y"] = eqx.field(static=True)
    low: Float[Array, ""] = eqx.field(converter=as_float, default=-np.inf)  # m
    high: Float[Array, ""] = eqx.field(converter=as_float, default=np.inf)  # m
    border: Float[Array, ""] = eqx.field(converter=as_float, default=BORDER)  # m, of which half is inside

    def __check_init__(self):
        check_positive("border of an area", self.border)
        if self.axis not in ("x", "y"):
            raise MediumError(f"an area lies along x or y, got {self.axis!r}")
        if is_known(self.low) and is_known(self.high) and not self.low < self.high:
            raise MediumError(f"an area must begin before it ends, got {self.axis} from {self.low} to {self.high} m")

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        place = position["xy".index(self.axis)]
        return _inside(place - self.low, self.border) * _inside(self.high - place, self.border)


class Disc(Area):
    """A round area, a pit say."""

    centre: Float[Array, "2"] = eqx.field(converter=as_float)  # m, x and y
    radius: Float[Array, ""] = eqx.field(converter=as_float)  # m
    border: Float[Array, ""] = eqx.field(converter=as_float, default=BORDER)  # m, of which half is inside

    def __check_init__(self):
        if np.shape(self.centre) != (2,) or (is_known(self.centre) and not np.isfinite(self.centre).all()):
            raise MediumError(f"centre of a disc must be two finite numbers, x and y in m, got {self.centre}")
        check_positive("radius of a disc", self.radius)
        check_positive("border of an area", self.border)

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        away = position[:2] - self.centre
        return _inside(self.radius - jnp.sqrt((away**2).sum() + 1e-12), self.border)


class By(Area):
    """Where a function of the position (m) says: any function to a weight from 0 to 1. Files do not keep it."""

    function: Callable[[Float[Array, "3"]], Float[Array, ""]] = eqx.field(static=True)

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        return jnp.clip(self.function(position), 0.0, 1.0).astype(position.dtype)


class Both(Area):
    """Where two areas are."""

    first: Area
    second: Area

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        return self.first(position) * self.second(position)


class Outside(Area):
    """Where an area is not."""

    area: Area

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        return 1.0 - self.area(position)


def rectangle(x: tuple[float, float], y: tuple[float, float], border: float = BORDER) -> Area:
    """A rectangle along the axes: from x[0] to x[1] and y[0] to y[1], m.

    >>> from softground import terrain
    >>> float(terrain.rectangle((0, 1), (-1, 1))(np.array([0.5, 0.0, 0.0])))
    1.0
    """
    return Between("x", *x, border) & Between("y", *y, border)


def _inside(distance: Float[Array, ""], border: Float[Array, ""]) -> Float[Array, ""]:
    """Share at a distance (m) inside of an edge."""
    return smooth_step(distance / border + 0.5)
