"""While both feet stand: the foot that is being relieved gives the force it is told, the other one what is missing."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Bounds, Constraint
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot


class Relief(Constraint):
    """The ground's force on a foot is its reference, wherever that has a share of the weight (a force up)."""

    is_equality: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "relief"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        count, wanted = snapshot.unknowns.feet, references.wrenches[:, :3]
        rows = jnp.eye(6 * count).reshape(count, 6, count, 6)[:, :3].reshape(3 * count, count, 6)
        target = wanted.reshape(-1)
        told = snapshot.in_contact & (wanted[:, 2] > 0)
        return Bounds(snapshot.unknowns.matrix(wrenches=rows), target, target, jnp.repeat(told, 3))


def relief(
    share: float | Float[Array, ""],
    push_off: float | Array,
    weight: float | Float[Array, ""],
    to_com: Float[Array, "3"],
) -> Float[Array, "3"]:
    """Force (N) of the ground on a foot that leaves, through the centre of mass, so that it turns nothing.

    It goes from (1 + push_off) times the weight (N) to nothing as `share`, of the double support that has passed, goes
    from 0 to 1. to_com: from the contact point to the centre of mass, m. While the force of one foot fades and the
    other takes over, the zero-moment point moves from foot to foot at constant pace. What push_off adds goes up and,
    from behind, ahead.
    """
    return (1 - share) * (1 + push_off) * weight * to_com / to_com[2]
