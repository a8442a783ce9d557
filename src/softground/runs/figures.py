"""Figures of runs: forces, sinkage, the base's motion and the actuators' power."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from softground.runs.measures import actuator_power
from softground.whole_file import write_whole

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion

#: Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
}


def run_figure(run: RobotMotion, title: str = "") -> Figure:
    """One column of panels over time; a curve per foot where there are feet."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 8.2), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(5, 1, sharex=True, height_ratios=(3, 3, 3, 2.4, 2.4))
        _draw_normal_force(panels[0], run)
        _draw_tangential_force(panels[1], run)
        _draw_depth(panels[2], run)
        _draw_base(panels[3], run)
        _draw_power(panels[4], run)
        panels[-1].set_xlabel("time (s)")
        panels[-1].set_xlim(float(run["time"][0]), float(run["time"][-1]))
        panels[0].set_title(title or str(run.attrs["title"]), loc="left", fontweight="bold")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 5), fontsize=8)
        figure.align_ylabels(panels)
    return figure


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure whole; the ending of `path` chooses the format (png, pdf, svg)."""
    return write_whole(path, lambda file: figure.savefig(file, dpi=160))


def _per_foot(axes: Axes, run: RobotMotion, values: np.ndarray, label: str) -> None:
    for i, name in enumerate(run["foot"].values):
        style = "-" if i % 2 == 0 else (0, (4, 3))  # in the plane left and right coincide: show both
        axes.plot(run["time"], values[:, i], ls=style, color=COLOURS[i % len(COLOURS)], label=_plain(name))
    axes.set_ylabel(label)


def _draw_normal_force(axes: Axes, run: RobotMotion) -> None:
    _per_foot(axes, run, run.vertical_force(), "vertical force (N)")
    axes.axhline(run.weight / run.sizes["foot"], color="#777777", lw=0.9, ls=":", label="weight / feet")


def _draw_tangential_force(axes: Axes, run: RobotMotion) -> None:
    _per_foot(axes, run, run["wrench_world"].sel(wrench_axis="fx").values, "force along x (N)")


def _draw_depth(axes: Axes, run: RobotMotion) -> None:
    depth = 1000 * run["depth"].values
    _per_foot(axes, run, depth, "depth (mm)")
    axes.axhline(0.0, color="#a98c59", lw=1.0)
    axes.set_ylim(bottom=max(depth.min(), -1.5 * max(depth.max(), 10.0)))
    axes.invert_yaxis()  # down is down; the brown line is the surface


def _draw_base(axes: Axes, run: RobotMotion) -> None:
    axes.plot(run["time"], run.height("base_position"), color=COLOURS[-1])
    axes.set_ylabel("base over ground (m)")
    pitch = axes.twinx()
    pitch.plot(run["time"], np.degrees(run["base_pitch"].values), color=COLOURS[1])
    pitch.set_ylabel("base pitch (deg)", color=COLOURS[1])
    pitch.tick_params(axis="y", labelcolor=COLOURS[1])
    pitch.spines["right"].set_visible(True)
    pitch.grid(False)


def _draw_power(axes: Axes, run: RobotMotion) -> None:
    power = actuator_power(run)
    axes.plot(run["time"], np.maximum(power, 0).sum(1), color=COLOURS[0])
    axes.plot(run["time"], np.minimum(power, 0).sum(1), color=COLOURS[4])
    axes.set_ylabel("power (W)")
    for text, colour, place in (("driving", COLOURS[0], 0.92), ("braking", COLOURS[4], 0.08)):
        axes.text(0.995, place, text, color=colour, transform=axes.transAxes, ha="right", va="center", bbox=PAPER)


def _plain(name: object) -> str:
    return str(name).replace("_", " ")
