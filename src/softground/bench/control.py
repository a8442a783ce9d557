"""Time of a whole-body controller on one core, and of QP solvers on the problems that it met.

A humanoid walks on foam; every tick is timed as a whole, and every tenth of its quadratic programs is kept. Each solver
then gets each of them, in turn, timed on the processor's clock, which a busy machine disturbs less than the one on the
wall. A solver is only as good as its solutions: the worst residual of the optimality conditions (`kkt_residual`) stands
beside its time.
"""

from __future__ import annotations

import importlib.util
import time

import numpy as np

from softground.bench.step import one_core
from softground.control.walking import gait_for
from softground.control.walking.walk import Belief, Command, verdict, walk
from softground.control.walking.walker import walking_controller
from softground.control.whole_body import Problem, Status, kkt_residual
from softground.control.whole_body.solvers import SOLVERS, Solver
from softground.media import ViscoElastic
from softground.robots import Robot
from softground.simulation import Simulator

KEPT_EVERY = 10  # ticks
PACKAGES = {"proxqp": "proxsuite"}  # where a solver is not called as its package


def measure(
    robot: str = "icub",
    controller: str = "compliant",
    stiffness: float = 2e6,
    damping: float = 1e4,
    speed: float = 0.085,
    seconds: float = 6.0,
    repeats: int = 3,
    solvers: tuple[str, ...] | None = None,
) -> dict:
    """Times in microseconds: of whole ticks in a walk, and of every solver (or those named) on the walk's problems."""
    with one_core():
        problems, ticks = _walk(robot, controller, stiffness, damping, speed, seconds)
        chosen = {name: SOLVERS[name] for name in solvers or _installed()}
        return {"solvers": compare(problems, chosen, repeats), "problems": len(problems), **ticks}


def compare(problems: list[Problem], solvers: dict[str, Solver], repeats: int = 3) -> dict[str, dict]:
    """Mean and 99th percentile of the time a solve takes (best of `repeats`), worst residual, failures."""
    spent: dict[str, list[float]] = {name: [] for name in solvers}
    residual, failures = dict.fromkeys(solvers, 0.0), dict.fromkeys(solvers, 0)
    for problem in problems:
        for name, solve in solvers.items():
            times = []
            for _ in range(repeats):
                start = time.process_time()
                solution = solve(problem)
                times.append(time.process_time() - start)
            spent[name].append(min(times))
            if solution.status is Status.SOLVED:
                residual[name] = max(residual[name], kkt_residual(problem, solution).worst)
            else:
                failures[name] += 1
    return {
        name: {
            "mean_us": 1e6 * float(np.mean(spent[name])),
            "p99_us": 1e6 * float(np.quantile(spent[name], 0.99)),
            "worst_kkt": residual[name],
            "failures": failures[name],
        }
        for name in solvers
    }


def _walk(robot: str, controller: str, stiffness: float, damping: float, speed: float, seconds: float):
    """Problems kept from a walk, and how long its ticks took."""
    machine = Robot.load(robot)
    simulator = Simulator(machine, ViscoElastic(stiffness, damping), 1e-3)
    walking = walking_controller(machine, controller)
    walking.solver = recorder = _Recorder(walking.solver)
    belief = Belief(stiffness, damping)
    run = walk(simulator, walking, gait_for(machine), Command(speed, seconds=seconds), belief, progress=False)
    found = verdict(run)
    spent = 1e6 * run["controller_seconds"].values[KEPT_EVERY:]  # the first ticks compile
    return recorder.problems, {
        "tick_mean_us": float(spent.mean()),
        "tick_median_us": float(np.median(spent)),
        "tick_p99_us": float(np.quantile(spent, 0.99)),
        "ticks": len(spent),
        "real_time_factor": found.real_time_factor,
        "walk": found.ended,
    }


class _Recorder:
    """A solver that keeps some of the problems it is given."""

    def __init__(self, solve: Solver):
        self._solve, self._count = solve, 0
        self.problems: list[Problem] = []

    def __call__(self, problem: Problem):
        if self._count % KEPT_EVERY == 0:
            self.problems.append(Problem(*(part.copy() for part in problem)))
        self._count += 1
        return self._solve(problem)


def _installed() -> list[str]:
    return [name for name in SOLVERS if importlib.util.find_spec(PACKAGES.get(name, name)) is not None]
