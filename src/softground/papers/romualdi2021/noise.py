"""Fig. 6: how much noise on the wrenches TSID-Compliant bears."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.walking.walk import LOST, com_error, verdict
from softground.papers.romualdi2021.walks import (
    GROUND_NOTE,
    NOISE_NOTE,
    QUICK_SECONDS,
    SECONDS,
    WALK_NOTE,
    Place,
    momentum_error,
    noisy,
    outcome,
    walk_icub,
)
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

PRINTED, IN_TABLE = Place(8e6, 1e4), Place(8e5, 1e4)
"""The ground as the paper prints it, and the one of its Table I that a misprint of the exponent would make of it."""
SIGMAS = (0.0, 5.0, 10.0, 15.0, 20.0, 30.0)  # N, N m
WORKS_BELOW = 20.0
SMOOTHED = 0.05  # s: white noise shakes the momentum at every step; figures show its moving mean


def perform(options: Options) -> Findings:
    seconds = QUICK_SECONDS if options.quick else SECONDS
    places = (IN_TABLE,) if options.quick else (PRINTED, IN_TABLE)
    sigmas = (0.0, 10.0) if options.quick else SIGMAS
    rows: list[Row] = []
    errors: dict[tuple[Place, float], tuple[np.ndarray, np.ndarray]] = {}
    for place in places:
        for sigma in sigmas:
            run = walk_icub("compliant", noisy(place.medium, sigma, seed=1), place.belief, seconds)
            rows.append(_row(place, sigma, run))
            errors[place, sigma] = run["time"].values, np.linalg.norm(momentum_error(run), axis=1)
    return Findings(
        checks=[check for place in places for check in _checks(place, rows)],
        metrics={f"{row['ground']}, sigma {row['sigma']:g}": row for row in rows},
        tables=[Table("noise", "Noise on the wrenches", rows)],
        figures={"noise": figure(errors)},
        notes=[
            WALK_NOTE,
            GROUND_NOTE,
            NOISE_NOTE,
            "The paper prints k = 8e6 for this study, ten times a value of its Table I; both are here.",
            NOISE_NOTE,
            "The controller knows k and b, and measures the noisy wrenches. The error of the momentum is the rms up to "
            "the loss of the reference.",
        ],
    )


def _row(place: Place, sigma: float, run: Run) -> Row:
    found, error = verdict(run).as_dict(), np.linalg.norm(momentum_error(run), axis=1)
    lost = np.linalg.norm(com_error(run), axis=1) > LOST
    error = error[: int(lost.argmax()) if lost.any() else None]  # of a fall the momentum says nothing
    return {
        "ground": str(place),
        "sigma": sigma,
        "outcome": outcome(found),
        "ended": found["ended"],
        "seconds": found["seconds"],
        "momentum_error_rms_kg_m_s": float(np.sqrt((error**2).mean())),
        "com_error_max_mm": found["com_error_max_mm"],
        "com_error_rms_mm": found["com_error_rms_mm"],
    }


def _checks(place: Place, rows: list[Row]) -> list[Check]:
    here = [row for row in rows if row["ground"] == str(place)]
    quiet = [row for row in here if row["sigma"] < WORKS_BELOW]
    walked = [row["sigma"] for row in quiet if row["outcome"] == "success"]
    error = {row["sigma"]: row["momentum_error_rms_kg_m_s"] for row in quiet}
    return [
        Check(
            f"{place}: walks for every sigma < {WORKS_BELOW:g}",
            len(walked) == len(quiet),
            ", ".join(f"{sigma:g}" for sigma in walked) or "none",
            ", ".join(f"{row['sigma']:g}" for row in quiet),
        ),
        above(
            f"{place}: momentum is tracked worse with more noise, error at sigma {max(error):g} / without",
            error[max(error)] / error[0.0],
            1.0,
        ),
    ]


def figure(errors: dict[tuple[Place, float], tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Error of the linear momentum over time, a panel for each ground."""
    places = list(dict.fromkeys(place for place, _ in errors))
    with matplotlib.rc_context(STYLE):
        result = blank(8.8, 2.6 * len(places) + 0.2)
        panels = result.subplots(len(places), 1, sharex=True, squeeze=False)[:, 0]
        for panel, place in zip(panels, places, strict=True):
            sigmas = [sigma for one, sigma in errors if one == place]
            for number, sigma in enumerate(sigmas):
                time, error = errors[place, sigma]
                count = max(1, round(SMOOTHED / (time[1] - time[0])))
                smooth = np.convolve(error, np.ones(count) / count, mode="same")
                panel.plot(time, smooth, color=COLOURS[number % len(COLOURS)], label=f"sigma {sigma:g}")
            panel.set(yscale="log", ylim=(0.02, 50), ylabel="momentum error (kg m/s)")
            panel.set_title(str(place), loc="left", fontweight="bold")
        panels[-1].set_xlabel("time (s)")
        panels[0].legend(fontsize=8, ncols=len(sigmas), loc="upper left")
    return result


STUDY = Study(
    "romualdi2021",
    "noise",
    "noise on the wrenches (Fig. 6)",
    "the greater the noise the worse linear momentum is tracked; TSID-Compliant walks for every sigma < 20, and at "
    "sigma = 20 the robot falls after some 4 s.",
    perform,
)
