"""Ground that yields: wrenches change as the feet move in it."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from softground.control.whole_body.base import Bounds, Constraint
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot, WrenchUnknown
from softground.media.visco_elastic.lemma import Pose, wrench_rate
from softground.media.visco_elastic.sole import Patch


class ContactModel(Constraint):
    """f' = h_f + g_f (J a + dJ/dt v) for every foot in contact (romualdi2021, IV-A.6).

    Stiffness, damping and the pose of rest come with the references: they may be estimates.
    """

    is_equality: ClassVar[bool] = True
    needs: ClassVar[WrenchUnknown | None] = "rate"

    soles: Patch
    """Soles of all feet, stacked."""
    lookahead: float = 0.0  # s, as in `FloatingBase`

    @property
    def name(self) -> str:
        return "contact model"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        feet, ground, unknowns = snapshot.feet, references.ground, snapshot.unknowns
        rest = Pose(ground.rest_position, ground.rest_rotation)
        drift, gain = jax.vmap(wrench_rate)(
            self.soles, ground.stiffness, ground.damping, rest, Pose(feet.position, feet.rotation), feet.twist
        )
        gain = gain * (1 + self.lookahead * ground.stiffness / ground.damping)[:, None, None]
        count, dofs = unknowns.feet, unknowns.dofs
        free = drift + jnp.einsum("fij,fj->fi", gain, feet.bias_acceleration)
        matrix = unknowns.matrix(
            acceleration=-jnp.einsum("fij,fjv->fiv", gain, feet.jacobian).reshape(6 * count, dofs),
            wrenches=jnp.eye(6 * count).reshape(-1, count, 6),
        )
        target = free.reshape(-1)
        return Bounds(matrix, target, target, jnp.repeat(snapshot.in_contact, 6))


def stack_soles(soles: list[Patch]) -> Patch:
    """Soles of all feet as one, with a leading axis."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *soles)
