"""Beyond the paper: the work of the actuators as the cost, and how fast the robot can walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import matplotlib
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, below
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.pictures import gait_figure
from softground.planning import ForwardSpeed, GaitProblem
from softground.planning.planner import objective_named, stages_for
from softground.runs.figures import COLOURS, STYLE

SPEEDS, QUICK_SPEEDS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0), (0.5,)  # m/s
"""Tried in turn, until a gait is not found or does not keep its speed in the simulator."""


def perform(options: Options) -> Findings:
    flat = gaits.flat(options.quick)
    effort, work = (least(objective, flat, options.quick) for objective in ("effort", "work"))
    faster = list(ever_faster(flat, options.quick))
    walking = {gaits.SPEED: flat} | {speed: gait for speed, gait in faster if usable(gait, options.quick)}
    fastest = max(walking)
    shown = {"least torque": effort, "least work": work, f"{fastest:g} m/s": walking[fastest]}
    pictures = {label: gait.plan.motion for label, gait in shown.items()}
    return Findings(
        checks=_checks(effort, work, fastest),
        metrics={
            "effort": _numbers(effort),
            "work": _numbers(work),
            "speeds": {f"{speed:g}": _numbers(gait) for speed, gait in faster},
            "fastest_m_s": fastest,
        },
        tables=[
            Table(
                "objectives",
                "Least torque, least work",
                [row("start", flat), row("torque squared", effort), row("work of the actuators", work)],
            ),
            Table(
                "speeds",
                "Ever faster, least torque",
                [row(f"{speed:g} m/s", gait) for speed, gait in [(gaits.SPEED, flat), *faster]],
            ),
        ],
        figures={
            "gaits": gait_figure(pictures),
            "speeds": figure([(gaits.SPEED, flat), *faster]),
        },
        videos={
            "least_work": Video(work.again, "least work, replayed"),
            "fastest": Video(walking[fastest].again, f"{fastest:g} m/s, replayed"),
        },
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            "Work counts power in either direction (an actuator that brakes gains nothing), its corner rounded over "
            "5 W; a tenth of the paper's cost on torque stays, because torque at rest does no work.",
            "Both objectives start from the flat gait and so have the same way behind them: solved to 1e-3, a gait is "
            "not yet at its optimum, and solving again takes it further down.",
            "A speed counts if its gait is solved to 1e-3 and keeps 90 % of the speed in the simulator without a fall. "
            "Each starts from the gait of the speed before.",
        ],
    )


def least(objective: str, start: gaits.Gait, quick: bool = False) -> gaits.Gait:
    """The gait on flat sand that spends least of what an objective counts, from the start given."""
    return _from(start, objective_named(objective)(gaits.problem_on(gaits.slope(0.0), quick)), quick)


def ever_faster(start: gaits.Gait, quick: bool = False) -> Iterator[tuple[float, gaits.Gait]]:
    """Gaits at growing speeds, each from the one before; the last one may have failed."""
    for speed in QUICK_SPEEDS if quick else SPEEDS:
        start = _from(start, at_speed(gaits.problem_on(gaits.slope(0.0), quick), speed), quick)
        yield speed, start
        if not usable(start, quick):
            return


def at_speed(problem: GaitProblem, speed: float) -> GaitProblem:
    """The problem at another speed (m/s)."""
    costs = tuple(replace(cost, speed=speed) if isinstance(cost, ForwardSpeed) else cost for cost in problem.costs)
    return replace(problem, costs=costs)


def _from(start: gaits.Gait, problem: GaitProblem, quick: bool) -> gaits.Gait:
    name = start.fingerprint
    stages = stages_for(problem, gaits.stages_of(quick))
    return gaits.planned(problem, f"from {name}", lambda _: start.trajectory, stages)


def usable(gait: gaits.Gait, quick: bool = False) -> bool:
    """Solved, and walks in the simulator; a quick solve need not have converged."""
    return (gait.converged or quick) and gait.walks


def row(label: str, gait: gaits.Gait) -> Row:
    """A row of the tables: what was minimised or asked for, and the gait."""
    metrics = gait.metrics
    names = {"speed (m/s)": "speed", "deepest foot (m)": "deepest", "clearance (m)": "clearance"}
    return {"": label} | {name: metrics[key] for name, key in names.items()} | gait.row()


def _numbers(gait: gaits.Gait) -> dict:
    return {"metrics": gait.metrics, "replay": gait.replayed, "status": gait.report["status"]}


def _checks(effort: gaits.Gait, work: gaits.Gait, fastest: float) -> list[Check]:
    ratio = work.metrics["cost_of_transport"] / effort.metrics["cost_of_transport"]
    return [
        Check("the gait of least work is solved to 1e-3", work.converged, work.report["status"], "converged"),
        below("cost of transport, least work over least torque", ratio, bar.BETTER),
        Check("it walks in the simulator", work.walks, work.replayed["speed_kept"], f">= {bar.SPEED_KEPT:g}"),
        Check("greatest speed solved and kept (m/s)", fastest > gaits.SPEED, fastest, f"> {gaits.SPEED:g}"),
    ]


def figure(gaits_by_speed: list[tuple[float, gaits.Gait]]) -> Figure:
    """Cost of transport, depth of the feet and the share of speed that the simulator keeps, over speed."""
    speeds = [speed for speed, _ in gaits_by_speed]
    found = [gait for _, gait in gaits_by_speed]
    curves = {
        "cost of transport": [gait.metrics["cost_of_transport"] for gait in found],
        "deepest foot (m)": [gait.metrics["deepest"] for gait in found],
        "speed kept in the simulator": [gait.replayed["speed_kept"] for gait in found],
    }
    with matplotlib.rc_context(STYLE):
        result = blank(8.4, 2.6)
        for panel, (label, values), colour in zip(result.subplots(1, 3), curves.items(), COLOURS, strict=False):
            panel.plot(speeds, values, "o-", ms=3, color=colour)
            panel.set(xlabel="speed asked for (m/s)", ylabel=label)
            panel.set_ylim(bottom=0)
    return result


STUDY = Study(
    "zhu2021",
    "objectives",
    "work as the cost, and the greatest speed (beyond the paper)",
    "the paper minimises torque squared at 0.4 m/s; the cost of transport is measured but not minimised.",
    perform,
)
