"""IV.D's start: contact discovered, from a robot that trots in place and from less.

Nothing in a problem says which foot touches the ground when, but a start does: gaits of the other studies come from
strides that step already. Here starts do not go anywhere, or do not step. Each is solved as it is and by continuation
in eps, on ground of 10 and 3 W first, and the better of the two is where a search begins (`planning.search`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, below
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.objectives import at_speed
from softground.papers.zhu2021.pictures import gait_figure
from softground.planning import GaitProblem, Manner, Plan, Search, Stage, Trajectory, drawn_walk, near_stages, solve
from softground.planning.kept import kept_plan
from softground.planning.search import improved, rank
from softground.planning.stages import first_stages, neighbour_stages
from softground.planning.steady import gait_of, steady_gait
from softground.planning.strides import Children, repeated, stride_problem, whole_stride
from softground.planning.trajectory import gait_metrics

SUNK = 0.04  # m, of the deepest foot of a start
SEARCH = Search(rounds=6, idle=2, noise=0.01, workers=1)
"""Noise of 0.01 rad: a robot that stands alike on the right and on the left has no reason to begin with either foot."""
AS_IT_IS, CONTINUED = "as it is", "by continuation in eps"
DEARER = 1.5
"""Cost that a discovered gait may have, in that of the library's."""


@dataclass(frozen=True)
class Start:
    """A robot that moves its feet to and fro at a speed (m/s) and lifts them (m), or does not."""

    speed: float
    lift: float

    def __call__(self, problem: GaitProblem) -> Trajectory:
        """The start for a problem, drawn; torques are zero."""
        return drawn_walk(at_speed(problem, self.speed), Manner(lift=self.lift), sunk=SUNK)


STARTS = {
    "trotting in place": Start(0.0, Manner().lift),
    "standing": Start(0.0, 0.0),
    "a shuffle": Start(gaits.SPEED, 0.0),
}


@dataclass(frozen=True)
class Discovered:
    """What a start led to."""

    label: str
    lifts: tuple[int, ...]  # of each foot in the start, in as many strides as the gait has
    first: dict[str, Plan]  # strides, solved as the start is and by continuation
    gait: gaits.Gait  # of the best stride of the search

    def row(self) -> Row:
        """A row of the table."""
        solved = {f"lifts, {way}": gaits.in_words(whole(stride).metrics.lifts) for way, stride in self.first.items()}
        costs = {f"cost, {way}": whole(stride).report.objective for way, stride in self.first.items()}
        found = {"cost, with a search": self.gait.report["objective"]}
        start = {"start": self.label, "lifts in the start": gaits.in_words(self.lifts)}
        return start | solved | costs | found | self.gait.row() | start


def perform(options: Options) -> Findings:
    found = [discovered(label, options.quick) for label in STARTS]
    library = steady_gait(problem(options.quick), gaits.EPS)
    best = min(found, key=lambda one: one.gait.report["objective"])
    return Findings(
        checks=[check for one in found for check in checks(one, library)],
        metrics={
            one.label: {"lifts_before": one.lifts, "metrics": one.gait.metrics, "replay": one.gait.replayed}
            | {"cost": one.gait.report["objective"], "cost_of_the_library": library.report.objective}
            for one in found
        },
        tables=[Table("starts", "What starts lead to", [one.row() for one in found])],
        figures={"gaits": gait_figure({one.label: one.gait.plan.motion for one in found})},
        videos={"best": Video(best.gait.plan, f"from {best.label}")},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.UNITS_NOTE,
            f"Starts are drawn, not simulated: feet move on paths, the deepest is {100 * SUNK:g} cm in the sand, "
            f"torques are zero, and all joints have noise of {SEARCH.noise:g} rad. None is from the library.",
            f"The search has at most {SEARCH.rounds} rounds of moves from what the start led to; it draws no walks.",
            f"The library's stride has a cost of {library.report.objective:.4g}, as long.",
        ],
    )


@cache
def problem(quick: bool = False) -> GaitProblem:
    """The gait on flat sand: six strides, or one."""
    whole = gaits.problem_on(gaits.slope(0.0))
    return replace(whole, knots=31) if quick else whole


def discovered(label: str, quick: bool = False) -> Discovered:
    """What a start leads to, kept in the cache as it is found."""
    one = stride_problem(problem())
    start = SEARCH.perturbed(STARTS[label](one), 0)
    ways = {AS_IT_IS: (near_stages(gaits.EPS)), CONTINUED: first_stages(gaits.EPS)}
    first = {way: _kept(one, f"{label}, {way}", start, _short(stages, quick)) for way, stages in ways.items()}
    names = ", ".join(f"{stride.report.objective:.17g}" for stride in first.values())

    def searching(_: GaitProblem) -> Plan:
        strides = [replace(stride, problem=one) for stride in sorted(first.values(), key=rank)]
        return improved(strides, Children(one.robot), neighbour_stages(gaits.EPS), SEARCH)

    stride = min(first.values(), key=rank) if quick else kept_plan(one, f"{SEARCH} from {names}", searching)[0]
    found = lambda problem: gait_of(problem, replace(stride, problem=one))  # noqa: E731
    gait = gaits.found(problem(quick), f"{label}, stride of {stride.report.objective:.17g}", found)
    steps = repeated(one.robot, whole_stride(one, start), problem(quick).knots)
    return Discovered(label, gait_metrics(problem(quick), steps).lifts, first, gait)


def _kept(one: GaitProblem, way: str, start: Trajectory, stages: tuple[Stage, ...]) -> Plan:
    find: Callable[[GaitProblem], Plan] = lambda problem: solve(problem, start, stages=stages, progress=False)  # noqa: E731
    return kept_plan(one, f"{way}, {np.asarray(start.q).sum():.17g}", find, stages)[0]


def _short(stages: tuple[Stage, ...], quick: bool) -> tuple[Stage, ...]:
    return tuple(replace(stage, iterations=10) for stage in stages[:1]) if quick else stages


def whole(stride: Plan) -> Plan:
    """The gait of 9 s that a stride makes."""
    return gait_of(problem(), replace(stride, problem=stride_problem(problem())))


def checks(one: Discovered, library: Plan) -> list[Check]:
    """Solved; every foot lifts in every period, though hardly one of the start's did; it walks."""
    gait, fewest, kept = one.gait, one.gait.metrics["fewest_lifts_in_a_period"], one.gait.replayed["speed_kept"]
    claims = [
        Check("solved to 1e-3", gait.converged, gait.report["status"], "converged"),
        Check("every foot leaves the ground in every period: fewest lifts", fewest >= 1, float(fewest), ">= 1"),
        Check("speed kept when replayed, without a fall", gait.walks, kept, f">= {bar.SPEED_KEPT:g}"),
        below("cost over that of the library's stride", gait.report["objective"] / library.report.objective, DEARER),
    ]
    return [replace(claim, name=f"{one.label}: {claim.name}") for claim in claims]


STUDY = Study(
    "zhu2021",
    "discovered",
    "contact discovered, from a trot in place, from standing and from a shuffle (IV.D)",
    "gaits start from a trot in place, and the robot walks without having been told which foot steps when.",
    perform,
)
