"""III.B: gaits with the contact problem solved inside the dynamics, beside the closed form, on Table I's slopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, below
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.pictures import gait_figure
from softground.papers.zhu2021.slopes import listed
from softground.papers.zhu2021.table_one import SLOPES
from softground.planning import Bilevel, ClosedForm
from softground.planning.dynamics.base import Dynamics
from softground.planning.stages import BARRIER, SHARPER
from softground.planning.steady import steady_gait
from softground.runs.figures import COLOURS, STYLE

QUICK = (0.0,)


@dataclass(frozen=True)
class Pair:
    """The gaits of a slope in both forms."""

    closed: gaits.Gait
    bilevel: gaits.Gait


def pair(degrees: float, quick: bool = False) -> Pair:
    """Both forms on a slope, whole strides: the bilevel form's starts from the closed form's stride."""
    problem = gaits.problem_on(gaits.slope(degrees), quick)

    def found(form: type[Dynamics]) -> gaits.Gait:
        return gaits.found(
            problem, "whole strides", lambda one: steady_gait(one, gaits.EPS, dynamics=form), dynamics=form
        )

    return Pair(found(ClosedForm), found(Bilevel))


def perform(options: Options) -> Findings:
    found = {slope: pair(slope, options.quick) for slope in (QUICK if options.quick else sorted(SLOPES))}
    flat = found[0.0]
    forms = {"closed form": flat.closed, "bilevel": flat.bilevel}
    return Findings(
        checks=checks(found),
        metrics={
            f"{slope:g}": {
                form: {"metrics": gait.metrics, "replay": gait.replayed, "status": gait.report["status"]}
                for form, gait in vars(both).items()
            }
            for slope, both in found.items()
        },
        tables=[
            Table(
                "forms", "Table I in the bilevel form, beside the closed form", [row(*item) for item in found.items()]
            ),
            Table("callbacks", "Milliseconds a call, half a stride of level ground", _all_calls(forms)),
        ],
        figures={
            "gaits": gait_figure({label: gait.plan.motion for label, gait in forms.items()}),
            "slopes": figure(found),
        },
        videos={"bilevel": Video(flat.bilevel.plan, "planned in the bilevel form")},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            f"The barrier is mu = {BARRIER * SHARPER:g} W on 27 weights a foot, the number that the paper prints (it "
            f"gives no units), by way of {BARRIER:g} W, which smooths about as much as the closed form at 1 W.",
            "The start is the closed form's stride, whose feet lift already. The Hessian is the costs' and the "
            "positive part of each step's own curvature, by the implicit function theorem, then the exact one.",
            "The pose at which a step is met, half-way, is taken from the optimiser's velocity, so that the problem "
            "inside stays convex; at a solution both velocities agree.",
        ],
    )


def row(slope: float, both: Pair) -> Row:
    """A row of the table: the bilevel form, with what the closed form has for it."""
    printed, closed, found = SLOPES[slope], both.closed, both.bilevel
    paper = {"Mc, paper": "failed" if printed is None else printed.cost}
    beside = {"Mc, closed form": closed.metrics["paper_cost"], "objective, closed form": closed.report["objective"]}
    return {"slope (deg)": slope} | paper | beside | {"objective": found.report["objective"]} | found.row()


def checks(found: Mapping[float, Pair]) -> list[Check]:
    """All at their optimum, about as good as the closed form and as the paper, and walking."""
    loose = [slope for slope, both in found.items() if not both.bilevel.converged]
    short = [slope for slope, both in found.items() if both.bilevel.report["optimality"] > bar.OPTIMUM]
    still = [slope for slope, both in found.items() if not both.bilevel.walks]
    dearest = max(both.bilevel.metrics["paper_cost"] / both.closed.metrics["paper_cost"] for both in found.values())
    printed = {slope: one for slope in found if (one := SLOPES[slope]) is not None}
    matched = sum(
        found[slope].bilevel.metrics["velocity_error"] <= one.velocity_error
        and found[slope].bilevel.metrics["paper_cost"] <= one.cost
        for slope, one in printed.items()
    )
    share = min(bar.ROWS_TO_MATCH, len(printed))
    return [
        Check("slopes not solved to 1e-3 in both measures (deg)", not loose, listed(loose), "none"),
        Check(f"slopes with an optimality above {bar.OPTIMUM:g} (deg)", not short, listed(short), "none"),
        below("cost Mc over that of the closed form, greatest", dearest, bar.BILEVEL_COSTS),
        Check(f"rows at or below the paper's, of {len(printed)}", matched >= share, float(matched), f">= {share}"),
        Check("slopes whose gait does not walk in the simulator (deg)", not still, listed(still), "none"),
    ]


def _all_calls(forms: Mapping[str, gaits.Gait]) -> list[Row]:
    return [one for item in forms.items() for one in call_rows(*item)]


def call_rows(label: str, gait: gaits.Gait) -> list[Row]:
    """Mean time of each callback in every stage, and of what is left of an iteration."""
    rows = []
    for stage in gait.report["stages"]:
        calls = stage["callback_calls"] | {"linear systems and the rest": stage["iterations"]}
        times = {name: 1e3 * spent / max(calls[name], 1) for name, spent in stage["callback_seconds"].items()}
        rows.append({"": label, "stage": stage["hessian"], "iterations": stage["iterations"]} | times)
    return rows


def figure(found: Mapping[float, Pair]) -> Figure:
    """Objective and Mc over the slope, in both forms; Mc of the paper."""
    slopes = list(found)
    printed = {slope: one.cost for slope, one in SLOPES.items() if one is not None}
    with matplotlib.rc_context(STYLE):
        result = blank(7.4, 2.7)
        left, right = result.subplots(1, 2)
        right.semilogy(list(printed), list(printed.values()), "o--", ms=3, color=COLOURS[1], label="paper")
        for form, colour in (("closed", COLOURS[0]), ("bilevel", COLOURS[2])):
            of_form = [getattr(both, form) for both in found.values()]
            label = {"closed": "closed form", "bilevel": "bilevel"}[form]
            left.semilogy(slopes, [one.report["objective"] for one in of_form], "o-", ms=3, color=colour, label=label)
            right.semilogy(
                slopes, [one.metrics["paper_cost"] for one in of_form], "o-", ms=3, color=colour, label=label
            )
        left.set(xlabel="slope (degrees, uphill positive)", ylabel="objective")
        right.set(xlabel="slope (degrees, uphill positive)", ylabel="Mc (1/s)")
        right.legend(fontsize=8)
    return result


STUDY = Study(
    "zhu2021",
    "bilevel",
    "the bilevel form beside the closed one (III.B, eq 6)",
    "the dynamics contain a problem of their own for the ground's wrench, made smooth by a barrier and differentiated "
    "at its solution.",
    perform,
)
