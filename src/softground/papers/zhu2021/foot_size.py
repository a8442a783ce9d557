"""Beyond the paper: the size of the feet, found together with the gait.

Larger feet sink less and weigh more. How the cost of the best gait changes with their size follows from one solve
(`planning.sensitivity`); a few more, placed by the slopes so far, find the best size.

A gait that is solved to 1e-3 still has a long and flat way down to its optimum, and what it gains there would hide what
feet gain. So a gait of 3 s is first brought far down, and then every size starts from it and goes on by the same number
of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
from softground.planning import GaitProblem, InsideData, standard_stages, walk_at_speed, walking_problem
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.sensitivity import Physics, slope_of_optimum
from softground.robots import Robot
from softground.robots.shapes import Cylinder
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Ground

SIZES = (0.7, 1.6)
"""Least and greatest size that is tried, in radii of RoboSimian's own feet."""
FIRST_STEP = 0.1
"""By which the second size differs from the first."""
SOLVES, QUICK_SOLVES = 4, 1
CLOSE_ENOUGH = 0.02
"""The search ends when the next size would differ by less."""
KNOTS, PERIOD = 61, 1.5  # s
WAY_DOWN, DESCENT = 200, 60
"""Iterations with the exact Hessian, of the gait from which all sizes start and of each of them."""
UNREACHED = 1e-9
"""Tolerance of stages that are ended by their number of iterations."""
DEEPEST = 0.1
"""Limit on the depth of the feet (m), the same for all sizes."""


def perform(options: Options) -> Findings:
    tried = list(search(options.quick))
    best = min(tried, key=lambda one: one.cost)
    return Findings(
        checks=_checks(tried, best),
        metrics={
            f"{one.size:.4g}": {"cost": one.cost, "slope": one.slope, "metrics": one.gait.metrics} for one in tried
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
            f"Gaits of {KNOTS} knots (3 s), each {DESCENT} iterations with the exact Hessian from one that had "
            f"{WAY_DOWN}: none has reached its optimum, and costs are compared after equal ways.",
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
    gait: gaits.Gait
    slope: float

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
            "deepest foot (m)": metrics["deepest"],
            "slip": metrics["slip"],
        } | self.gait.row()


def search(quick: bool = False) -> Iterator[Tried]:
    """Sizes tried, from 1 on: downhill by a step, then by the secant of the slopes."""
    start = brought_down(quick)
    tried: list[Tried] = []
    for _ in range(QUICK_SOLVES if quick else SOLVES):
        size = next_size(tried) if tried else 1.0
        if any(abs(size - one.size) < CLOSE_ENOUGH for one in tried):
            return
        tried.append(solved(size, start, quick))
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


def brought_down(quick: bool = False) -> gaits.Gait:
    """The gait with feet of size 1 from which all others start."""
    *rough, polish = standard_stages()
    longer = replace(polish, optimality=UNREACHED, iterations=WAY_DOWN)
    stages = gaits.stages_of(True) if quick else (*rough, longer)
    return gaits.planned(sized(1.0), _label(1.0, "walk"), walk_at_speed, stages)


def solved(size: float, start: gaits.Gait, quick: bool = False) -> Tried:
    """The gait with feet of this size, after the same descent from the start."""
    problem, polish = sized(size), standard_stages()[-1]
    stages = (replace(polish, optimality=UNREACHED, iterations=DESCENT // 10 if quick else DESCENT),)
    label = _label(size, f"from {start.fingerprint}")
    gait = gaits.planned(problem, label, lambda _: start.trajectory, stages)
    plan = replace(gait.plan, problem=problem)  # as that of the file, but compiled already
    slope = slope_of_optimum(plan, physics(), np.asarray(size))
    return Tried(size, gait, float(slope))


def _label(size: float, guess: str) -> str:
    return f"feet of size {size:.17g}, {FOOT_MASS} kg, {guess}"


def sized(size: float) -> GaitProblem:
    """Walking on flat sand with feet `size` times as large."""
    shape = Cylinder(size * REFERENCE_FOOT.radius, size * REFERENCE_FOOT.length)
    robot = Robot.load("robosimian", feet={foot.name: shape for foot in gaits.robot().feet})
    ground = Ground(SimilarFeet(sand(STRENGTH), REFERENCE_FOOT))
    # Weights of costs go by a robot's weight: they are to be the same for all sizes.
    plain = walking_problem(robot, ground, gaits.SPEED, knots=KNOTS, period=PERIOD)
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


def _checks(tried: list[Tried], best: Tried) -> list[Check]:
    loose = [f"{one.size:.3g}" for one in tried if one.gait.report["violation"] > bar.TOLERANCE]
    still = [f"{one.size:.3g}" for one in tried if not one.gait.walks]
    off = [abs(row["by the mean of the slopes"] - row["solved"]) / best.cost for row in predictions(tried)]
    return [
        Check("sizes whose gait is not feasible to 1e-3", not loose, ", ".join(loose) or "none", "none"),
        Check("sizes whose gait does not walk in the simulator", not still, ", ".join(still) or "none", "none"),
        below("cost with the best size over that with the robot's own", best.cost / tried[0].cost, bar.BETTER),
        below(
            "error of a change of cost predicted by slopes, over the cost",
            max(off, default=0.0),
            bar.PREDICTED_WITHIN,
        ),
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
