"""Beyond the paper: no prior parameters at all, and a controller that weighs how well it knows the ground."""

from __future__ import annotations

from dataclasses import dataclass, replace

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.estimation import Estimator
from softground.control.walking.walk import Belief, com_error, verdict
from softground.papers.romualdi2021.walks import (
    GROUND_NOTE,
    NOISE_NOTE,
    QUICK_SECONDS,
    WALK_NOTE,
    Place,
    noisy,
    outcome,
    sigma_over_step,
    walk_icub,
    wrench_rate,
)
from softground.papers.study import Check, Findings, Options, Row, Study, Table, below
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

PLACE = Place(1e6, 1e4)
FACTOR = 4.0
SECONDS = 8.0
#: Factors on stiffness and damping of the first guess.
GUESSES = {
    "too stiff": (FACTOR, FACTOR),
    "too soft": (1 / FACTOR, 1 / FACTOR),
    "stiff, little damped": (FACTOR, 1 / FACTOR),
    "soft, much damped": (1 / FACTOR, FACTOR),
}
ASSUMED, SIGMA = 5.0, 10.0  # sigma that the estimator assumes without noise; sigma of the noise (N, N m)


@dataclass(frozen=True)
class Case:
    """How a walk meets the ground: with what guess, whether it learns, whether it is cautious, in what noise."""

    guess: str
    learns: bool
    cautious: bool = False
    sigma: float = 0.0

    @property
    def manner(self) -> str:
        return "right values" if self.guess == "right" else _MANNERS[self.learns, self.cautious]

    def walk(self, seconds: float) -> Run:
        k, b = GUESSES.get(self.guess, (1.0, 1.0))
        estimator = Estimator(sigma_over_step(self.sigma or ASSUMED)) if self.learns else None
        belief = Belief(k * PLACE.k, b * PLACE.b, estimator)
        name = "cautious" if self.cautious else "compliant"
        return walk_icub(name, noisy(PLACE.medium, self.sigma, seed=5), belief, seconds)


_MANNERS = {
    (False, False): "believes the guess",
    (True, False): "learns",
    (True, True): "learns, cautious",
}
LEARNING = [Case(guess, learns) for guess in GUESSES for learns in (False, True)]
CAUTION = [Case(guess, True, True) for guess in GUESSES] + [
    Case(guess, True, cautious, SIGMA) for guess in ("too stiff", "too soft") for cautious in (False, True)
]


def perform(options: Options) -> Findings:
    seconds = QUICK_SECONDS if options.quick else SECONDS
    quick = [Case("too stiff", True), Case("too stiff", True, True)]
    cases = quick if options.quick else [Case("right", learns=False), *LEARNING, *CAUTION]
    rows: dict[Case, Row] = {}
    series: dict[Case, tuple[np.ndarray, np.ndarray]] = {}
    for case in cases:
        run = case.walk(seconds)
        rows[case] = _row(case, run)
        series[case] = run["time"].values, 1e3 * np.linalg.norm(com_error(run), axis=1)
    return Findings(
        checks=[*_learning_checks(rows), *_caution_checks(rows)],
        metrics={f"{row['guess']}, {row['manner']}, sigma {row['sigma']:g}": row for row in rows.values()},
        tables=[Table("adaptation", "Walks from wrong guesses", list(rows.values()))],
        figures={"adaptation": figure(series)},
        notes=[
            WALK_NOTE,
            GROUND_NOTE,
            NOISE_NOTE,
            f"The ground is {PLACE}. Guesses are wrong by a factor of {FACTOR:g}; the estimator works, and the "
            "controller uses what it finds, from the first tick on.",
            "'Cautious' adds to the task of the wrench rates its variance over what the ground may be "
            "(ContactUncertainty), from the estimator's covariance, which is large after every touch-down.",
        ],
    )


def _row(case: Case, run: Run) -> Row:
    found = verdict(run).as_dict()
    left = {
        name: 100 * float(np.abs(run[f"believed_{name}"].values[-1] / true - 1).max())
        for name, true in (("stiffness", PLACE.k), ("damping", PLACE.b))
    }
    return {
        "guess": case.guess,
        "manner": case.manner,
        "sigma": case.sigma,
        "outcome": outcome(found),
        "ended": found["ended"],
        "seconds": found["seconds"],
        "com_error_max_mm": found["com_error_max_mm"],
        "com_error_rms_mm": found["com_error_rms_mm"],
        "wrench_rate_n_s": wrench_rate(run, found["seconds"]),
        "stiffness_error_at_end_percent": left["stiffness"],
        "damping_error_at_end_percent": left["damping"],
    }


def _learning_checks(rows: dict[Case, Row]) -> list[Check]:
    """That learning makes up for a wrong guess."""
    return [
        Check(
            f"ours: learns from a guess {case.guess} and walks",
            row["outcome"] == "success",
            f"{row['ended']}, error of the CoM {row['com_error_max_mm']:.1f} mm",
            "finished",
        )
        for case, row in rows.items()
        if case.learns and not case.cautious and not case.sigma
    ]


def _caution_checks(rows: dict[Case, Row]) -> list[Check]:
    """That caution lowers the error of the centre of mass, wherever both walks were made."""
    pairs = [(case, replace(case, cautious=False)) for case in rows if case.cautious]
    return [
        below(
            f"ours: caution helps, guess {cautious.guess}, sigma {cautious.sigma:g}: rms error of the CoM / plain",
            rows[cautious]["com_error_rms_mm"] / rows[plain]["com_error_rms_mm"],
            1.0,
        )
        for cautious, plain in pairs
    ]


def figure(series: dict[Case, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Error of the centre of mass over time, a panel for each guess, without noise."""
    guesses = list(dict.fromkeys(case.guess for case in series if case.guess in GUESSES))
    manners = ["right values", *_MANNERS.values()]
    with matplotlib.rc_context(STYLE):
        result = blank(8.8, 2.2 * len(guesses) + 0.3)
        panels = result.subplots(len(guesses), 1, sharex=True, squeeze=False)[:, 0]
        for panel, guess in zip(panels, guesses, strict=True):
            shown = [case for case in series if case.guess in (guess, "right") and not case.sigma]
            for case in shown:
                panel.plot(*series[case], color=COLOURS[manners.index(case.manner)], label=case.manner)
            panel.set(yscale="log", ylim=(0.1, 300), ylabel="error of the CoM (mm)")
            panel.set_title(f"first guess {guess}", loc="left", fontweight="bold")
        panels[-1].set_xlabel("time (s)")
        result.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)
    return result


STUDY = Study(
    "romualdi2021",
    "adaptation",
    "wrong guesses of the ground (beyond the paper)",
    "to have the estimate, and its uncertainty, inside the controller is named as future work.",
    perform,
)
