"""Ground whose strength changes: from place to place, or with depth."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError
from softground.media.base import FootInGround, Medium
from softground.media.parameters import check_positive
from softground.media.smooth import smooth_step
from softground.media.visco_elastic.fields import Coefficient, as_coefficient, check_coefficient, value_at
from softground.terrain.sums import Sum


class Varied(Sum):
    """Any medium, stronger here and weaker there: all its forces times a field of the place.

    For a parameter other than strength, mix two media that differ in it (`Mixed`).

    >>> import softground as sg
    >>> path = sg.terrain.Varied(sg.sand(), sg.media.Stretches(edges=[1.0], values=[2.0, 0.5]))  # m, factors
    """

    name: ClassVar[str] = "varied"

    parts: tuple[Medium, ...]
    strength: Coefficient  # factor, a number or a field of the place

    def __init__(self, medium: Medium, strength):
        """strength: factor on all forces, a number or a field."""
        self.parts, self.strength = (medium,), as_coefficient(strength)
        check_coefficient(self.strength, "strength")

    def weight(self, part: int, place: Float[Array, "3"], foot: FootInGround) -> Float[Array, ""]:
        return value_at(self.strength, place)


class Layered(Sum):
    """Granular ground in layers: a crust over soft sand, loose sand over packed.

    All forces are multiplied by strengths[i] where the depth of the foot lies between edges[i - 1] and edges[i], with a
    smooth step of width `border` about every edge. A sole that breaks through a crust therefore loses what it carried;
    what of the crust goes along under the sole is not modelled.

    >>> import softground as sg
    >>> crusted = sg.terrain.Layered(sg.sand(), edges=[0.02], strengths=[4.0, 1.0])  # m, factors
    """

    name: ClassVar[str] = "layered"

    parts: tuple[Medium, ...]
    edges: Float[Array, " n"] = eqx.field(converter=as_float)  # m below the surface, increasing
    strengths: Float[Array, " n+1"] = eqx.field(converter=as_float)  # factors
    border: Float[Array, ""] = eqx.field(converter=as_float)  # m

    def __init__(self, medium: Medium, edges, strengths, border: float = 0.01):
        """edges and border: m; strengths: factors on all forces, one more than edges."""
        self.parts = (medium,)
        self.edges, self.strengths, self.border = as_float(edges), as_float(strengths), as_float(border)
        check_positive("strengths of layers", self.strengths)
        check_positive("border of layers", self.border)
        if np.ndim(self.edges) != 1 or np.shape(self.strengths) != (len(self.edges) + 1,):
            raise MediumError(
                "layers need a list of edges and one strength more, "
                f"got shapes {np.shape(self.edges)} and {np.shape(self.strengths)}"
            )
        if is_known(self.edges) and not ((np.diff(self.edges) > 0).all() and (np.asarray(self.edges) > 0).all()):
            raise MediumError(f"edges of layers must be positive depths that increase (m), got {self.edges}")

    def weight(self, part: int, place: Float[Array, "3"], foot: FootInGround) -> Float[Array, ""]:
        below = smooth_step((foot.depth - self.edges) / self.border + 0.5)
        return self.strengths[0] + (jnp.diff(jnp.asarray(self.strengths)) * below).sum()
