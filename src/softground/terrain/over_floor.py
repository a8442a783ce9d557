"""Soft ground of some thickness over a floor."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import FootInGround, Medium
from softground.media.visco_elastic import Firm
from softground.media.visco_elastic.fields import Coefficient, as_coefficient, check_coefficient, value_at
from softground.terrain.sums import Sum


class OverFloor(Sum):
    """A medium over a floor, firm unless another is given, which is felt from its depth on.

        Phi = Phi_medium(depth) + Phi_floor(depth - thickness)

    The floor does not stiffen what lies over it: grains squeezed between a sole and the floor are not modelled.

    >>> import softground as sg
    >>> shallow = sg.terrain.OverFloor(sg.sand(), thickness=0.03)  # m
    """

    name: ClassVar[str] = "over_floor"

    parts: tuple[Medium, ...]
    thickness: Coefficient = eqx.field(converter=as_coefficient)  # m, a number or a field of the place

    def __init__(self, medium: Medium, thickness, floor: Medium | None = None):
        """thickness: of the medium, m, or a field of it."""
        self.parts = (medium, Firm() if floor is None else floor)
        self.thickness = as_coefficient(thickness)
        check_coefficient(self.thickness, "thickness")

    def weight(self, part: int, place: Float[Array, "3"], foot: FootInGround) -> Float[Array, ""]:
        return jnp.ones_like(foot.depth)

    def buried(self, part: int, place: Float[Array, "3"]) -> Float[Array, ""] | float:
        return value_at(self.thickness, place) if part else 0.0
