"""All tasks and constraints evaluated at one state, as the matrices of one quadratic program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.control.whole_body.base import Bounds, Constraint, Part, Task
from softground.control.whole_body.constraints.floating_base import generalised_force
from softground.control.whole_body.problem import Problem
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot


class Active(NamedTuple):
    """Which unknowns and rows of a problem count at this tick."""

    unknowns: Bool[np.ndarray, " n"]
    equalities: Bool[np.ndarray, " e"]
    inequalities: Bool[np.ndarray, " i"]


class Assembled(NamedTuple):
    """A tick, ready for the solver, all of fixed shapes. Traced arrays in here, NumPy arrays once computed."""

    problem: Problem
    active: Active
    torque_matrix: Float[np.ndarray, "nu n"]
    torque_offset: Float[np.ndarray, " nu"]
    """Actuator torques = matrix @ x + offset (romualdi2021, eq. 2b), N m."""
    errors: tuple[Float[np.ndarray, " e"], ...]
    """Errors of the tasks, in their order."""
    memory: tuple[Any, ...]
    """Memory of the tasks, then of the constraints, after this tick."""


def assemble(
    tasks: Sequence[Task],
    constraints: Sequence[Constraint],
    lookahead: float,
    regularisation: float,
    snapshot: Snapshot,
    references: References,
    memory: Sequence[Any],
) -> Assembled:
    """Evaluate every part; the cost of x itself, `regularisation`, makes the problem strictly convex."""
    parts: Sequence[Part] = [*tasks, *constraints]
    task_memory, constraint_memory = memory[: len(tasks)], memory[len(tasks) :]
    all_rows = [task.rows(snapshot, references, past) for task, past in zip(tasks, task_memory, strict=True)]
    bounds = [
        part.bounds(snapshot, references, past) for part, past in zip(constraints, constraint_memory, strict=True)
    ]
    equalities = [b for part, b in zip(constraints, bounds, strict=True) if part.is_equality]
    inequalities = [b for part, b in zip(constraints, bounds, strict=True) if not part.is_equality]
    size = snapshot.unknowns.size
    matrix = jnp.concatenate([rows.matrix for rows in all_rows])
    target = jnp.concatenate([rows.target for rows in all_rows])
    weight = jnp.concatenate([jnp.where(rows.active, rows.weight, 0.0) for rows in all_rows])
    weighted = weight[:, None] * matrix
    equality, inequality = _stacked(equalities, size), _stacked(inequalities, size)
    unknowns = jnp.concatenate([jnp.ones(snapshot.unknowns.dofs, bool), jnp.repeat(snapshot.in_contact, 6)])
    torque_matrix, torque_offset = generalised_force(snapshot, lookahead)
    actuators = np.array(snapshot.robot.actuated)
    problem: dict[str, Any] = {
        "hessian": weighted.T @ matrix + regularisation * jnp.eye(size),
        "gradient": -(weighted * target[:, None]).sum(0),
        "equality_matrix": equality.matrix,
        "equality_target": equality.lower,
        "inequality_matrix": inequality.matrix,
        "lower": inequality.lower,
        "upper": inequality.upper,
    }
    active: dict[str, Any] = {
        "unknowns": unknowns,
        "equalities": equality.active,
        "inequalities": inequality.active,
    }
    assembled: dict[str, Any] = {
        "problem": Problem(**problem),
        "active": Active(**active),
        "torque_matrix": torque_matrix[actuators],
        "torque_offset": torque_offset[actuators],
        "errors": tuple(rows.error for rows in all_rows),
        "memory": tuple(part.remember(snapshot, references, past) for part, past in zip(parts, memory, strict=True)),
    }
    return Assembled(**assembled)


def _stacked(bounds: Sequence[Bounds], size: int) -> Bounds:
    """All rows in one; none at all is an empty block."""
    none = Bounds(jnp.zeros((0, size)), jnp.zeros(0), jnp.zeros(0), jnp.zeros(0, bool))
    every = [none, *bounds]
    active = [jnp.broadcast_to(jnp.asarray(b.active), b.lower.shape) for b in every]
    matrix, lower, upper = (jnp.concatenate([getattr(b, part) for b in every]) for part in ("matrix", "lower", "upper"))
    return Bounds(matrix, lower, upper, jnp.concatenate(active))
