"""Figure of walking patterns: seen from above, and over time with the double supports shaded."""

from __future__ import annotations

import matplotlib
import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from softground.arrays import Array
from softground.control.walking.gait import Side
from softground.control.walking.pattern import WalkingPattern
from softground.runs.figures import COLOURS, STYLE

FOOT_COLOURS = {Side.LEFT: COLOURS[0], Side.RIGHT: COLOURS[1]}
LINES = {
    "centre of mass": ("com", {"color": COLOURS[6], "lw": 1.6}),
    "DCM": ("dcm", {"color": COLOURS[2], "lw": 1.0}),
    "ZMP": ("zmp", {"color": COLOURS[3], "lw": 1.0, "ls": (0, (4, 2))}),
}
"""Label -> field of the pattern and style."""


def pattern_figure(patterns: dict[str, WalkingPattern], outline: Float[np.ndarray, "k 2"]) -> Figure:
    """A row for each named pattern: from above, with the outline of a sole (corners in its frame, m), and over time."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 3.4 * len(patterns)), layout="constrained")
        FigureCanvasAgg(figure)
        rows = figure.subfigures(len(patterns), 1, squeeze=False)[:, 0]
        for row, (title, pattern) in zip(rows, patterns.items(), strict=True):
            grid = row.add_gridspec(3, 2, width_ratios=(1, 1), height_ratios=(3, 3, 2))
            above = row.add_subplot(grid[:, 0])
            over_time = [row.add_subplot(grid[i, 1]) for i in range(3)]
            _draw_from_above(above, pattern, outline)
            _draw_over_time(over_time, pattern)
            row.align_ylabels(over_time)
            above.set_title(title, loc="left", fontweight="bold")
        handles, labels = above.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8)
    return figure


def sole_corners(
    outline: Float[np.ndarray, "k 2"], position: Float[np.ndarray, "... 3"], yaw: Float[Array, "..."]
) -> Float[np.ndarray, "... k 2"]:
    """Corners of a sole's outline in the world, from above (m)."""
    cosine, sine = np.cos(yaw)[..., None], np.sin(yaw)[..., None]
    x, y = np.asarray(outline).T
    return np.asarray(position)[..., None, :2] + np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=-1)


def _draw_from_above(axes: Axes, pattern: WalkingPattern, outline: Float[np.ndarray, "k 2"]) -> None:
    for side, colour in FOOT_COLOURS.items():
        position, yaw = np.asarray(pattern.foot_position)[:, side], np.asarray(pattern.foot_yaw)[:, side]
        for first, _ in intervals(np.asarray(pattern.contact)[:, side]):
            corners = sole_corners(outline, position[first], yaw[first])
            axes.add_patch(Polygon(corners, facecolor=colour, alpha=0.16, lw=0))
            axes.add_patch(Polygon(corners, facecolor="none", edgecolor=colour, lw=0.8))
        axes.plot(*position[:, :2].T, color=colour, lw=0.7, ls=":", label=f"{side.name.lower()} foot")
    for label, (field, style) in LINES.items():
        axes.plot(*np.asarray(getattr(pattern, field))[:, :2].T, label=label, **style)
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.set_adjustable("datalim")


def _draw_over_time(panels: list[Axes], pattern: WalkingPattern) -> None:
    for axis, (panel, name) in enumerate(zip(panels, "xy", strict=False)):
        for side, colour in FOOT_COLOURS.items():
            panel.plot(pattern.time, pattern.foot_position[:, side, axis], color=colour, lw=0.7, ls=":")
        for field, style in LINES.values():
            panel.plot(pattern.time, getattr(pattern, field)[:, axis], **style)
        panel.set_ylabel(f"{name} (m)")
    for side, colour in FOOT_COLOURS.items():
        panels[2].plot(pattern.time, 1000 * pattern.foot_position[:, side, 2], color=colour)
    panels[2].set(ylabel="sole z (mm)", xlabel="time (s)")
    for panel in panels:
        for first, last in intervals(np.all(pattern.contact, axis=1)):
            panel.axvspan(float(pattern.time[first]), float(pattern.time[last]), color="#f1f1f1", lw=0, zorder=0)
        panel.set_xlim(float(pattern.time[0]), float(pattern.time[-1]))
        panel.tick_params(labelbottom=panel is panels[-1])


def intervals(flag: Bool[np.ndarray, " n"]) -> list[tuple[int, int]]:
    """First and last sample of every stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flag, [False]]).astype(int)))
    return [(start, stop - 1) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
