"""Table I, last column: the flat gait tracked on 10 degrees slips, the gait planned for it does not."""

from __future__ import annotations

from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, above
from softground.papers.zhu2021 import gaits, slopes
from softground.papers.zhu2021.pictures import gait_figure
from softground.papers.zhu2021.table_one import SLOPES, TRACKED_ON_TEN_DEGREES
from softground.planning import GaitProblem, gait_metrics
from softground.planning.guesses import down_sampled, standing_alike
from softground.planning.replay import TIME_STEP, simulate, slip_per_metre
from softground.runs import Run

SLOPE, QUICK_SLOPE = 10.0, 2.5


def perform(options: Options) -> Findings:
    degrees = QUICK_SLOPE if options.quick else SLOPE
    found = slopes.sweep(tuple(slope for slope in SLOPES if 0 < slope <= degrees), options.quick)
    problem = gaits.problem_on(gaits.slope(degrees), options.quick)
    runs = {"flat gait, tracked": tracked_there(problem, found[0.0]), "planned for it": found[degrees].again}
    rows = {label: measured(problem, run) for label, run in runs.items()}
    return Findings(
        checks=_checks(*rows.values()),
        metrics=rows,
        tables=[Table("not_optimised", f"{degrees:g} degrees, in the simulator", [*_printed(), *_labelled(rows)])],
        figures={"gaits": gait_figure(runs)},
        videos={name.split(",")[0].replace(" ", "_"): Video(run, name) for name, run in runs.items()},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            "Both are runs of the simulator (2 ms, eps 1e-3 W) with the planned torques and the same joint PD control; "
            "Mv and Mc are taken at every 25th step, the 50 ms of a plan, with the mean torque between.",
            "Slip is the way that a foot moves along x while it is deep in the ground, per metre walked.",
        ],
    )


def tracked_there(problem: GaitProblem, gait: gaits.Gait) -> Run:
    """A gait of another terrain, run on this one with its torques and joint PD control, from as deep in the ground."""
    trajectory = gait.trajectory
    q = trajectory.q.copy()
    q[0] = standing_alike(problem, q[0].copy())
    return simulate(problem.robot, problem.ground, trajectory._replace(q=q))


def measured(problem: GaitProblem, run: Run) -> Row:
    """The paper's metrics of a run, at the knots of the problem, and its slip."""
    every = round(problem.dt / TIME_STEP)
    metrics = gait_metrics(problem, down_sampled(run, 0, every, (run.sizes["time"] - 1) // every + 1))
    return {
        "Mv (m/s)": metrics.velocity_error,
        "Mc (1/s)": metrics.paper_cost,
        "cost of transport": metrics.cost_of_transport,
        "speed (m/s)": metrics.speed,
        "slip (m/m)": slip_per_metre(problem.robot, problem.ground, run["configuration"].values),
    }


def _checks(before: Row, after: Row) -> list[Check]:
    return [
        above(f"{name}: flat gait over planned gait", before[name] / after[name], limit)
        for name, limit in (
            ("slip (m/m)", bar.SLIPS_MORE),
            ("Mv (m/s)", bar.WORSE_SPEED),
            ("Mc (1/s)", bar.COSTS_MORE),
        )
    ]


def _printed() -> list[Row]:
    planned = SLOPES[SLOPE]
    assert planned is not None
    return [
        {
            "": f"{label} (paper)",
            "Mv (m/s)": row.velocity_error,
            "Mc (1/s)": row.cost,
            "cost of transport": row.cost * 0.05,
        }
        for label, row in (("flat gait, tracked", TRACKED_ON_TEN_DEGREES), ("planned for it", planned))
    ]


def _labelled(rows: dict[str, Row]) -> list[Row]:
    return [{"": label} | row for label, row in rows.items()]


STUDY = Study(
    "zhu2021",
    "not-optimised",
    "the flat gait tracked on 10 degrees (Table I, Fig. 2b)",
    "the feet slip: Mv 0.22 and Mc 35.2, where the gait planned for the slope has 0.013 and 17.6.",
    perform,
)
