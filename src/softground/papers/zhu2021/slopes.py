"""Table I: gaits on slopes from -20 to 20 degrees, each of strides that were planned by themselves."""

from __future__ import annotations

import jax
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.experiments.campaign.working import running_ray
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.pictures import gait_figure
from softground.papers.zhu2021.table_one import SLOPES
from softground.runs.figures import COLOURS, STYLE

QUICK = (-2.5, 2.5)
SHOWN = (-20.0, 20.0)


def perform(options: Options) -> Findings:
    asked = QUICK if options.quick else tuple(SLOPES)
    found = sweep(asked, options.quick, options.workers)
    shown = {slope: gait_figure({f"{slope:g} degrees": found[slope].plan.motion}) for slope in SHOWN if slope in found}
    return Findings(
        checks=checks(found),
        metrics={
            f"{slope:g}": {"metrics": gait.metrics, "replay": gait.replayed, "status": gait.report["status"]}
            for slope, gait in found.items()
        },
        tables=[Table("table_i", "Table I, beside ours", [row(slope, gait) for slope, gait in found.items()])],
        figures={"slopes": figure(found)} | {f"gait_{slope:g}_degrees": picture for slope, picture in shown.items()},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            "Each is a stride of its slope (from the library's), repeated: the last state is the first one again. "
            "All solves have the same settings; the paper tuned its own by grid search.",
            "Replays are with feedback along the plan, and open loop: its torques and joint PD control alone.",
            f"Seconds for all slopes together: {total_seconds(found):.0f}, of which "
            f"{sum(gait.report['compile_seconds'] for gait in found.values()):.0f} to compile.",
        ],
    )


def sweep(asked: tuple[float, ...], quick: bool = False, workers: int = 1) -> dict[float, gaits.Gait]:
    """Gaits by slope (degrees), in the order of the slopes."""
    slopes = sorted({0.0, *asked})
    if workers > 1:
        with running_ray(workers) as ray:
            one = ray.remote(num_cpus=1)(_fill_cache)
            ray.get([one.remote(slope, quick) for slope in slopes])
    return {slope: gaits.on_slope(slope, quick) for slope in slopes}


def _fill_cache(slope: float, quick: bool) -> None:
    """A gait in a process of its own: it comes back by the cache."""
    jax.config.update("jax_enable_x64", True)
    gaits.on_slope(slope, quick)


def row(slope: float, gait: gaits.Gait) -> Row:
    """A row of the table."""
    printed = SLOPES[slope]
    paper = ("failed", "", "") if printed is None else (printed.velocity_error, printed.cost, printed.hours)
    names = ("Mv (m/s), paper", "Mc (1/s), paper", "hours, paper")
    return {"slope (deg)": slope} | dict(zip(names, paper, strict=True)) | gait.row()


def checks(found: dict[float, gaits.Gait]) -> list[Check]:
    """All solved; at or below the paper's numbers; all walk in the simulator."""
    unsolved = [slope for slope, gait in found.items() if not gait.converged]
    still = [slope for slope, gait in found.items() if gait.converged and not gait.walks]
    printed = {slope: SLOPES[slope] for slope in found}
    comparable = {slope: row for slope, row in printed.items() if row is not None}
    matched = sum(
        found[slope].converged
        and found[slope].metrics["velocity_error"] <= row.velocity_error
        and found[slope].metrics["paper_cost"] <= row.cost
        for slope, row in comparable.items()
    )
    share = min(int(bar.ROWS_TO_MATCH), len(comparable))
    return [
        Check("slopes not solved to 1e-3 (deg)", not unsolved, listed(unsolved), "none"),
        Check(
            f"rows with Mv and Mc at or below the paper's, of {len(comparable)}",
            matched >= share,
            matched,
            f">= {share}",
        ),
        Check(
            "solved slopes on which the replay loses 10 % of the speed or falls (deg)",
            not still,
            listed(still),
            "none",
        ),
    ]


def listed(slopes: list[float]) -> str:
    return ", ".join(f"{slope:g}" for slope in slopes) or "none"


def total_seconds(found: dict[float, gaits.Gait]) -> float:
    """To solve and compile, all terrains."""
    return sum(gait.report["seconds"] + gait.report["compile_seconds"] for gait in found.values())


def figure(found: dict[float, gaits.Gait]) -> Figure:
    """Mv and Mc over the slope, beside the paper's."""
    slopes = np.array(list(found))
    printed = {slope: row for slope, row in SLOPES.items() if row is not None}
    with matplotlib.rc_context(STYLE):
        result = blank(7.4, 2.7)
        panels = result.subplots(1, 2)
        for axes, ours, theirs, label in (
            (panels[0], "velocity_error", "velocity_error", "Mv (m/s)"),
            (panels[1], "paper_cost", "cost", "Mc (1/s)"),
        ):
            axes.semilogy(
                list(printed),
                [getattr(row, theirs) for row in printed.values()],
                "o--",
                ms=3,
                color=COLOURS[1],
                label="paper",
            )
            axes.semilogy(
                slopes, [gait.metrics[ours] for gait in found.values()], "o-", ms=3, color=COLOURS[0], label="here"
            )
            axes.set(xlabel="slope (degrees, uphill positive)", ylabel=label)
        panels[0].legend(fontsize=8)
    return result


STUDY = Study(
    "zhu2021",
    "slopes",
    "gaits on slopes (Table I)",
    "planned from -15 to 20 degrees, poorly at 20; -17.5 and -20 degrees failed. Steeper costs more.",
    perform,
)
