"""III.B: the gait on flat sand with the contact problem solved inside the dynamics, beside the closed form."""

from __future__ import annotations

from dataclasses import replace

from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, at_least, at_most
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.pictures import gait_figure
from softground.papers.zhu2021.table_one import SLOPES
from softground.planning import Bilevel, Stage, walk_at_speed
from softground.planning.stages import BARRIER, bilevel_stages


def stages_of(quick: bool, near: bool) -> tuple[Stage, ...]:
    """The way to a solution from a start, near one or not; or its first steps."""
    stages = bilevel_stages(near=near)
    return tuple(replace(stage, iterations=gaits.QUICK_ITERATIONS) for stage in stages[:1]) if quick else stages


def gaits_by_form(quick: bool) -> dict[str, gaits.Gait]:
    """The closed form, and the bilevel form from two starts."""
    closed = gaits.flat(quick)
    problem = gaits.problem_on(gaits.slope(0.0), quick)
    name = closed.fingerprint
    return {
        "closed form": closed,
        "bilevel, from a simulated walk": gaits.planned(
            problem, "walk", walk_at_speed, stages_of(quick, near=False), dynamics=Bilevel
        ),
        "bilevel, from the closed form's gait": gaits.planned(
            problem, f"gait {name}", lambda _: closed.trajectory, stages_of(quick, near=True), dynamics=Bilevel
        ),
    }


def perform(options: Options) -> Findings:
    found = gaits_by_form(options.quick)
    closed, walked, _ = found.values()
    return Findings(
        checks=[check for label, gait in list(found.items())[1:] for check in checks(label, gait, closed)],
        metrics={
            label: {"metrics": gait.metrics, "replay": gait.replayed, "status": gait.report["status"]}
            for label, gait in found.items()
        },
        tables=[
            Table("forms", "Flat sand, N = 181", [{"": label} | gait.row() for label, gait in found.items()]),
            Table("callbacks", "Milliseconds a call", [row for item in found.items() for row in call_rows(*item)]),
        ],
        figures={"gaits": gait_figure({label: gait.plan.motion for label, gait in found.items()})},
        videos={"bilevel": Video(walked.plan, "planned in the bilevel form")},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            "Same problem and tolerances, other stages: Gauss-Newton with more damping.",
            f"The barrier is mu = {BARRIER:g} W on 27 weights a foot; the paper has 0.01, in units that it does not "
            "give.",
            "The pose at which a step is met, half-way, is taken from the optimiser's velocity, so that the problem "
            "inside stays convex; at a solution both velocities agree.",
        ],
    )


def checks(label: str, gait: gaits.Gait, closed: gaits.Gait) -> list[Check]:
    """Solved, and as good as the paper asks of flat sand."""
    printed = SLOPES[0.0]
    assert printed is not None
    fewest, kept = gait.metrics["fewest_lifts_in_a_period"], gait.replayed["speed_kept"]
    cost = gait.metrics["paper_cost"] / closed.metrics["paper_cost"]
    claims = [
        at_most("feasibility", gait.report["violation"], bar.TOLERANCE),
        at_most("optimality", gait.report["optimality"], bar.TOLERANCE),
        at_most("velocity error Mv (m/s)", gait.metrics["velocity_error"], bar.STATED_VELOCITY_ERROR),
        at_most("cost Mc (1/s)", gait.metrics["paper_cost"], printed.cost),
        at_most("cost Mc over that of the closed form", cost, bar.BILEVEL_COSTS),
        at_least("every foot leaves the ground in every period: fewest lifts", fewest, bar.LIFTS),
        at_least("speed kept when replayed in the simulator", kept, bar.SPEED_KEPT),
    ]
    return [replace(claim, name=f"{label}: {claim.name}") for claim in claims]


def call_rows(label: str, gait: gaits.Gait) -> list[Row]:
    """Mean time of each callback in every stage, and of what is left of an iteration."""
    rows = []
    for stage in gait.report["stages"]:
        calls = stage["callback_calls"] | {"linear systems and the rest": stage["iterations"]}
        times = {name: 1e3 * spent / max(calls[name], 1) for name, spent in stage["callback_seconds"].items()}
        rows.append({"": label, "stage": stage["hessian"], "iterations": stage["iterations"]} | times)
    return rows


STUDY = Study(
    "zhu2021",
    "bilevel",
    "the bilevel form beside the closed one (III.B, eq 6)",
    "the dynamics contain a problem of their own for the ground's wrench, made smooth by a barrier and differentiated "
    "at its solution.",
    perform,
)
