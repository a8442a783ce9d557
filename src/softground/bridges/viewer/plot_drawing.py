"""Plots in the page, with a line at the cursor.

uPlot rather than Plotly: its code is part of the page already, Plotly's 4.8 MB would be sent to every browser. It
knows no marker, so the line is one more curve, which rises from the bottom to the top at the cursor.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import viser

from softground.bridges.viewer import palette
from softground.bridges.viewer.curves import Curves, around

HEIGHT = 104  # px


class PlotDrawing:
    """One plot of curves."""

    def __init__(self, server: viser.ViserServer, curves: Curves):
        self.curves, self._cursor = curves, None
        self.limits = _limits(curves.values)
        series: list[Any] = [{"label": "t (s)"}]
        series += [
            {"label": label, "stroke": palette.css(colour), "width": 1.3, "points": {"show": False}}
            for label, colour in zip(curves.labels, curves.colours, strict=True)
        ]
        series.append({"label": "now", "stroke": palette.css(palette.FORCE), "width": 1.5, "points": {"show": False}})
        self.plot = server.gui.add_uplot(
            data_with_cursor(around(curves, float(curves.time[0])), float(curves.time[0]), self.limits),
            tuple(series),
            title=curves.title,
            scales={"x": {"time": False}, "y": {"range": self.limits}},
            axes=({"size": 26}, {"size": 48, "space": 22}),
            legend={"show": False},
            height=HEIGHT,
            padding=(4, 12, 0, 0),
        )

    def show_cursor(self, cursor: float) -> None:
        """Move the line to a time (s), and the window with it."""
        if cursor != self._cursor:
            self._cursor = cursor
            self.plot.data = data_with_cursor(around(self.curves, cursor), cursor, self.limits)

    def show(self, curves: Curves) -> None:
        """Draw other curves, the cursor at their end; the range grows with them."""
        self.curves = curves
        limits = _limits(curves.values)
        if limits[0] < self.limits[0] or limits[1] > self.limits[1]:
            self.limits = (min(limits[0], self.limits[0]), max(limits[1], self.limits[1]))
            self.plot.scales = {"x": {"time": False}, "y": {"range": self.limits}}
        self.plot.data = data_with_cursor(curves, float(curves.time[-1]), self.limits)


def data_with_cursor(curves: Curves, cursor: float, limits: tuple[float, float]) -> tuple[np.ndarray, ...]:
    """Times, curves and the cursor's line, as uPlot takes them: every time gets a value on every curve."""
    time = curves.time
    row = int(np.clip(np.searchsorted(time, cursor, side="right"), 1, len(time)))
    extended = np.insert(time.astype(float), row, [cursor] * 3)
    line = np.full(len(extended), limits[0])
    line[row + 1] = limits[1]
    values = [np.insert(curve.astype(float), row, [np.interp(cursor, time, curve)] * 3) for curve in curves.values]
    return extended, *values, line


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Range of the vertical axis with some room; finite also where values are not."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    low, high = min(low, 0.0), max(high, 0.0)
    room = 0.06 * max(high - low, 1e-3)
    return low - (room if low < 0 else 0.0), high + room


def legend(feet: list[str]) -> str:
    """The feet's names in their colours, as HTML."""
    plain = [html.escape(name.replace("_", " ")) for name in feet]
    colours = [palette.css(palette.foot_colour(foot)) for foot in range(len(feet))]
    names = [f'<span style="color:{c}">&#9632;&nbsp;{name}</span>' for c, name in zip(colours, plain, strict=True)]
    return f'<div style="font-size:0.8em;padding:0 0.8em;line-height:1.4">{" &nbsp; ".join(names)}</div>'
