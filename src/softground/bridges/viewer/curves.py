"""Curves for small plots: force, sinkage and power over time, thinned out without losing their peaks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softground.bridges.viewer import palette
from softground.bridges.viewer.palette import Colour
from softground.runs import RobotMotion
from softground.runs.measures import actuator_power

POINTS_A_SECOND = 100
WINDOW = 10.0  # s that a plot shows: of a longer run the part around the cursor


@dataclass(frozen=True)
class Curves:
    """Curves of one plot over common times."""

    title: str
    time: np.ndarray  # (n,) s, rising
    values: np.ndarray  # (curve, n)
    labels: tuple[str, ...]
    colours: tuple[Colour, ...]


def run_curves(dataset: RobotMotion) -> list[Curves]:
    """The three plots of a run."""
    time = dataset["time"].values
    most = max(100, int(POINTS_A_SECOND * (time[-1] - time[0])))
    feet = [str(name).replace("_", " ") for name in dataset["foot"].values]
    return [
        thinned(curves, most)
        for curves in curves_of(
            time,
            dataset["wrench_world"].sel(wrench_axis="fz").values,
            dataset["depth"].values,
            actuator_power(dataset),
            feet,
        )
    ]


def curves_of(
    time: np.ndarray, vertical_force: np.ndarray, depth: np.ndarray, power: np.ndarray, feet: list[str]
) -> list[Curves]:
    """Plots of samples (n,): force (n, foot) in N, depth (n, foot) in m, power (n, actuator) in W."""
    colours = tuple(palette.foot_colour(foot) for foot in range(len(feet)))
    driving, braking = np.maximum(power, 0).sum(1), np.minimum(power, 0).sum(1)
    return [
        Curves("vertical force (N)", time, vertical_force.T, tuple(feet), colours),
        Curves("sinkage (mm)", time, 1000 * np.maximum(depth, 0).T, tuple(feet), colours),
        Curves(
            "actuator power (W)",
            time,
            np.stack([driving, braking]),
            ("driving", "braking"),
            (palette.foot_colour(0), palette.foot_colour(4)),
        ),
    ]


def thinned(curves: Curves, most: int) -> Curves:
    """At most `most` times: of every stretch of time its lowest and its highest value on each curve.

    They are put at two times of the stretch, so a peak is shown at most half a stretch away from where it was.
    """
    count = len(curves.time)
    if count <= most:
        return curves
    edges = np.linspace(0, count, most // 2 + 1).astype(int)[:-1]
    low, high = np.minimum.reduceat(curves.values, edges, 1), np.maximum.reduceat(curves.values, edges, 1)
    middle = (edges + np.append(edges[1:], count)) // 2
    time = np.stack([curves.time[edges], curves.time[middle]], -1).ravel()
    rising = curves.values[:, edges] <= curves.values[:, np.minimum(middle, count - 1)]
    first, second = np.where(rising, low, high), np.where(rising, high, low)
    values = np.stack([first, second], -1).reshape(len(curves.values), -1)
    return Curves(curves.title, time, values, curves.labels, curves.colours)


def around(curves: Curves, cursor: float, window: float = WINDOW) -> Curves:
    """The curves over a window (s) with the cursor (s) in its middle, or against the run's start or end."""
    time = curves.time
    first = float(np.clip(cursor - window / 2, time[0], max(time[-1] - window, time[0])))
    rows = slice(*np.searchsorted(time, [first, first + window + 1e-9]))
    return replace(curves, time=time[rows], values=curves.values[:, rows])
