"""A nonlinear program (NLP), and its optimiser: Uno's interior-point method with a filter line search.

The optimiser sees numbers, sparse derivatives, and how long each takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from softground.errors import OptionError


@dataclass(frozen=True)
class Nlp:
    """min f(z) subject to lower <= z <= upper and row_lower <= c(z) <= row_upper.

    Jacobian and Hessian are given by the places of their entries (Hessian: lower triangle) and functions that fill
    them. The Hessian is that of the Lagrangian sigma f + multipliers . c, or a model of it.
    """

    lower: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    jacobian_rows: np.ndarray
    jacobian_columns: np.ndarray
    hessian_rows: np.ndarray
    hessian_columns: np.ndarray
    objective: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    constraints: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray, float, np.ndarray], np.ndarray]
    clock: Clock = field(default_factory=lambda: Clock())

    @property
    def size(self) -> int:
        return len(self.lower)

    @property
    def n_rows(self) -> int:
        return len(self.row_lower)

    def violation(self, z: np.ndarray) -> float:
        """Greatest violation of a row or bound."""
        return greatest_violation(self.constraints(z), self.row_lower, self.row_upper, z, self.lower, self.upper)


def greatest_violation(rows, row_lower, row_upper, z, lower, upper) -> float:
    """How far rows, or unknowns z, are outside their bounds."""
    outside = [row_lower - rows, rows - row_upper, lower - z, z - upper]
    return max(float(np.max(one, initial=0.0)) for one in outside)


@dataclass
class Clock:
    """Seconds spent in each callback, and how often it was called."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget all calls."""
        for name in self.seconds:
            self.seconds[name], self.calls[name] = 0.0, 0

    def timed(self, name: str, function: Callable) -> Callable:
        """The function, its calls counted under a name."""
        self.seconds.setdefault(name, 0.0)
        self.calls.setdefault(name, 0)

        def counted(*args):
            began = time.perf_counter()
            result = function(*args)
            self.seconds[name] += time.perf_counter() - began
            self.calls[name] += 1
            return result

        return counted


#: How a solve ended, in words, by what Uno calls it.
REASONS = {
    "converged": "converged",
    "FEASIBLE_KKT_POINT": "converged",
    "FEASIBLE_FJ_POINT": "converged to a feasible point where constraints are degenerate",
    "INFEASIBLE_STATIONARY_POINT": "converged to a point of least violation: infeasible from here, try another guess",
    "FEASIBLE_SMALL_STEP": "steps became too small at a feasible point",
    "INFEASIBLE_SMALL_STEP": "steps became too small before it was feasible: try another guess or a larger eps",
    "UNBOUNDED_OBJECTIVE": "the objective is not bounded below",
    "DIVERGING_ITERATE": "the unknowns grow without bound: try another guess",
    "ITERATION_LIMIT": "reached the limit of iterations",
    "TIME_LIMIT": "reached the limit of time",
    "EVALUATION_ERROR": "a function could not be evaluated: the guess is not finite",
    "ALGORITHMIC_ERROR": "the linear systems could not be solved: try another guess",
    "USER_TERMINATION": "interrupted",
    "USER_INTERRUPTION": "interrupted",
}


@dataclass(frozen=True)
class Progress:
    """One iteration, as a monitor sees it."""

    iteration: int
    seconds: float
    objective: float
    violation: float  # greatest violation of a row or bound
    optimality: float  # greatest of stationarity and complementarity, as Uno scales them
    z: np.ndarray
    multipliers: np.ndarray  # of f + multipliers . c


@dataclass
class Outcome:
    """How a call of the optimiser ended. Multipliers are of f + multipliers . c."""

    z: np.ndarray
    multipliers: np.ndarray
    converged: bool
    interrupted: bool  # by Ctrl-C, which Uno may catch before Python does
    reason: str
    iterations: int
    violation: float
    optimality: float
    seconds: float
    history: list[tuple[float, float, float]] = field(default_factory=list)  # objective, violation, optimality


def optimise(
    nlp: Nlp,
    start: np.ndarray,
    *,
    feasibility: float = 1e-3,
    optimality: float = 1e-3,
    iterations: int = 500,
    seconds: float = np.inf,
    barrier: float = 1e-3,
    multipliers: np.ndarray | None = None,
    monitor: Callable[[Progress], bool] = lambda progress: False,
    options: dict[str, Any] | None = None,
) -> Outcome:
    """Solve an NLP from a start.

    barrier: the first barrier parameter. The scaling of the NLP is ours, so Uno's is off, and a start that is
    feasible and nearly good must not be thrown to the middle of its bounds, so the barrier is small.
    monitor: called once an iteration; True ends the solve.
    """
    unopy = _unopy()
    began, history = time.perf_counter(), []
    model = unopy.Model(
        unopy.PROBLEM_NONLINEAR, nlp.size, nlp.lower.tolist(), nlp.upper.tolist(), unopy.ZERO_BASED_INDEXING
    )

    def filler(function):
        """The function as a callback that writes its result into its last argument."""

        def fill(*arguments):
            *inputs, out = arguments
            out[:] = function(*(value if isinstance(value, float) else np.array(value) for value in inputs))

        return fill

    model.set_objective(unopy.MINIMIZE, lambda z: nlp.objective(np.array(z)), filler(nlp.gradient))
    model.set_constraints(
        nlp.n_rows,
        filler(nlp.constraints),
        nlp.row_lower.tolist(),
        nlp.row_upper.tolist(),
        len(nlp.jacobian_rows),
        nlp.jacobian_rows.tolist(),
        nlp.jacobian_columns.tolist(),
        filler(nlp.jacobian),
    )
    model.set_lagrangian_sign_convention(unopy.MULTIPLIER_POSITIVE)
    model.set_lagrangian_hessian(
        len(nlp.hessian_rows),
        unopy.LOWER_TRIANGLE,
        nlp.hessian_rows.tolist(),
        nlp.hessian_columns.tolist(),
        filler(nlp.hessian),
    )
    model.set_initial_primal_iterate(np.asarray(start).tolist())
    if multipliers is not None:
        model.set_initial_dual_iterate(multipliers.tolist())
    solver = unopy.UnoSolver()
    solver.set_preset("ipopt")
    settings = {
        "logger": "SILENT",
        "use_function_scaling": False,
        "barrier_initial_parameter": barrier,
        "primal_tolerance": feasibility,
        "dual_tolerance": optimality,
        "max_iterations": iterations,
        "time_limit": float(seconds),
        **(options or {}),
    }
    for name, value in settings.items():
        solver.set_option(name, value)
    state: dict[str, Any] = {"iteration": 0, "converged": False}

    def watch(z, lower_duals, upper_duals, row_duals, objective_multiplier, violation, stationarity, complementarity):
        state["iteration"] += 1
        z = np.array(z)[: nlp.size]  # behind the unknowns stand slacks of inequalities
        objective = nlp.objective(z)
        now = Progress(
            state["iteration"],
            time.perf_counter() - began,
            objective,
            nlp.violation(z),  # Uno measures the sum, and all the way to slacks
            max(float(stationarity), float(complementarity)),
            z,
            -np.array(row_duals)[: nlp.n_rows],  # behind them stand those of fixed unknowns
        )
        history.append((now.objective, now.violation, now.optimality))
        state["last"] = now
        state["converged"] = now.violation <= feasibility and now.optimality <= optimality
        return bool(monitor(now)) or state["converged"]

    solver.set_termination_callback(watch)
    # Blocks are small: threads of a matrix library would wait for each other, on busy cores a hundred times as long.
    with threadpool_limits(1):
        result = solver.optimize(model)
    solution, ended = (str(one).split(".")[-1] for one in (result.solution_status, result.optimization_status))
    last: Progress | None = state.get("last")
    if solution == "FEASIBLE_KKT_POINT" and not state["converged"]:
        last = None  # Uno went on by a step that the monitor has not seen
    z = np.array(result.primal_solution)[: nlp.size] if last is None else last.z
    stationarity = max(float(result.solution_stationarity), float(result.solution_complementarity))
    return Outcome(
        z,
        np.array(result.constraint_dual_solution)[: nlp.n_rows] if last is None else last.multipliers,
        state["converged"] or solution == "FEASIBLE_KKT_POINT",
        ended == "USER_INTERRUPTION",
        REASONS["converged"] if state["converged"] else REASONS.get(ended, REASONS.get(solution, solution)),
        state["iteration"],
        nlp.violation(z),
        stationarity if last is None else last.optimality,
        time.perf_counter() - began,
        history,
    )


def _unopy() -> Any:
    try:
        import unopy
    except ModuleNotFoundError as error:
        raise OptionError("planning needs the package unopy: pip install softground[plan]") from error
    return unopy
