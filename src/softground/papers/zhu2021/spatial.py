"""Beyond the paper: a gait in space. ANYmal, with a free base and round feet, on the sand that the paper walks on.

The planner is the same. A free joint has seven coordinates and six velocities: the rows q+ = q (+) dt v+ turn the
quaternion and keep it of unit length, and derivatives fall back to forward differentiation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import strip_figure
from softground.media.named import sand
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Study, Table, at_least, at_most
from softground.papers.zhu2019.quadruped import STRENGTH
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.flat import time_rows
from softground.papers.zhu2021.pictures import convergence_figure
from softground.planning import GaitProblem, Trajectory, walk_at_speed, walking_problem
from softground.planning.guesses import stance
from softground.robots import Robot
from softground.runs import RobotMotion
from softground.simulation import Ground

SPEED, PERIOD, LIFT = 0.3, 1.0, 0.15  # m/s, s, m
KNOTS, QUICK_KNOTS = 41, 11
CROUCH = 0.03  # m, below the robot's posture
MOMENTS = 5
STEP = 0.05  # s


@cache
def robot() -> Robot:
    return Robot.load("anymal")


def problem(quick: bool = False) -> GaitProblem:
    """Walk for 2 s, two periods; or for half a second."""
    knots, period = QUICK_KNOTS if quick else KNOTS, PERIOD / (1 + quick)
    return walking_problem(robot(), Ground(sand(STRENGTH)), SPEED, knots=knots, dt=STEP, period=period)


def start(problem: GaitProblem) -> Trajectory:
    """A simulated trot. The feet are round and sink deeper than RoboSimian's, so they are lifted higher."""
    posture = stance(problem.robot, gather=1.0, crouch=CROUCH)
    return walk_at_speed(problem, period=PERIOD, lift=LIFT, posture=posture, settle=2 * PERIOD)


def perform(options: Options) -> Findings:
    gait = gaits.planned(problem(options.quick), "trot", start, gaits.stages_of(options.quick))
    return Findings(
        checks=_checks(gait),
        metrics={"metrics": gait.metrics, "replay": gait.replayed, "status": gait.report["status"]},
        tables=[
            Table("spatial", "ANYmal on flat sand, 2 s", [gait.row()]),
            Table("time", "Where the time went (s)", time_rows(gait)),
        ],
        figures={
            "gait": figure({"planned": gait.plan.motion, "replayed": gait.again}),
            "convergence": convergence_figure(gait.report),
        },
        videos=gait.videos,
        notes=[
            "Sand of strength 2, as for RoboSimian. Under round feet its wrench is a force without torque.",
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            "The base may move and turn in all six directions; costs hold its speed along x, its pitch and its height, "
            "with the weights of the paper, and its speed along y, its roll and its yaw, of which the paper has none.",
        ],
    )


def _checks(gait: gaits.Gait) -> list[Check]:
    fewest, kept = gait.metrics["fewest_lifts_in_a_period"], gait.replayed["speed_kept"]
    q = gait.trajectory.q
    unit = float(np.abs(np.linalg.norm(q[:, 3:7], axis=1) - 1).max())
    return [
        at_most("feasibility", gait.report["violation"], bar.TOLERANCE),
        at_most("optimality", gait.report["optimality"], bar.TOLERANCE),
        at_most("quaternions stay of unit length: greatest error", unit, bar.UNIT_LENGTH),
        at_least("every foot leaves the ground in every period: fewest lifts", fewest, bar.LIFTS),
        at_most("drift to a side over way", float(np.ptp(q[:, 1]) / (q[-1, 0] - q[0, 0])), bar.DRIFT),
        at_least("speed kept when replayed in the simulator", kept, bar.SPEED_KEPT),
        Check("it does not fall when replayed", not gait.replayed["fell"], str(gait.replayed["fell"]), "False"),
    ]


def figure(rows: Mapping[str, RobotMotion]) -> Figure:
    """The robot from its right at several moments."""
    end = min(float(run["time"].values[-1]) for run in rows.values())
    return strip_figure(rows, np.linspace(0.0, end, MOMENTS).tolist(), window=(-0.6, 0.6, -0.6, 0.4), follow=True)


STUDY = Study(
    "zhu2021",
    "spatial",
    "a gait in space (beyond the paper)",
    "the paper plans in the plane; its method is said to hold in space (n = 6 for a foot's spline).",
    perform,
)
