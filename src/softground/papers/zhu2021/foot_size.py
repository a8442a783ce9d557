"""Beyond the paper: the size of the feet, found together with the gait.

Larger feet sink less and weigh more. How the cost of the best gait changes with their size follows from one solve
(`planning.sensitivity`); a few more, placed by the slopes so far, find the best size.

That holds of optima only, and only of one that is followed: strides are small enough to be solved to ten digits, each
from the one of the nearest size, and slopes are compared with those that solving again on either side gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import jax
import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.arrays import Array
from softground.bridges.side_pictures import blank
from softground.media import WrenchSpace
from softground.media.named import REFERENCE_FOOT, sand
from softground.media.similar_feet import SimilarFeet, scaled_foot
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, below
from softground.papers.zhu2019.quadruped import FOOT_MASS, STRENGTH, weighing
from softground.papers.zhu2021 import gaits
from softground.planning import GaitProblem, InsideData, Plan, near_stages, solve, walking_problem
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.kept import kept_plan
from softground.planning.sensitivity import Physics, slope_of_optimum
from softground.planning.steady import gait_of
from softground.planning.strides import best_stride, stride_problem
from softground.robots import Robot
from softground.robots.shapes import Cylinder
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Ground

SIZES = (0.7, 1.6)
"""Least and greatest size that is tried, in radii of RoboSimian's own feet."""
FIRST_STEP = 0.1
"""By which the second size differs from the first."""
SOLVES, QUICK_SOLVES = 6, 1
CLOSE_ENOUGH = 0.002
"""The search ends when the next size would differ by less."""
BESIDE = 0.002
"""By which sizes differ at which a stride is solved again, on either side."""
KNOTS, QUICK_KNOTS = 181, 31
SOLVED = 1e-9
"""To which strides are solved. Every limit that holds a gait may leave this much of the cost undone, and there are a
hundred of them: of 1e-6 what they leave would be seen in the costs' fifth digit, where the gain from feet is."""
DEEPEST = 0.1
"""Limit on the depth of the feet (m), the same for all sizes."""


def perform(options: Options) -> Findings:
    tried = list(search(options.quick))
    best = min(tried, key=lambda one: one.cost)
    return Findings(
        checks=checks(tried, best),
        metrics={
            f"{one.size:.4g}": {
                "cost": one.cost,
                "slope": one.slope,
                "by_solving_again": one.by_solving,
                "metrics": one.gait.metrics,
            }
            for one in tried
        }
        | {"best_size": best.size},
        tables=[
            Table("sizes", "The best gait for each size of the feet, in the order tried", [one.row() for one in tried]),
            Table("predictions", "What slopes predict, and what solves find", predictions(tried)),
        ],
        figures={"sizes": figure(tried)},
        videos={"best": Video(best.gait.again, f"feet of {REFERENCE_FOOT.radius * best.size:.3f} m, replayed")},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.UNITS_NOTE,
            f"Gaits are strides, solved to {SOLVED:g} and repeated. The first is the library's, each other starts from "
            "that of the nearest size.",
            "The cost is that of the plan: torque squared and small terms. A foot is scaled in radius and length, its "
            "sole stays where it is. Forces of the ground scale exactly (size^3, at depth / size), masses with size^3.",
            f"Of each foot {FOOT_MASS:.3f} kg are assumed to be the cylinder that is scaled; the robot's data do not "
            "say. The rest of the limb stays as it is.",
        ],
    )


@dataclass(frozen=True)
class Tried:
    """The best gait with feet of one size, and how its cost would change with that."""

    size: float
    stride: Plan
    gait: gaits.Gait
    slope: float  # by the multipliers
    by_solving: float  # the same by solving again on either side

    @property
    def cost(self) -> float:
        return self.gait.report["objective"]

    def row(self) -> Row:
        """A row of the table."""
        metrics = self.gait.metrics
        return {
            "size": self.size,
            "radius (m)": self.size * REFERENCE_FOOT.radius,
            "foot (kg)": FOOT_MASS * self.size**3,
            "cost J": self.cost,
            "dJ/dsize": self.slope,
            "by solving again": self.by_solving,
            "deepest foot (m)": metrics["deepest"],
            "slip": metrics["slip"],
        } | self.gait.row()


def search(quick: bool = False) -> Iterator[Tried]:
    """Sizes tried, from 1 on: downhill by a step, then by the secant of the slopes."""
    start = best_stride(stride_problem(gaits.problem_on(gaits.slope(0.0))), gaits.EPS)
    tried: list[Tried] = []
    for _ in range(QUICK_SOLVES if quick else SOLVES):
        size = next_size(tried) if tried else 1.0
        if any(abs(size - one.size) < CLOSE_ENOUGH for one in tried):
            return
        nearest = min(tried, key=lambda one: abs(one.size - size)).stride if tried else start
        tried.append(solved(size, nearest, quick))
        yield tried[-1]


def next_size(tried: list[Tried]) -> float:
    """Where the slope vanishes, by the two sizes next to it; one step downhill where that is further away."""
    by_slope = sorted(tried, key=lambda one: abs(one.slope))
    nearest = by_slope[0]
    step = -float(np.sign(nearest.slope)) * FIRST_STEP
    if len(by_slope) > 1:
        bend = (by_slope[1].slope - nearest.slope) / (by_slope[1].size - nearest.size)
        if bend > 0:  # else no minimum between or beyond them: go on downhill
            step = float(np.clip(-nearest.slope / bend, -2 * FIRST_STEP, 2 * FIRST_STEP))
    return float(np.clip(nearest.size + step, *SIZES))


def solved(size: float, nearest: Plan, quick: bool = False) -> Tried:
    """The gait with feet of this size, from the stride of another, and its slopes."""
    stride, name = kept_stride(size, nearest)
    problem = sized(size, QUICK_KNOTS if quick else KNOTS)
    gait = gaits.found(problem, f"{_label(size)}, stride {name}", lambda one: gait_of(one, stride))
    slope = slope_of_optimum(stride, physics(), np.asarray(size))
    beside = [kept_stride(size + side * BESIDE, stride)[0].report.objective for side in (-1, 1)]
    strides = (problem.knots - 1) / (stride.problem.knots - 1)
    return Tried(size, stride, gait, strides * float(slope), strides * (beside[1] - beside[0]) / (2 * BESIDE))


def kept_stride(size: float, start: Plan) -> tuple[Plan, str]:
    """The stride with feet of this size, and its name in the cache."""
    near, last = near_stages(gaits.EPS)
    stages = (near, last, replace(last, optimality=SOLVED, barrier=SOLVED))
    find = partial(solve, guess=start.trajectory, stages=stages, feasibility=SOLVED, optimality=SOLVED, progress=False)
    problem = stride_problem(sized(size))
    way = f"{_label(size)}, from a stride of {start.report.objective:.17g}"
    plan, name = kept_plan(problem, way, find, stages)
    return replace(plan, problem=problem), name  # as that of the file, but compiled already


def _label(size: float) -> str:
    return f"feet of size {size:.17g}, {FOOT_MASS} kg"


def sized(size: float, knots: int = KNOTS) -> GaitProblem:
    """Walking on flat sand with feet `size` times as large."""
    shape = Cylinder(size * REFERENCE_FOOT.radius, size * REFERENCE_FOOT.length)
    robot = Robot.load("robosimian", feet={foot.name: shape for foot in gaits.robot().feet})
    ground = Ground(SimilarFeet(sand(STRENGTH), REFERENCE_FOOT))
    # Weights of costs go by a robot's weight: they are to be the same for all sizes.
    plain = walking_problem(robot, ground, gaits.SPEED, knots=knots)
    return replace(plain, robot=weighing(robot, size), constraints=(InsideData(depth=DEEPEST),))


def physics() -> Callable[[Float[Array, ""]], Physics]:
    """Robot and ground as a differentiable function of the size of the feet."""
    robot = gaits.robot()
    space = medium_for_planning(robot, Ground(sand(STRENGTH)))
    assert isinstance(space, WrenchSpace)  # as sand's is
    return lambda size: Physics(weighing(robot, size), jax.vmap(scaled_foot, (0, None))(space, size))


def predictions(tried: list[Tried]) -> list[Row]:
    """Change of the cost from one size to the next: by the first slope, by the mean of both, and as solved."""
    ordered = sorted(tried, key=lambda one: one.size)
    return [
        {
            "from size": one.size,
            "to size": other.size,
            "predicted by the slope at the first": one.slope * (other.size - one.size),
            "by the mean of the slopes": (one.slope + other.slope) / 2 * (other.size - one.size),
            "solved": other.cost - one.cost,
        }
        for one, other in pairwise(ordered)
    ]


def checks(tried: list[Tried], best: Tried) -> list[Check]:
    """Solved, walking, and slopes that say what solving again finds."""
    loose = [f"{one.size:.3g}" for one in tried if one.stride.report.status != "converged"]
    still = [f"{one.size:.3g}" for one in tried if not one.gait.walks]
    apart = [abs(one.slope - one.by_solving) / one.cost for one in tried]
    off = [abs(row["by the mean of the slopes"] - row["solved"]) / best.cost for row in predictions(tried)]
    return [
        Check(f"sizes whose stride is not solved to {SOLVED:g}", not loose, ", ".join(loose) or "none", "none"),
        Check("sizes whose gait does not walk in the simulator", not still, ", ".join(still) or "none", "none"),
        below("slopes: by multipliers less by solving again, over the cost", max(apart), bar.SLOPES_WITHIN),
        below(
            "error of a change of cost predicted by slopes, over the cost", max(off, default=0.0), bar.PREDICTED_WITHIN
        ),
        below("slope at the best size, over the cost", abs(best.slope) / best.cost, bar.SLOPES_WITHIN),
        below("cost with the best size over that with the robot's own", best.cost / tried[0].cost, bar.BETTER),
    ]


def figure(tried: list[Tried]) -> Figure:
    """Cost with its slopes, cost of transport and depth over the size of the feet."""
    ordered = sorted(tried, key=lambda one: one.size)
    sizes = np.array([one.size for one in ordered])
    curves = {
        "cost J, with its slopes": [one.cost for one in ordered],
        "cost of transport": [one.gait.metrics["cost_of_transport"] for one in ordered],
        "deepest foot (m)": [one.gait.metrics["deepest"] for one in ordered],
    }
    with matplotlib.rc_context(STYLE):
        result = blank(8.4, 2.6)
        panels = result.subplots(1, 3)
        for panel, (label, values), colour in zip(panels, curves.items(), COLOURS, strict=False):
            panel.plot(sizes, values, "o", ms=4, color=colour)
            panel.set(xlabel="size of the feet", ylabel=label)
        reach = np.array([-0.4, 0.4]) * FIRST_STEP
        for one in ordered:
            panels[0].plot(one.size + reach, one.cost + one.slope * reach, color=COLOURS[0], lw=1)
    return result


STUDY = Study(
    "zhu2021",
    "foot-size",
    "the size of the feet, found with the gait (beyond the paper)",
    "the paper plans for the robot as it is; its ground is differentiable, so what stands on it can be planned too.",
    perform,
)
