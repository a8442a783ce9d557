"""The unknowns of the whole-body QP, and which of its columns belong to what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array

WrenchUnknown = Literal["value", "rate"]
"""Ground that answers at once leaves the wrench to the controller; ground that yields only its rate of change."""


@dataclass(frozen=True)
class Unknowns:
    """x = (acceleration of every dof, wrench or wrench rate of every foot).

    Wrenches are (force, torque) on the foot about its origin, world axes: dual to the twists of `Frames`.
    """

    dofs: int
    feet: int
    wrench: WrenchUnknown

    @property
    def size(self) -> int:
        return self.dofs + 6 * self.feet

    def matrix(
        self,
        acceleration: Float[Array, "m nv"] | None = None,
        wrenches: Float[Array, "m F 6"] | None = None,
    ) -> Float[Array, "m n"]:
        """Rows of the QP from their parts; None stands for zeros."""
        given = acceleration if acceleration is not None else wrenches
        assert given is not None, "a row without entries says nothing"
        count = len(given)
        parts = [
            jnp.zeros((count, self.dofs)) if acceleration is None else acceleration,
            jnp.zeros((count, 6 * self.feet)) if wrenches is None else wrenches.reshape(count, -1),
        ]
        return jnp.concatenate(parts, axis=1)

    def wrenches_after(self, time: float, measured: Float[Array, "F 6"]) -> tuple[Float[Array, "F 6"], float]:
        """Wrenches `time` seconds from now, as offset + slope * (their unknowns)."""
        if self.wrench == "value":
            return jnp.zeros_like(measured), 1.0
        return measured, time
