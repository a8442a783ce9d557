"""IV.D: the gait on flat sand (Figs 1 and 3)."""

from __future__ import annotations

from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Study, Table, at_least, at_most, below
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.pictures import convergence_figure, gait_figure
from softground.papers.zhu2021.table_one import SLOPES


def perform(options: Options) -> Findings:
    gait = gaits.flat(options.quick)
    return Findings(
        checks=[*_solver_checks(gait), *_gait_checks(gait)],
        metrics={"metrics": gait.metrics, "replay": gait.replayed, "report": _without_history(gait.report)},
        tables=[
            Table("flat", "Flat sand, N = 181", [_printed_row(), {"": "here"} | gait.row()]),
            Table("time", "Where the time went (s)", time_rows(gait)),
        ],
        figures={
            "gait": gait_figure({"planned": gait.plan.motion, "replayed": gait.again}),
            "convergence": convergence_figure(gait.report),
        },
        videos=gait.videos,
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            "The start is a stride of the library, whose feet lift already, repeated; the paper says that its results "
            "are sensitive to their start, a trot in place, and so are ours: see `zhu2021/discovered`.",
            "No splines on the feet: the gait is smooth without them.",
        ],
    )


def _solver_checks(gait: gaits.Gait) -> list[Check]:
    return [
        at_most("feasibility", gait.report["violation"], bar.TOLERANCE),
        at_most("optimality", gait.report["optimality"], bar.TOLERANCE),
        below("time to solve, without compilation (s)", gait.report["seconds"], bar.SOLVE_SECONDS),
    ]


def _gait_checks(gait: gaits.Gait) -> list[Check]:
    printed = SLOPES[0.0]
    assert printed is not None
    fewest = gait.metrics["fewest_lifts_in_a_period"]
    kept = gait.replayed["speed_kept"]
    return [
        at_most("velocity error Mv (m/s)", gait.metrics["velocity_error"], bar.STATED_VELOCITY_ERROR),
        at_most("cost Mc (1/s)", gait.metrics["paper_cost"], printed.cost),
        at_least("every foot leaves the ground in every period: fewest lifts", fewest, bar.LIFTS),
        at_least("speed kept when replayed in the simulator", kept, bar.SPEED_KEPT),
        Check("it does not fall when replayed", not gait.replayed["fell"], str(gait.replayed["fell"]), "False"),
    ]


def _printed_row() -> dict:
    printed = SLOPES[0.0]
    assert printed is not None
    return {
        "": "paper",
        "Mv (m/s)": printed.velocity_error,
        "Mc (1/s)": printed.cost,
        "cost of transport": printed.cost * 0.05,
        "feasibility": bar.TOLERANCE,
        "optimality": bar.TOLERANCE,
        "solve (s)": 3600 * printed.hours,
    }


def time_rows(gait: gaits.Gait) -> list[dict]:
    """Seconds in each callback, a row for each stage."""
    return [
        {"stage": stage["hessian"], "iterations": stage["iterations"], "all": stage["seconds"]}
        | stage["callback_seconds"]
        for stage in gait.report["stages"]
    ]


def _without_history(report: dict) -> dict:
    stages = [{name: value for name, value in stage.items() if name != "history"} for stage in report["stages"]]
    return report | {"stages": stages}


STUDY = Study(
    "zhu2021",
    "flat",
    "a gait on flat sand (IV.D, Figs 1 and 3)",
    "Mv 0.0023 (in the table 0.0010) and Mc 14.6 after half an hour on 20 cores; without a contact schedule the robot "
    "walks, and does not drag its feet.",
    perform,
)
