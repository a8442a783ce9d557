"""The figure of how the time of a step grows."""

from __future__ import annotations

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from softground.runs.figures import COLOURS, STYLE

LABELS = {
    "feet": "feet (legs of three hinges)",
    "degrees of freedom": "degrees of freedom (four feet)",
    "vertices": "vertices of a wrench set (RoboSimian)",
    "robots": "robots in a batch (ANYmal, one core)",
}


def scaling_figure(rows: dict[str, list[dict]]) -> Figure:
    """A panel for each quantity that grows: microseconds per step of a robot."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.0, 5.2), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(2, 2).ravel()
        for panel, (name, several) in zip(panels, rows.items(), strict=True):
            counts = [row["count"] for row in several]
            panel.plot(counts, [row["native_us"] for row in several], "o-", color=COLOURS[0], label="softground, sand")
            if "mujoco_us" in several[0]:
                peer = [row["mujoco_us"] for row in several]
                panel.plot(counts, peer, "s--", color=COLOURS[1], label="MuJoCo C, rigid plane")
            if name in ("robots", "vertices"):
                panel.set_xscale("log", base=2)
                panel.set_xticks(counts, [str(count) for count in counts])
            panel.set_xlabel(LABELS[name])
            panel.set_ylim(bottom=0.0)
        for panel in panels[::2]:
            panel.set_ylabel("time of a robot's step (µs)")
        panels[0].legend(fontsize=8)
    return figure
