"""II.C in grains: the first centimetre, and a foot that slips, rolls or spins, beside what the laws say.

A half-cylinder is driven through grains simulated one by one (`rolled_grains`), and each law is asked for the force at
the same depth and twist (`rolled_laws`). The scale zeta of each law is fitted to straight pushes into the beds that are
for identification; all else is judged in the others. How far beds differ among each other is given beside it.

As the paper has it the wedge goes with the lowest point of the foot, v_s: it stands still below one that rolls. What
grip the grains really have is identified, in the same beds, from all rolls that are not straight.

*A foot that slips digs*: at one depth, what carries it is a share of what a straight push meets there,

    kept = F_z (level) / F_z (straight down, same depth),

so under a constant load it has to go deeper. A foot that rolls keeps another share than one that slips.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.errors import ExperimentError
from softground.papers.chen2026.rolled_grains import COARSE, FINE, FIT, JUDGE, ROLLS, SHIPPED, Record, read_rolls
from softground.papers.chen2026.rolled_laws import (
    LEVEL,
    STRAIGHT,
    Along,
    best_grip,
    convex_wedge,
    first_centimetre,
    kept,
    laws,
    mean_force,
    mean_over_beds,
    miss,
    straight_twists,
    zeta_of,
)
from softground.papers.study import Check, Findings, Options, Row, Study, Table, below, between
from softground.runs.figures import COLOURS, STYLE

NEAR_KEPT, NEAR_FIRST, NEAR_ZETA = 0.25, 0.2, 0.15
"""How near a law's share kept, its first centimetre, and zeta in finer grains have to come: set before the runs."""
Rolls = dict[str, list[Record]]
"""Records by roll."""


def perform(options: Options) -> Findings:
    if options.rerun_dem:
        raise ExperimentError("rolls through grains take an hour of one core: record them by scripts/record_rolls.py")
    records = read_rolls(SHIPPED)
    fit, judged, fine = of_beds(records, COARSE, FIT), of_beds(records, COARSE, JUDGE), of_beds(records, FINE, FIT)
    grip = best_grip(zeta_of(convex_wedge(1.0), fit[STRAIGHT]), fit)
    known = laws(grip)
    zeta = {name: zeta_of(law, fit[STRAIGHT]) for name, law in known.items()}
    missed = {name: {roll: miss(law, zeta[name], of) for roll, of in judged.items()} for name, law in known.items()}
    overall = {name: _mean_miss(of) for name, of in missed.items()}
    shares = {
        roll: {"grains": kept(judged, roll)} | {name: kept(judged, roll, law) for name, law in known.items()}
        for roll in LEVEL
    }
    first = _first_centimetres(judged[STRAIGHT], known)
    checks = [
        below("grains: share of a straight push that carries a foot which slips", shares[LEVEL[0]]["grains"], 1.0),
        *(one for roll, of in shares.items() for one in _near(f"share kept, {roll}", of, NEAR_KEPT)),
        *_near("first centimetre, F_z at 10 mm over that at 27.5 mm", first, NEAR_FIRST),
        below("miss of the wedge with its grip, over that without", overall["wedge, grip"] / overall["wedge"], 1.0),
    ]
    if STRAIGHT in fine:
        finer = zeta_of(known["wedge"], fine[STRAIGHT]) / zeta["wedge"]
        checks.append(between("zeta in finer grains over that in coarse ones", finer, 1 - NEAR_ZETA, 1 + NEAR_ZETA))
    return Findings(
        checks=checks,
        metrics={"zeta": zeta, "grip": grip, "first_centimetre": first, "kept": shares, "miss": overall}
        | {"first_centimetre_of_finer_grains": _of_grains(fine[STRAIGHT]) if STRAIGHT in fine else None},
        tables=[
            Table("forces", "Mean forces on a foot in the beds for judging (N)", _rows(judged, known, zeta)),
            Table(
                "kept", "Share of a straight push that carries a foot", [{"roll": r} | of for r, of in shares.items()]
            ),
            Table("miss", "Rms error of (F_x, F_z) over the rms of the force", _miss_rows(missed)),
        ],
        figures={"slip_sinkage": figure(records, judged, known, zeta)},
        notes=[
            "Half-cylinder of radius 4 cm, 8 cm wide, at 0.1 m/s in beads of 8 mm radius (friction 0.577, no rolling "
            "resistance), and of 4 mm in one bed as a check; four beds, two for identification and two for judging. "
            "Level rolls are at a depth of 2 cm and count from 2 cm of way on; others from a depth of 5 mm on.",
            "Beads are weaker than sand and their friction angle is below the paper's 38 degrees: zeta is fitted, the "
            "angle is not.",
        ],
    )


def of_beds(records: Sequence[Record], grain: float, beds: Sequence[int]) -> Rolls:
    """Records of these grains (m, radius) and beds, by roll."""
    chosen = [one for one in records if np.isclose(one.grain, grain) and one.bed in beds]
    return {name: of for name in ROLLS if (of := [one for one in chosen if one.roll == name])}


def _first_centimetres(pushes: list[Record], known: dict[str, Along]) -> dict[str, float]:
    """Of the grains and of the laws without a grip, of which a straight push knows nothing."""
    met = mean_over_beds(pushes)
    twists = straight_twists(len(met.depth))
    of_laws = {name: first_centimetre(met.depth, law(met.depth, twists)[:, 1]) for name, law in known.items()}
    return {"grains": _of_grains(pushes)} | {name: one for name, one in of_laws.items() if "grip" not in name}


def _of_grains(pushes: list[Record]) -> float:
    met = mean_over_beds(pushes)
    return first_centimetre(met.depth, met.wrench[:, 1])


def _near(told: str, values: dict[str, float], share: float) -> list[Check]:
    """Every law's value beside that of the grains."""
    low, high = ((1 + sign * share) * values["grains"] for sign in (-1, 1))
    return [between(f"{told}: {name}", value, low, high) for name, value in values.items() if name != "grains"]


def _mean_miss(missed: dict[str, tuple[float, float]]) -> float:
    """Over all rolls, both forces."""
    return float(np.mean([np.hypot(*one) for one in missed.values()]))


def _rows(judged: Rolls, known: dict[str, Along], zeta: dict[str, float]) -> list[Row]:
    rows = []
    for roll, records in judged.items():
        each = np.array([mean_force([one]) for one in records])
        row: Row = {"roll": roll}
        for i, name in enumerate(("F_x", "F_z")):
            row |= {f"{name}, grains": float(each[:, i].mean()), f"{name}, between beds": float(np.ptp(each[:, i]))}
            row |= {f"{name}, {law}": float(mean_force(records, of, zeta[law])[i]) for law, of in known.items()}
        rows.append(row)
    return rows


def _kept_rows(shares: dict[str, dict[str, float]]) -> list[Row]:
    return [{"roll": roll} | of for roll, of in shares.items()]


def _miss_rows(missed: dict[str, dict[str, tuple[float, float]]]) -> list[Row]:
    return [
        {"law": name}
        | {f"{roll}, {force}": one[i] for roll, one in of.items() for i, force in enumerate(("F_x", "F_z"))}
        | {"all": _mean_miss(of)}
        for name, of in missed.items()
    ]


def figure(records: Sequence[Record], judged: Rolls, known: dict[str, Along], zeta: dict[str, float]) -> Figure:
    """Straight down over depth; then F_x and F_z of every roll, grains and laws."""
    with matplotlib.rc_context(STYLE):
        result = blank(9.6, 3.4)
        first, *others = result.subplots(1, 3, width_ratios=(1, 1.1, 1.1))
        _draw_pushes(first, records, known, zeta)
        place = np.arange(len(judged))
        for i, (axes, name) in enumerate(zip(others, ("$F_x$", "$F_z$"), strict=True)):
            grains = [mean_force(of)[i] for of in judged.values()]
            axes.plot(grains, place, "ks", ms=6, mfc="none", label="grains")
            for (law, along), colour in zip(known.items(), COLOURS, strict=False):
                forces = [mean_force(of, along, zeta[law])[i] for of in judged.values()]
                axes.plot(forces, place, ".", color=colour, label=law)
            axes.set(xlabel=f"{name} (N)", yticks=place, ylim=(len(judged) - 0.5, -0.5))
            axes.set_yticklabels(list(judged) if not i else [], fontsize=6.5)
        others[1].legend(fontsize=6)
    return result


def _draw_pushes(axes: Axes, records: Sequence[Record], known: dict[str, Along], zeta: dict[str, float]) -> None:
    for grain, style in ((COARSE, "-"), (FINE, ":")):
        label: str | None = f"grains of {1e3 * grain:g} mm"
        for one in records:
            if one.roll == STRAIGHT and np.isclose(one.grain, grain):
                axes.plot(1e3 * one.met.depth, one.met.wrench[:, 1], "k" + style, lw=0.8, alpha=0.6, label=label)
                label = None
    depth = np.linspace(1e-3, 0.03, 30)
    for (name, law), colour in zip(known.items(), COLOURS, strict=False):
        if name in ("wedge", "plane RFT", "3D-RFT"):
            axes.plot(1e3 * depth, zeta[name] * law(depth, straight_twists(30))[:, 1], color=colour, label=name)
    axes.set(xlabel="depth (mm)", ylabel="$F_z$, straight down (N)", xlim=(0, 30), ylim=(0, None))
    axes.legend(fontsize=6.5)


STUDY = Study(
    "chen2026",
    "slip-sinkage",
    "the first centimetre, and a foot that slips or rolls, in grains (II.C)",
    "the closed forms (8) hold for a foot that sinks and slips, by the velocity of its contact point.",
    perform,
)
