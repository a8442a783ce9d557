"""Tasks and constraints: small objects that write rows of one quadratic program.

    minimise over x:   1/2 sum over tasks of |A x - b|^2 in the metric of their weights
    subject to:        lower <= G x <= upper     for every constraint

Every object reads the same `Snapshot` of the robot and the same `References`, and returns rows of fixed shape:
which of them count at a tick is data (`active`), so that a change of support recompiles nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot, WrenchUnknown


class TaskRows(NamedTuple):
    """A x should be near b."""

    matrix: Float[Array, "m n"]
    target: Float[Array, " m"]
    weight: Float[Array, " m"]
    """Weight of each row's square."""
    error: Float[Array, " e"]
    """What the task tries to make zero (a pose error, a momentum error...): for the reader, not for the QP."""
    active: Bool[Array, ""] | bool = True


class Bounds(NamedTuple):
    """lower <= G x <= upper, where active."""

    matrix: Float[Array, "m n"]
    lower: Float[Array, " m"]
    upper: Float[Array, " m"]
    active: Bool[Array, " m"] | Bool[Array, ""] | bool = True


class Part(eqx.Module):
    """What tasks and constraints have in common."""

    needs: ClassVar[WrenchUnknown | None] = None
    """The wrench unknown that it is written for; None: either."""

    @property
    def name(self) -> str:
        """For diagnostics, unique in a controller."""
        return type(self).__name__

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames of the robot that it reads from the snapshot, besides the feet."""
        return ()

    def initial_memory(self) -> Any:
        """What it carries from tick to tick, at the start (arrays of fixed shape)."""
        return ()

    def remember(self, snapshot: Snapshot, references: References, memory: Any) -> Any:
        """The memory after this tick."""
        return memory


class Task(Part):
    """Something desired: weighted least squares."""

    @abstractmethod
    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        """Rows A x - b."""


class Constraint(Part):
    """Something required."""

    is_equality: ClassVar[bool]
    """Equalities have lower = upper in every row."""

    @abstractmethod
    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        """Rows lower <= G x <= upper."""


class Hard(Constraint):
    """A task that must be met: A x = b. Its weight does not matter."""

    is_equality: ClassVar[bool] = True
    task: Task

    @property
    def needs(self) -> WrenchUnknown | None:
        return self.task.needs

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def frames(self) -> tuple[str, ...]:
        return self.task.frames

    def initial_memory(self) -> Any:
        return self.task.initial_memory()

    def remember(self, snapshot: Snapshot, references: References, memory: Any) -> Any:
        return self.task.remember(snapshot, references, memory)

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        rows = self.task.rows(snapshot, references, memory)
        return Bounds(rows.matrix, rows.target, rows.target, jnp.broadcast_to(rows.active, rows.target.shape))
