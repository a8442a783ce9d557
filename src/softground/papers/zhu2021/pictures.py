"""Pictures of gaits: the robot at several moments, with the traces of torso and front right foot; convergence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank, strobe_figure
from softground.runs import RobotMotion
from softground.runs.figures import COLOURS, STYLE

TORSO, FOOT = "#c1272d", "#1a8f3c"  # red and green, as in the paper
FRONT_RIGHT = 1
MARGIN = (0.8, 0.45)  # m beside and above the torso
MOMENTS = 5


def gait_figure(rows: Mapping[str, RobotMotion]) -> Figure:
    """A picture for each gait, the robot in it at equal intervals, all on the same scale."""
    bases = [run["base_position"].values for run in rows.values()]
    soles = [run.foot_poses()[0][:, FRONT_RIGHT] for run in rows.values()]
    left, right = min(base[:, 0].min() for base in bases), max(base[:, 0].max() for base in bases)
    low, high = min(sole[:, 2].min() for sole in soles), max(base[:, 2].max() for base in bases)
    end = min(float(run["time"].values[-1]) for run in rows.values())
    figure = strobe_figure(
        rows,
        np.linspace(0.0, end, MOMENTS).tolist(),
        window=(left - MARGIN[0], right + MARGIN[0], low - 0.2, high + MARGIN[1]),
    )
    for panel, base, sole in zip(figure.axes, bases, soles, strict=True):
        panel.plot(base[:, 0], base[:, 2], color=TORSO, lw=1.4, zorder=75)
        panel.plot(sole[:, 0], sole[:, 2], color=FOOT, lw=1.0, zorder=75)
    return figure


def convergence_figure(report: dict[str, Any]) -> Figure:
    """Objective, violation and optimality over the iterations of all stages (Fig. 3)."""
    history = np.concatenate([np.asarray(stage["history"]) for stage in report["stages"]])
    changes = np.cumsum([len(stage["history"]) for stage in report["stages"]])[:-1]
    with matplotlib.rc_context(STYLE):
        figure = blank(7.2, 2.6)
        cost, error = figure.subplots(1, 2)
        cost.semilogy(history[:, 0], color=COLOURS[0])
        error.semilogy(np.maximum(history[:, 1], 1e-12), color=COLOURS[1], label="violation")
        error.semilogy(np.maximum(history[:, 2], 1e-12), color=COLOURS[2], label="optimality")
        error.axhline(1e-3, color="#888888", lw=0.8, ls=":")
        for axes in (cost, error):
            for change in changes:
                axes.axvline(change, color="#888888", lw=0.8, ls="--")
            axes.set_xlabel("iteration (dashed: exact Hessian from here)")
        cost.set_ylabel("objective")
        error.set_ylim(1e-6, None)
        error.legend(fontsize=8)
    return figure
