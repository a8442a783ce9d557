"""Wrenches near their references, where nothing else decides: how feet share the load."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Task, TaskRows
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot
from softground.control.whole_body.unknowns import WrenchUnknown


class WrenchRates(Task):
    """Wrench rates near f'_ref + kp (f_ref - f) (romualdi2021, eq. 19, where f'_ref is zero).

    The reference moves all the time while the weight goes from foot to foot. Without its rate the wrenches would lag
    by 1/kp, and the momentum task would make up for what is missing by rolling the feet.
    """

    needs: ClassVar[WrenchUnknown | None] = "rate"

    kp: Float[Array, "6"]  # 1/s
    weight: Float[Array, "6"]  # per foot

    @property
    def name(self) -> str:
        return "wrench rates"

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        error = references.wrenches - snapshot.wrenches
        return TaskRows(
            matrix=_one_row_per_component(snapshot),
            target=(references.wrench_rates + self.kp * error).reshape(-1),
            weight=jnp.tile(self.weight, snapshot.unknowns.feet),
            error=error.reshape(-1),
            active=snapshot.in_contact.sum() > 1,
        )


class Wrenches(Task):
    """Wrenches near f_ref."""

    needs: ClassVar[WrenchUnknown | None] = "value"

    weight: Float[Array, "6"]  # per foot

    @property
    def name(self) -> str:
        return "wrenches"

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        return TaskRows(
            matrix=_one_row_per_component(snapshot),
            target=references.wrenches.reshape(-1),
            weight=jnp.tile(self.weight, snapshot.unknowns.feet),
            error=(references.wrenches - snapshot.wrenches).reshape(-1),
        )


def _one_row_per_component(snapshot: Snapshot) -> Float[Array, "m n"]:
    feet = snapshot.unknowns.feet
    return snapshot.unknowns.matrix(wrenches=jnp.eye(6 * feet).reshape(-1, feet, 6))
