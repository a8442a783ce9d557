"""The quadratic program of a tick: all tasks and constraints at one state; its solution, and how good that is."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.control.whole_body.base import Bounds, Constraint, Part, Task
from softground.control.whole_body.constraints.floating_base import generalised_force
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot


class Problem(NamedTuple):
    """minimise 1/2 x'H x + g'x  subject to  E x = e,  lower <= G x <= upper (bounds may be infinite)."""

    hessian: Float[np.ndarray, "n n"]
    gradient: Float[np.ndarray, " n"]
    equality_matrix: Float[np.ndarray, "e n"]
    equality_target: Float[np.ndarray, " e"]
    inequality_matrix: Float[np.ndarray, "i n"]
    lower: Float[np.ndarray, " i"]
    upper: Float[np.ndarray, " i"]


class Status(Enum):
    """How a solve ended."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    """No x meets the constraints."""
    FAILED = "failed"
    """The solver gave up, or was given or returned numbers that are not finite."""


class Solution(NamedTuple):
    """x and the multipliers of the constraints: H x + g + E'y + G'z = 0, z > 0 at upper and z < 0 at lower bounds."""

    x: Float[np.ndarray, " n"]
    equality_multipliers: Float[np.ndarray, " e"]
    inequality_multipliers: Float[np.ndarray, " i"]
    status: Status


class Residual(NamedTuple):
    """The Karush-Kuhn-Tucker conditions, each relative to the size of what it balances: 0 is optimal."""

    stationarity: float
    primal: float
    dual: float
    complementarity: float

    @property
    def worst(self) -> float:
        return max(self)


def kkt_residual(problem: Problem, solution: Solution) -> Residual:
    """How far a solution is from the conditions that only the optimum meets.

    Stationarity: the gradient of the Lagrangian, against the greatest of its terms. Primal: violation of each row,
    against the terms of that row. Dual: multipliers of a bound that is not there (infinite), against the greatest
    multiplier. Complementarity: multiplier times distance to its bound, against the cost's own terms.
    """
    h, g, e_matrix, e_target, g_matrix, lower, upper = problem
    x, y, z = solution.x, solution.equality_multipliers, solution.inequality_multipliers
    terms = [h @ x, g, e_matrix.T @ y, g_matrix.T @ z]
    stationarity = _largest(sum(terms)) / _scale(*terms)
    rows, e_rows = g_matrix @ x, e_matrix @ x
    e_scale = 1 + np.abs(e_matrix) @ np.abs(x)
    i_scale = 1 + np.abs(g_matrix) @ np.abs(x)
    violation = np.maximum(np.maximum(lower - rows, rows - upper), 0.0) / i_scale
    primal = max(_largest((e_rows - e_target) / e_scale), _largest(violation))
    above, below = np.maximum(z, 0.0), np.maximum(-z, 0.0)
    unbounded = np.where(np.isinf(upper), above, 0.0) + np.where(np.isinf(lower), below, 0.0)
    dual = _largest(unbounded) / _scale(z)
    gap = above * _finite(upper - rows) + below * _finite(rows - lower)
    complementarity = _largest(gap) / _scale(x * (h @ x), x * g)
    return Residual(stationarity, primal, dual, complementarity)


def _largest(values) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _scale(*terms) -> float:
    return max([1.0, *(_largest(term) for term in terms)])


def _finite(values) -> np.ndarray:
    return np.where(np.isfinite(values), values, 0.0)


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
