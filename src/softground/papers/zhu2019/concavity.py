"""Table II: how far measured wrench spaces are from convex."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.experiments.convexity import Concavity, concavity_of
from softground.experiments.database import TORQUE_LENGTH
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, below
from softground.papers.zhu2019.databases import Source, beads_source, pebbles_source, sand_source
from softground.runs.figures import COLOURS, STYLE

#: Table II: average and worst.
PAPER = {"beads": (0.0174, 0.1207), "pebbles": (0.0013, 0.0155), "sand": (0.0, 0.0)}


def perform(options: Options) -> Findings:
    sources = {"beads": beads_source(), "pebbles": pebbles_source(), "sand": sand_source(options.sand)}
    present = {medium: source for medium, source in sources.items() if source is not None}
    rated = {medium: concavity_of(source.database) for medium, source in present.items()}
    scaled = {medium: concavity_of(source.database, TORQUE_LENGTH) for medium, source in present.items()}
    return Findings(
        checks=[check for medium, one in rated.items() for check in _checks(medium, one)],
        metrics={
            medium: {
                "average": one.average,
                "worst": one.worst,
                "share_above_10_percent": _share_large(one),
                "average_torque_as_force": scaled[medium].average,
                "worst_torque_as_force": scaled[medium].worst,
                "origin": present[medium].origin,
            }
            for medium, one in rated.items()
        },
        tables=[
            Table("table_ii", "Table II: concavity, ours beside the paper's", _rows(rated, scaled, present)),
            Table("configurations", "Every configuration", _configurations(rated)),
        ],
        figures={"concavity": figure(rated)},
        notes=_notes(sources),
    )


def _checks(medium: str, rated: Concavity) -> list[Check]:
    return [
        below(f"{medium}: convex on average", rated.average, bar.CONVEX_ON_AVERAGE),
        below(f"{medium}: share of wrench spaces with a concavity above 10 %", _share_large(rated), bar.FEW_CONCAVE),
    ]


def _share_large(rated: Concavity) -> float:
    return float((rated.values > bar.CONCAVE_SPACE).mean())


def _rows(rated: dict[str, Concavity], scaled: dict[str, Concavity], sources: dict[str, Source]) -> list[Row]:
    return [
        {
            "medium": medium,
            "average, paper": PAPER[medium][0],
            "average, ours": one.average,
            "worst, paper": PAPER[medium][1],
            "worst, ours": one.worst,
            "average, torque / 0.1 m": scaled[medium].average,
            "worst, torque / 0.1 m": scaled[medium].worst,
            "our data": sources[medium].origin,
        }
        for medium, one in rated.items()
    ]


def _configurations(rated: dict[str, Concavity]) -> list[Row]:
    return [
        {"medium": medium, "depth (m)": float(depth), "tilt (rad)": float(tilt), "concavity": float(value)}
        for medium, one in rated.items()
        for (depth, tilt, _), value in zip(one.poses, one.values, strict=True)
    ]


def _notes(sources: dict[str, Source | None]) -> list[str]:
    notes = [f"{medium}: {source.origin}." for medium, source in sources.items() if source is not None]
    if sources["beads"] is None:
        notes.append("beads: not computed yet (softground acquire --rig dem --grid beads); left out.")
    notes.append(
        "The paper's formula takes the greatest distance over facets as well as over points, and would then give the "
        "width of the hull. We read it as its text does: the distance of the innermost point to the hull's surface."
    )
    notes.append(
        "The published sand measurements do not give the paper's 0: many of their wrenches lie well inside the hull "
        "of the others. How the authors arrived at 0 we cannot tell."
    )
    notes.append("The metric adds newtons and newton metres; the columns torque / 0.1 m do not depend on units.")
    return notes


def figure(rated: dict[str, Concavity]) -> Figure:
    """Every configuration's concavity, with the paper's average and worst."""
    with matplotlib.rc_context(STYLE):
        result = blank(6.2, 3.2)
        axes = result.subplots()
        for place, (medium, one) in enumerate(rated.items()):
            around = place + 0.22 * (np.random.default_rng(0).random(len(one.values)) - 0.5)
            axes.scatter(around, one.values, s=14, color=COLOURS[0], alpha=0.6, lw=0)
            axes.hlines(one.average, place - 0.3, place + 0.3, color=COLOURS[0], lw=1.6)
            axes.hlines(PAPER[medium][0], place - 0.3, place + 0.3, color=COLOURS[1], lw=1.6)
            axes.hlines(PAPER[medium][1], place - 0.3, place + 0.3, color=COLOURS[1], lw=1.2, ls="--")
        axes.axhline(bar.CONCAVE_SPACE, color="#777777", lw=0.8, ls=":")
        axes.text(len(rated) - 0.45, bar.CONCAVE_SPACE, "10 %", color="#777777", va="bottom", ha="right", fontsize=8)
        axes.plot([], [], "o", ms=4, color=COLOURS[0], alpha=0.6, label="ours, a configuration")
        axes.plot([], [], color=COLOURS[0], label="ours, average")
        axes.plot([], [], color=COLOURS[1], label="paper, average")
        axes.plot([], [], color=COLOURS[1], ls="--", label="paper, worst")
        axes.set_xticks(range(len(rated)), list(rated))
        axes.set_xlim(-0.5, len(rated) - 0.4)
        axes.set_ylabel("concavity")
        axes.grid(axis="x", visible=False)
        result.legend(loc="outside upper center", ncols=4, fontsize=8)
    return result


STUDY = Study(
    "zhu2019",
    "concavity",
    "are wrench spaces convex? (Table II)",
    "most wrench spaces are convex; a few are concave by more than 10 %, where wrenches are small.",
    perform,
)
