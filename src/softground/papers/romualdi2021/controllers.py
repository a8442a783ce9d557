"""Table I: which controller walks on which ground."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from softground.bridges.side_pictures import blank
from softground.control.walking.walk import LOST, com_error, verdict
from softground.papers.romualdi2021.walks import (
    GROUND_NOTE,
    QUICK_SECONDS,
    SECONDS,
    WALK_NOTE,
    Place,
    outcome,
    steps_taken,
    walk_icub,
)
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

PLACES = tuple(Place(k, b) for b in (1e4, 1e3) for k in (8e5, 1e6, 2e6))
RIGID_WALKS_ON = (Place(2e6, 1e4),)
"""The paper's only success of TSID-Rigid; TSID-Compliant walks on all of them."""
RECORDED = Place(1e6, 1e4)
HUES = {"compliant": COLOURS[0], "rigid": COLOURS[1]}


def perform(options: Options) -> Findings:
    seconds = QUICK_SECONDS if options.quick else SECONDS
    places = (Place(1e6, 1e3),) if options.quick else PLACES
    rows: list[Row] = []
    errors: dict[tuple[str, Place], tuple[np.ndarray, np.ndarray]] = {}
    videos = {}
    for name in HUES:
        for place in places:
            run = walk_icub(name, place.medium, place.belief, seconds, title=f"{name}, {place}")
            rows.append(_row(name, place, run))
            errors[name, place] = run["time"].values, 1e3 * np.linalg.norm(com_error(run), axis=1)
            if place == RECORDED:
                videos[name] = Video(run, f"iCub, TSID-{name.capitalize()}, {place}")
    compliant = [row for row in rows if row["controller"] == "compliant"]
    fell = [row["ground"] for row in compliant if not row["success"]]
    return Findings(
        checks=[
            Check(
                f"{row['controller']}, {row['ground']}: {row['paper']}, as in the paper",
                row["ours"] == row["paper"],
                f"{row['ours']} ({row['ended']})",
                row["paper"],
            )
            for row in rows
        ]
        + [
            Check("TSID-Compliant walks on all of them", not fell, f"{len(compliant) - len(fell)}", f"{len(compliant)}")
        ],
        metrics={f"{row['controller']}, {row['ground']}": {k: row[k] for k in METRICS} for row in rows},
        tables=[Table("table_i", "Table I", rows)],
        figures={"table_i": figure(rows, errors)},
        videos=videos,
        notes=[
            WALK_NOTE,
            GROUND_NOTE,
            f"Success: to the end ({seconds:g} s), upright, the centre of mass never more than {100 * LOST:g} cm from "
            "its reference, and a solution of the QP at every tick.",
            "The controllers know k and b. Times of the controller and the real-time factor are those of the machine "
            "that ran this, with whatever else ran on it.",
        ],
    )


METRICS = ("success", "seconds", "com_error_max_mm", "com_error_rms_mm", "controller_ms_mean", "controller_ms_p99")


def _row(name: str, place: Place, run: Run) -> Row:
    found = verdict(run).as_dict()
    walks = name == "compliant" or place in RIGID_WALKS_ON
    return {
        "controller": name,
        "ground": str(place),
        "paper": "success" if walks else "failure",
        "ours": outcome(found),
        "steps": steps_taken(run),
    } | found


def figure(rows: list[Row], errors: dict[tuple[str, Place], tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Outcomes as a grid, and the error of the centre of mass over time."""
    places = list(dict.fromkeys(place for _, place in errors))
    with matplotlib.rc_context(STYLE):
        result = blank(8.8, 5.4)
        grid, *panels = (part for line in result.subplot_mosaic([["g", "g"], ["c", "r"]]).values() for part in [line])
        _draw_grid(grid, rows, places)
        for panel, name in zip(panels, HUES, strict=True):
            for number, place in enumerate(places):
                time, error = errors[name, place]
                panel.plot(time, error, color=COLOURS[number % len(COLOURS)], label=str(place))
            panel.axhline(1e3 * LOST, color="#777777", ls=":", lw=1.0)
            panel.set(yscale="log", ylim=(0.05, 1e3), xlabel="time (s)", ylabel="error of the CoM (mm)")
            panel.set_title(f"TSID-{name.capitalize()}", loc="left", fontweight="bold")
        panels[0].legend(fontsize=7, ncols=2, loc="upper left")
    return result


def _draw_grid(axes: Axes, rows: list[Row], places: list[Place]) -> None:
    """A cell for every walk: what happened, and whether the paper says the same."""
    for row in rows:
        x = [str(place) for place in places].index(row["ground"])
        y = list(HUES).index(row["controller"])
        colour = COLOURS[2] if row["success"] else COLOURS[1]
        axes.add_patch(Rectangle((x - 0.48, y - 0.45), 0.96, 0.9, color=colour, alpha=0.3, lw=0))
        ours = f"{row['com_error_max_mm']:.0f} mm" if row["success"] else f"fails at {row['seconds']:.1f} s"
        same = "as in the paper" if row["ours"] == row["paper"] else f"paper: {row['paper']}"
        axes.text(x, y, f"{ours}\n{same}", ha="center", va="center", fontsize=8)
    axes.set(xlim=(-0.5, len(places) - 0.5), ylim=(len(HUES) - 0.5, -0.5))
    axes.set_xticks(range(len(places)), [str(place).replace(", ", "\n") for place in places], fontsize=8)
    axes.set_yticks(range(len(HUES)), list(HUES))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_title("outcome of a walk; largest error of the CoM where it succeeds", loc="left", fontweight="bold")


STUDY = Study(
    "romualdi2021",
    "controllers",
    "which controller walks on which ground (Table I)",
    "TSID-Compliant walks on all six grounds, TSID-Rigid only on the stiffest and most damped.",
    perform,
)
