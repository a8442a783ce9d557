"""Ground that does not yield: feet in contact stand still."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp

from softground.control.whole_body.base import Bounds, Constraint
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot


class RigidContact(Constraint):
    """J a + dJ/dt v = -damping (J v) for every foot in contact.

    Zero damping is the textbook's zero acceleration. A little of it (1/s) stops a foot that creeps, which on ground
    that yields even slightly it always does.
    """

    is_equality: ClassVar[bool] = True
    damping: float = 0.0  # 1/s

    @property
    def name(self) -> str:
        return "rigid contact"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        feet = snapshot.feet
        matrix = snapshot.unknowns.matrix(acceleration=feet.jacobian.reshape(-1, snapshot.unknowns.dofs))
        target = (-self.damping * feet.twist - feet.bias_acceleration).reshape(-1)
        return Bounds(matrix, target, target, jnp.repeat(snapshot.in_contact, 6))
