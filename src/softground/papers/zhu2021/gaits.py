"""RoboSimian's gaits on sand: planned once, kept in the cache, replayed in the simulator."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from softground.media.named import sand
from softground.papers import thresholds as bar
from softground.papers.study import Row, Video
from softground.papers.zhu2019.quadruped import STRENGTH
from softground.planning import (
    GaitProblem,
    Plan,
    Stage,
    Trajectory,
    carried_over,
    standard_stages,
    walk_at_speed,
)
from softground.planning.kept import found_and_replayed, planned_and_replayed
from softground.planning.problem import walking_problem
from softground.planning.steady import steady_gait
from softground.robots import Robot
from softground.runs import Run
from softground.simulation import Ground
from softground.surfaces import Plane, Surface

SPEED = 0.4  # m/s
EPS = 1.0  # W, smoothing of the ground while planning
TITLE = "robosimian on sand"
QUICK_ITERATIONS = 60
STRENGTH_NOTE = (
    "The sand is resistive force theory of strength 2; of strength 1 it carries RoboSimian's 980 N on four feet at "
    "5.9 cm. The authors doubled their measured sand, which carries at most 920 N."
)
COST_NOTE = (
    "Mc as printed sums power over knots without the time step (1/s); times dt = 0.05 s it is the usual dimensionless "
    "cost of transport, given beside it."
)
UNITS_NOTE = (
    "Feasibility is the greatest violation of any row: m/s and rad/s for motion, 100 N and 100 N m for forces. "
    "Optimality is Uno's scaled KKT residual. Contact is smoothed by eps = 1 W while planning, by 1e-3 W in the replay "
    "(steps of 2 ms)."
)


@dataclass(frozen=True)
class Gait:
    """A planned gait and how it did in the simulator."""

    plan: Plan
    again: Run
    fingerprint: str  # of all that it depends on
    replayed: dict[str, Any]  # of `planning.Replay`, with feedback
    open_loop: dict[str, Any]  # of `planning.Replay`, by joint PD control alone

    @property
    def trajectory(self) -> Trajectory:
        return self.plan.trajectory

    @property
    def metrics(self) -> dict[str, Any]:
        """Of `planning.GaitMetrics`."""
        return self.plan.metrics.as_dict()

    @property
    def report(self) -> dict[str, Any]:
        """Of `planning.Report`."""
        return asdict(self.plan.report)

    @property
    def converged(self) -> bool:
        return self.report["status"] == "converged"

    @property
    def walks(self) -> bool:
        """Whether it keeps its speed in the simulator without a fall."""
        return self.replayed["speed_kept"] >= bar.SPEED_KEPT and not self.replayed["fell"]

    @property
    def videos(self) -> dict[str, Video]:
        """Videos of the plan and of its replay."""
        return {
            "planned": Video(self.plan, "planned gait"),
            "replayed": Video(self.again, "planned gait, replayed"),
        }

    def row(self) -> Row:
        """The numbers of a gait that a table shows."""
        metrics, report = self.metrics, self.report
        return {
            "Mv (m/s)": metrics["velocity_error"],
            "Mc (1/s)": metrics["paper_cost"],
            "cost of transport": metrics["cost_of_transport"],
            "status": report["status"],
            "feasibility": report["violation"],
            "optimality": report["optimality"],
            "iterations": report["iterations"],
            "solve (s)": report["seconds"],
            "compile (s)": report["compile_seconds"],
            "lifts of each foot": in_words(metrics["lifts"]),
            "lifts in the start": in_words(report["start_lifts"]),
            "speed kept in replay": self.replayed["speed_kept"],
            "fell": self.replayed["fell"],
            "speed kept, open loop": self.open_loop["speed_kept"],
            "fell, open loop": self.open_loop["fell"],
        }


def in_words(lifts: Sequence[int]) -> str:
    """Lifts of all feet, for a cell of a table."""
    return " ".join(map(str, lifts))


@cache
def robot() -> Robot:
    return Robot.load("robosimian")


def problem_on(surface: Surface, quick: bool = False) -> GaitProblem:
    """Walk at 0.4 m/s on sand below a surface: the paper's 181 knots, or 31 of them."""
    size = {"knots": 31, "period": 0.75} if quick else {}
    return walking_problem(robot(), Ground(sand(STRENGTH), surface), SPEED, **size)


def slope(degrees: float) -> Plane:
    """A plane that rises towards +x."""
    return Plane(slope=np.deg2rad(degrees))


def stages_of(quick: bool) -> tuple[Stage, ...]:
    """The standard way to a solution, or its first steps."""
    if not quick:
        return standard_stages()
    return tuple(replace(stage, iterations=QUICK_ITERATIONS) for stage in standard_stages()[:1])


def flat(quick: bool = False) -> Gait:
    """The gait on flat sand."""
    return on_slope(0.0, quick)


def on_slope(degrees: float, quick: bool = False) -> Gait:
    """The gait on a slope: whole strides, of the library's. In short from a simulated walk, turned."""
    problem = problem_on(slope(degrees), quick)
    if not quick:
        return found(problem, "whole strides", lambda one: steady_gait(one, EPS))
    if degrees:
        return continued(slope(degrees), flat(quick), quick)
    return planned(problem, "walk", walk_at_speed, stages_of(quick))


def continued(surface: Surface, neighbour: Gait, quick: bool = False) -> Gait:
    """A gait on a terrain, from that of a neighbouring terrain (zhu2021 IV.E)."""
    name = neighbour.fingerprint
    guess = lambda problem: carried_over(problem, neighbour.plan)  # noqa: E731
    return planned(problem_on(surface, quick), f"from {name}", guess, stages_of(quick))


def planned(
    problem: GaitProblem,
    guess_name: str,
    guess: Callable[[GaitProblem], Trajectory],
    stages: tuple[Stage, ...],
    **options: Any,
) -> Gait:
    """The gait that solves a problem from a guess, and its replay (`planned_and_replayed`, which has the options)."""
    return _judged(*planned_and_replayed(problem, guess_name, guess, stages, title=TITLE, **options))


def found(problem: GaitProblem, way: str, find: Callable[[GaitProblem], Plan], **options: Any) -> Gait:
    """A gait that is found in the way of this name, and its replay (`found_and_replayed`, which has the options)."""
    return _judged(*found_and_replayed(problem, way, find, title=TITLE, **options))


def _judged(plan: Plan, again: Run, fingerprint: str) -> Gait:
    return Gait(plan, again, fingerprint, *(json.loads(again.attrs[name]) for name in ("replay", "open_loop")))
