"""Mixed ground: one medium beside another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.media.base import FootInGround, Medium
from softground.terrain.areas import Area, By
from softground.terrain.grid import areas_of_map
from softground.terrain.sums import Sum


class Mixed(Sum):
    """A medium everywhere, and others painted over it, each on its area, later ones over earlier ones.

        Phi = sum_i w_i Phi_i,     w_i = a_i (1 - a_i+1) (1 - a_i+2) ...,      a_0 = 1

    with the shares a_i of the areas at the foot: the weights sum to 1 and change smoothly over a border. A foot is in
    the ground under its origin; one on springs keeps the ground where it touched down (docs/terrain.md).

    >>> import softground as sg
    >>> beach = sg.terrain.Mixed(sg.firm(), (sg.sand(), sg.terrain.Between("x", 1.0)))  # sand from x = 1 m on
    >>> simulator = sg.Simulator(sg.Robot.load("foot"), beach)
    """

    name: ClassVar[str] = "mixed"

    parts: tuple[Medium, ...]
    areas: tuple[Area, ...]  # of all parts but the first

    def __init__(self, base: Medium, *painted: tuple[Medium, Area | Callable]):
        """painted: pairs of a medium and its area, or a function of the position (m) to a weight from 0 to 1."""
        for pair in painted:
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Medium) and callable(pair[1])):
                raise MediumError(f"what is painted over mixed ground is a pair (medium, area), got {_in_short(pair)}")
        self.parts = (base, *(medium for medium, _ in painted))
        self.areas = tuple(area if isinstance(area, Area) else By(area) for _, area in painted)

    @classmethod
    def from_map(cls, indices, media: Sequence[Medium], cell: float, origin=(0.0, 0.0)) -> Mixed:
        """media[indices[i, j]] in the square of side `cell` (m) about origin + (i, j) cell; borders are a cell wide.

        >>> import softground as sg
        >>> chessboard = sg.terrain.Mixed.from_map([[0, 1], [1, 0]], [sg.firm(), sg.sand()], cell=0.5)
        """
        areas = areas_of_map(indices, cell, origin)
        if len(areas) > len(media):
            raise MediumError(
                f"the map has indices up to {len(areas) - 1}, but there are {len(media)} media: name one for each"
            )
        return cls(media[0], *zip(media[1:], areas[1:], strict=False))

    def weight(self, part: int, place: Float[Array, "3"], foot: FootInGround) -> Float[Array, ""]:
        share = self.areas[part - 1](place) if part else jnp.ones_like(foot.depth)
        for over in self.areas[part:]:
            share = share * (1.0 - over(place))
        return share


def _in_short(pair) -> str:
    """What was given, media by their names."""
    parts = pair if isinstance(pair, tuple) else (pair,)
    return ", ".join(type(part).__name__ if isinstance(part, Medium) else repr(part) for part in parts)
