"""The motion must obey mechanics where no actuator can help: the rows of the floating base."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Bounds, Constraint
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot, unactuated


class FloatingBase(Constraint):
    """M a + h = sum of J' f in the rows without an actuator (romualdi2021, eq. 2a).

    f is the unknown wrench, or, where its rate is the unknown, the measured one `lookahead` seconds later (0 in the
    paper).
    """

    is_equality: ClassVar[bool] = True
    lookahead: float = 0.0  # s

    @property
    def name(self) -> str:
        return "floating base"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        rows = unactuated(snapshot.robot)
        matrix, offset = generalised_force(snapshot, self.lookahead)
        target = -offset[rows]
        return Bounds(matrix[rows], target, target)


def generalised_force(snapshot: Snapshot, lookahead: float) -> tuple[Float[Array, "nv n"], Float[Array, " nv"]]:
    """What actuators must give, M a + h - sum of J' f, as matrix @ x + offset (N, N m)."""
    offset, slope = snapshot.unknowns.wrenches_after(lookahead, snapshot.wrenches)
    jacobians = snapshot.feet.jacobian
    columns = -slope * jnp.transpose(jacobians, (2, 0, 1))
    matrix = snapshot.unknowns.matrix(acceleration=snapshot.mass, wrenches=columns)
    return matrix, snapshot.bias - jnp.einsum("fiv,fi->v", jacobians, offset)
