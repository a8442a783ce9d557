"""III.B.3: which regression predicts wrenches at new poses best."""

from __future__ import annotations

import matplotlib
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from softground.bridges.side_pictures import blank
from softground.experiments.learning import (
    GaussianProcess,
    Physics,
    SupportVectors,
    cross_validated,
    grid_of,
    learning_curve,
    leave_one_out,
    noise_estimate,
)
from softground.experiments.learning.base import Method
from softground.experiments.learning.grid import Grid
from softground.experiments.learning.report import PUBLISHED
from softground.experiments.learning.validation import folds
from softground.papers import thresholds as bar
from softground.papers.study import Findings, Options, Row, Study, Table, below
from softground.papers.zhu2019.databases import grains_source
from softground.runs.figures import COLOURS, STYLE

METHODS: dict[str, Method] = {
    "RBF": PUBLISHED,
    "GP": GaussianProcess(),
    "SVM": SupportVectors(),
    "physics": Physics(),
}
SHARES = (0.3, 0.5, 0.7, 1.0)
REPEATS = 4


def perform(options: Options) -> Findings:
    source = grains_source(options.sand)
    grid = grid_of(source.database)
    with threadpool_limits(1):  # many small problems: threads would only wait for each other
        five_fold = {label: cross_validated(method, grid, folds(grid)) for label, method in METHODS.items()}
        one_out = {label: cross_validated(method, grid, leave_one_out(grid)) for label, method in METHODS.items()}
        curves = {} if options.quick else _curves(grid)
    noise = noise_estimate(grid)
    published = [five_fold[label] for label in ("RBF", "GP", "SVM")]
    checks = [
        below("RBF, GP and SVM perform alike: worst error / best error", max(published) / min(published), bar.ALIKE),
        below(
            "RBF is the best of the three: its 5-fold error / the next",
            published[0] / min(published[1:]),
            bar.BETTER,
        ),
        below("ours: physics / RBF, 5-fold error", five_fold["physics"] / five_fold["RBF"], bar.BETTER),
        below("ours: physics / RBF, one configuration left out", one_out["physics"] / one_out["RBF"], bar.BETTER),
    ]
    rows: list[Row] = [
        {"method": label, "5-fold": five_fold[label], "one configuration left out": one_out[label]} for label in METHODS
    ]
    return Findings(
        checks=checks,
        metrics={"five_fold": five_fold, "leave_one_out": one_out, "noise": noise, "learning_curve": curves}
        | {"origin": source.origin},
        tables=[Table("errors", "Normalised errors by cross-validation", rows), *_curve_table(curves)],
        figures={"learning_curve": figure(curves, noise)} if curves else {},
        notes=[
            f"{source.database.medium}: {source.origin}; {int(grid.under.sum())} configurations below the surface.",
            "The paper gives an order (RBF slightly ahead) and no numbers. RBF is the published kernel, r^2 log r on "
            "(depth, tilt) weighted (5, 1); physics is ours: resistive force theory and a learned correction.",
            "Errors are root mean squares over all components, torques divided by 0.1 m, over that of the data.",
        ],
    )


def _curves(grid: Grid) -> dict[str, dict[str, float]]:
    """Error by method and share of the configurations used."""
    found = learning_curve(list(METHODS.values()), grid, SHARES, REPEATS)
    return {label: {f"{share:g}": found[method.label][share] for share in SHARES} for label, method in METHODS.items()}


def _curve_table(curves: dict[str, dict[str, float]]) -> list[Table]:
    rows: list[Row] = [{"method": label} | curve for label, curve in curves.items()]
    return [Table("learning_curve", "Error by share of the configurations used", rows)] if rows else []


def figure(curves: dict[str, dict[str, float]], noise: dict[str, float] | None) -> Figure:
    """Error against the share of the configurations that was used."""
    with matplotlib.rc_context(STYLE):
        result = blank(5.2, 3.4)
        axes = result.subplots()
        for (label, curve), colour, marker in zip(curves.items(), COLOURS, "osD^", strict=False):
            axes.plot([100 * float(s) for s in curve], list(curve.values()), f"{marker}-", color=colour, label=label)
        if noise is not None and noise["floor"] > 0.01:
            axes.axhline(noise["floor"], color="#777777", lw=0.9, ls=":")
            axes.text(
                100, 0.98 * noise["floor"], "noise of the data", color="#777777", ha="right", va="top", fontsize=8
            )
        axes.set_xlabel("configurations used (%)")
        axes.set_ylabel("normalised error of the others")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    return result


STUDY = Study(
    "zhu2019",
    "learning",
    "which regression predicts wrenches best? (III.B.3)",
    "RBF, GP and SVM perform alike in 5-fold cross-validation, RBF slightly ahead.",
    perform,
)
