"""Table I, wavy terrain: a gait over waves, started from the flat gait tracked on them (Fig. 2d)."""

from __future__ import annotations

from softground.papers.study import Check, Film, Findings, Options, Study, Table
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.flat import at_most
from softground.papers.zhu2021.pictures import convergence_figure, gait_figure
from softground.papers.zhu2021.table_one import WAVY
from softground.surfaces import Wave

AMPLITUDE, WAVELENGTH = 0.05, 2.0  # m


def perform(options: Options) -> Findings:
    gait = gaits.continued(Wave(AMPLITUDE, WAVELENGTH), gaits.flat(options.quick), options.quick)
    kept = gait.replayed["speed_kept"]
    return Findings(
        checks=[
            at_most("feasibility", gait.report["violation"], gaits.TOLERANCE),
            at_most("optimality", gait.report["optimality"], gaits.TOLERANCE),
            at_most("velocity error Mv (m/s)", gait.metrics["velocity_error"], WAVY.velocity_error),
            at_most("cost Mc (1/s)", gait.metrics["paper_cost"], WAVY.cost),
            Check("speed kept when replayed, without a fall", gait.walks, kept, f">= {gaits.KEPT:g}"),
        ],
        metrics={"metrics": gait.metrics, "replay": gait.replayed, "status": gait.report["status"]},
        tables=[
            Table(
                "wavy",
                "Wavy terrain",
                [
                    {
                        "": "paper",
                        "Mv (m/s)": WAVY.velocity_error,
                        "Mc (1/s)": WAVY.cost,
                        "solve (s)": 3600 * WAVY.hours,
                    },
                    {"": "here"} | gait.row(),
                ],
            )
        ],
        figures={"gait": gait_figure({"planned": gait.plan}), "convergence": convergence_figure(gait.report)},
        films={"planned": Film(gait.plan, "planned over waves"), "replayed": Film(gait.again, "replayed over waves")},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            f"Amplitude {AMPLITUDE:g} m and wavelength {WAVELENGTH:g} m are ours (greatest slope 9 degrees); the paper "
            "gives neither.",
        ],
    )


STUDY = Study(
    "zhu2021",
    "wavy",
    "a gait over waves (Table I, Fig. 2d)",
    "Mv 0.010 and Mc 26.7 after half an hour, started from the flat gait tracked on the waves.",
    perform,
)
