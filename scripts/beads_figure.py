"""The figure of docs/beads.md: the campaign's pushes, its wrenches beside resistive force theory, convergence.

python scripts/beads_figure.py CAMPAIGN_FOLDER CONVERGENCE.json OUT.png
"""

import json
import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.experiments.campaign import collect
from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.plan import Grid
from softground.experiments.campaign.store import Store
from softground.experiments.protocol import Pose, low_pass
from softground.media.resistive import surface_of, wrenches
from softground.simulation.figures import COLOURS, STYLE, save_figure

TORQUE_LENGTH = 0.1  # m


def main(folder: Path, convergence: Path, out: Path) -> None:
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 3.6), layout="constrained")
        pushes, compared, choices = figure.subplots(1, 3, width_ratios=(1, 1, 1.15))
        draw_pushes(pushes, folder)
        draw_comparison(compared, folder)
        draw_choices(choices, json.loads(convergence.read_text()))
        print(save_figure(figure, out))


def draw_pushes(axes, folder: Path) -> None:
    """Force on the foot pushed straight down along its way, raw and filtered."""
    store, grid = Store(folder), Grid.of_document(Manifest.read(folder).grid)
    down = int(grid.twists()[:, 2].argmin())
    for colour, depth in zip(COLOURS, grid.depths, strict=False):
        run = next(r for r in grid.runs() if (r.pose, r.direction) == (Pose(depth), down))
        record = store.load(run.name).recording
        below = -1000 * run.motion.position(record.time)[:, 2]
        axes.plot(below, record.wrench[:, 2], color=colour, lw=0.5, alpha=0.5)
        smooth = low_pass(record.time, record.wrench[:, 2], 6.0 / run.motion.duration)
        axes.plot(below, smooth, color=colour, label=f"to {1000 * depth:.0f} mm")
    axes.set(xlabel="depth (mm)", ylabel="vertical force (N)", xlim=(0, None), ylim=(0, None))
    axes.legend()
    axes.set_title("pushed down", loc="left")


def draw_comparison(axes, folder: Path) -> None:
    """Every measured wrench component beside that of the plane law, one scale for all."""
    database = collect(folder)
    under = database.depth > 0
    theory = np.array(
        [
            wrenches(
                surface_of(database.foot),
                "plane",
                Pose(0.0, tilt).rotation[None],
                np.array([depth]),
                np.array([[twist[0], 0, twist[1], 0, twist[2], 0]]),
            )[0, 0, 0, [0, 2, 4]]
            for depth, tilt, twist in zip(
                database.depth[under], database.tilt[under], database.twist[under], strict=True
            )
        ]
    )
    weights = np.array([1.0, 1.0, 1 / TORQUE_LENGTH])
    measured, theory = database.wrench[under] * weights, theory * weights
    scale = (measured * theory).sum() / (theory**2).sum()
    error = np.sqrt(((measured - scale * theory) ** 2).mean() / (measured**2).mean())
    correlation = np.corrcoef(measured.ravel(), theory.ravel())[0, 1]
    for column, (label, colour) in enumerate(zip(("force x", "force z", "torque y / 0.1 m"), COLOURS, strict=False)):
        axes.plot(scale * theory[:, column], measured[:, column], ".", ms=3, color=colour, label=label)
    ends = [measured.min(), measured.max()]
    axes.plot(ends, ends, color="#777777", lw=0.8)
    axes.set(xlabel=f"plane theory, scale {scale:.3f} (N)", ylabel="grains (N)")
    axes.legend(markerscale=3)
    axes.set_title(f"correlation {correlation:.3f}, error {error:.2f}", loc="left")


def plane_wrench(surface, depth: float, tilt: float, twist: np.ndarray) -> np.ndarray:
    """Force x, z and torque y of the plane law, scale 1."""
    motion = np.array([[twist[0], 0, twist[1], 0, twist[2], 0]])
    return wrenches(surface, "plane", Pose(0.0, tilt).rotation[None], np.array([depth]), motion)[0, 0, 0, [0, 2, 4]]


def draw_choices(axes, results: dict[str, dict[str, float]]) -> None:
    names = list(results)
    place = np.arange(len(names))[::-1]
    for offset, (direction, colour) in zip((0.2, -0.2), (("down", COLOURS[0]), ("aside", COLOURS[1])), strict=True):
        axes.barh(
            place + offset,
            [results[name].get(direction, np.nan) for name in names],
            0.36,
            color=colour,
            label=direction,
        )
    axes.set_yticks(place, [name.replace(", small container", " *") for name in names], fontsize=7)
    axes.set_xlabel("resistance (N/cm3)")
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
    axes.set_title("other choices", loc="left")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
