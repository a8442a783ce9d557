"""WholeBodyController: tasks and constraints, a robot, and one quadratic program a tick."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from softground.arrays import require_double
from softground.control.whole_body.base import Constraint, Part, Task
from softground.control.whole_body.packing import Packing
from softground.control.whole_body.problem import Active, Assembled, Problem, Status, assemble
from softground.control.whole_body.references import References, holding
from softground.control.whole_body.snapshot import Unknowns, WrenchUnknown, frames_in_order, snapshot
from softground.control.whole_body.solvers import Solver, solve_daqp
from softground.errors import OptionError
from softground.robots import Robot


class Memory(NamedTuple):
    """What the controller carries from tick to tick."""

    parts: tuple[Any, ...]
    """Memories of tasks and constraints (integrals)."""
    torque: Float[np.ndarray, " nu"]
    """Last that came from a solved problem; before the first, zero (N m)."""
    failures: int
    """Ticks without a solution so far."""


class Inputs(NamedTuple):
    """What the compiled function is given at a tick."""

    q: Any
    v: Any
    wrenches: Any
    references: References
    memory: tuple[Any, ...]


class Command(NamedTuple):
    """What one tick decided. SI; errors in the units of their tasks."""

    torque: Float[np.ndarray, " nu"]
    """For the actuators (N m): of the solution, or the last safe one where there is none."""
    status: Status
    acceleration: Float[np.ndarray, " nv"]
    """The motion it was made for; not a number where there is no solution."""
    wrenches: Float[np.ndarray, "F 6"]
    """Wrenches of the feet, or their rates, whichever is the unknown; zero for feet in the air."""
    errors: tuple[Float[np.ndarray, " e"], ...]
    """Errors of the tasks, in their order: see `WholeBodyController.task_names`."""
    assembly_seconds: float
    solve_seconds: float


class WholeBodyController:
    """Joint torques that make a robot do several things at once, as well as they go together.

    The problem is assembled by one compiled function of fixed shapes; rows and unknowns that do not count at a tick
    (a foot in the air) are dropped before the solver sees them, so that a change of support recompiles nothing.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Sequence[Task],
        constraints: Sequence[Constraint],
        *,
        period: float = 1e-3,
        lookahead: float = 0.0,
        regularisation: float = 1e-6,
        solver: Solver = solve_daqp,
    ):
        """period: between ticks, s. lookahead: time ahead at which wrenches are taken whose rates are unknown, s.

        regularisation: weight of the unknowns themselves, which makes the problem strictly convex.
        """
        require_double("whole-body control")  # as its solvers do
        self.robot, self.tasks, self.constraints = robot, tuple(tasks), tuple(constraints)
        self.period, self.solver = float(period), solver
        parts: list[Part] = [*self.tasks, *self.constraints]
        self.unknowns = Unknowns(robot.nv, len(robot.feet), _agreed_unknown(parts))
        self.frames = frames_in_order(robot, [frame for part in parts for frame in part.frames])
        references = self.hold(robot.posture)
        at_rest = (np.asarray(robot.posture), np.zeros(robot.nv), references.wrenches)
        example = Inputs(*at_rest, references, self.initial_memory().parts)

        def evaluate(given: Inputs) -> Assembled:
            contact = given.references.in_contact
            now = snapshot(robot, self.unknowns, self.frames, self.period, *given[:3], contact)
            return assemble(
                self.tasks, self.constraints, lookahead, regularisation, now, given.references, given.memory
            )

        self._inputs = Packing(example)
        self._outputs = Packing(jax.eval_shape(evaluate, example))
        self._evaluate = jax.jit(lambda vector: self._outputs.pack_traced(evaluate(self._inputs.unpack(vector))))
        self._places: dict[bytes, _Places] = {}

    @property
    def task_names(self) -> tuple[str, ...]:
        return tuple(task.name for task in self.tasks)

    def initial_memory(self) -> Memory:
        parts = tuple(part.initial_memory() for part in (*self.tasks, *self.constraints))
        return Memory(parts, np.zeros(self.robot.nu), 0)

    def hold(self, q, **ground) -> References:
        """References that hold the robot where it is at q; `ground`: stiffness and damping (see `holding`)."""
        return holding(self.robot, self.frames, q, **ground)

    def tick(
        self,
        memory: Memory,
        q: Float[np.ndarray, " nq"],
        v: Float[np.ndarray, " nv"],
        wrenches: Float[np.ndarray, "F 6"],
        references: References,
    ) -> tuple[Memory, Command]:
        """Torques for the next period, from the state, the wrenches measured on the feet and what is desired.

        Raises OptionError where the references lack something that a task follows, or have it in another shape.
        """
        start = perf_counter()
        assembled = self._assembled(memory, q, v, wrenches, references)
        places = self._active_places(assembled.active)
        problem = places.take(assembled.problem)
        ready = perf_counter()
        solution = self.solver(problem)
        done = perf_counter()
        x = np.zeros(self.unknowns.size)
        x[places.unknowns] = solution.x
        torque, status, failures = (
            assembled.torque_matrix @ x + assembled.torque_offset,
            solution.status,
            memory.failures,
        )
        if status is Status.SOLVED and not np.isfinite(torque).all():
            status = Status.FAILED
        if status is not Status.SOLVED:
            torque, failures = memory.torque, failures + 1
        dofs = self.unknowns.dofs
        command = Command(
            torque=torque,
            status=status,
            acceleration=x[:dofs],
            wrenches=x[dofs:].reshape(-1, 6),
            errors=assembled.errors,
            assembly_seconds=ready - start,
            solve_seconds=done - ready,
        )
        return Memory(assembled.memory, torque, failures), command

    def problem(self, memory: Memory, q, v, wrenches, references: References) -> Problem:
        """The quadratic program of a tick, without the rows and unknowns that do not count."""
        assembled = self._assembled(memory, q, v, wrenches, references)
        return self._active_places(assembled.active).take(assembled.problem)

    def _assembled(self, memory: Memory, q, v, wrenches, references) -> Assembled:
        vector = self._inputs.pack(Inputs(q, v, wrenches, references, memory.parts))
        return self._outputs.unpack(np.asarray(self._evaluate(vector)))

    def _active_places(self, active: Active) -> _Places:
        key = np.concatenate(active).tobytes()
        if key not in self._places:
            self._places[key] = _Places(active)
        return self._places[key]


class _Places:
    """Where the rows and unknowns that count stand in the full problem."""

    def __init__(self, active: Active):
        self.unknowns, self.equalities, self.inequalities = (np.flatnonzero(part) for part in active)
        self._hessian = np.ix_(self.unknowns, self.unknowns)
        self._equality = np.ix_(self.equalities, self.unknowns)
        self._inequality = np.ix_(self.inequalities, self.unknowns)

    def take(self, full: Problem) -> Problem:
        return Problem(
            full.hessian[self._hessian],
            full.gradient[self.unknowns],
            full.equality_matrix[self._equality],
            full.equality_target[self.equalities],
            full.inequality_matrix[self._inequality],
            full.lower[self.inequalities],
            full.upper[self.inequalities],
        )


def _agreed_unknown(parts: Sequence[Part]) -> WrenchUnknown:
    """The wrench unknown that all parts are written for; the value where none cares."""
    needed = {part.needs: part.name for part in parts if part.needs is not None}
    if len(needed) > 1:
        raise OptionError(
            f"tasks and constraints must agree on the wrench unknown, but {needed['rate']!r} is written for wrench "
            f"rates (yielding ground) and {needed['value']!r} for wrenches (rigid ground)"
        )
    return "rate" if "rate" in needed else "value"
