"""Pictures of wrench spaces: the hull in three dimensions, its shadows, how it changes with depth and tilt."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial import ConvexHull, QhullError

from softground.experiments.database import WrenchDatabase
from softground.runs.figures import COLOURS, STYLE

#: The three components that pictures show: force along x and z, torque about y.
SHOWN = {"planar": [0, 1, 2], "spatial": [0, 2, 4]}
LABELS = ("force x (N)", "force z (N)", "torque y (N m)")
DEPTH_COLOURS = colormaps["viridis_r"]


def hull_figure(database: WrenchDatabase, depth: float, tilt: float) -> Figure:
    """The wrench space at one configuration (the nearest to depth m, tilt rad): hull, points and three shadows."""
    pose, wrenches = _nearest(database, depth, tilt)
    with matplotlib.rc_context(STYLE):
        figure = _figure(9.0, 6.4)
        space = figure.add_subplot(2, 2, 1, projection="3d")
        _draw_hull(space, wrenches)
        for place, (a, b) in zip((2, 3, 4), ((0, 1), (0, 2), (2, 1)), strict=True):
            _draw_shadow(figure.add_subplot(2, 2, place), wrenches, a, b)
        figure.suptitle(f"{database.medium}: depth {1000 * pose[0]:.0f} mm, tilt {pose[1]:.2f} rad", fontweight="bold")
    return figure


def slices_figure(database: WrenchDatabase, depth: float, tilt: float, slices: int = 5) -> Figure:
    """Cuts through the wrench space at constant torque: which forces are left to a foot that carries it.

    depth (m), tilt (rad): the measured pose nearest to them is drawn.
    """
    pose, wrenches = _nearest(database, depth, tilt)
    with matplotlib.rc_context(STYLE):
        figure = _figure(5.6, 4.4)
        axes = figure.subplots()
        low, high = wrenches[:, 2].min(), wrenches[:, 2].max()
        levels = low + (high - low) * (np.arange(slices) + 0.5) / slices
        for level, colour in zip(levels, colormaps["viridis"](np.linspace(0, 1, slices)), strict=True):
            outline = _cut(wrenches, level)
            if len(outline) > 2:
                axes.fill(*outline.T, facecolor=(*colour[:3], 0.15), edgecolor=colour, label=f"{level:+.2f} N m")
        _label(axes, 0, 1)
        axes.legend(title="torque y", fontsize=8)
        axes.set_title(f"{database.medium}: depth {1000 * pose[0]:.0f} mm, tilt {pose[1]:.2f} rad", loc="left")
    return figure


def change_figure(database: WrenchDatabase) -> Figure:
    """Outlines of the forces in the x-z plane: a panel for every tilt, a colour for every depth."""
    poses, table = database.configurations(), database.table()[..., SHOWN[database.kind]]
    tilts = np.unique(poses[poses[:, 0] > 0, 1])
    depths = np.unique(poses[poses[:, 0] > 0, 0])
    with matplotlib.rc_context(STYLE):
        figure = _figure(2.6 * len(tilts) + 0.8, 3.4)
        panels = figure.subplots(1, len(tilts), sharex=True, sharey=True, squeeze=False)[0]
        for panel, tilt in zip(panels, tilts, strict=True):
            for depth in depths[::-1]:
                for wrenches in table[(poses[:, 0] == depth) & (poses[:, 1] == tilt)]:
                    colour = DEPTH_COLOURS(depth / depths.max())
                    outline = _outline(wrenches[:, [0, 1]])
                    panel.fill(*outline.T, facecolor=(*colour[:3], 0.15), edgecolor=colour)
            panel.set_title(f"tilt {tilt:.2f} rad", loc="left")
            panel.set_xlabel(LABELS[0])
        panels[0].set_ylabel(LABELS[1])
        key = [Patch(color=DEPTH_COLOURS(d / depths.max()), label=f"{1000 * d:.0f}") for d in depths]
        figure.legend(handles=key, title="depth (mm)", loc="outside right center", fontsize=8)
        figure.suptitle(f"{database.medium}: forces that the ground can exert", fontweight="bold")
    return figure


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _nearest(database: WrenchDatabase, depth: float, tilt: float) -> tuple[np.ndarray, np.ndarray]:
    """The configuration nearest to a pose, and its shown wrenches (k, 3) with the origin."""
    poses = database.configurations()
    number = int(np.hypot((poses[:, 0] - depth) / 0.01, (poses[:, 1] - tilt) / 0.1).argmin())
    wrenches = database.table()[number][:, SHOWN[database.kind]]
    return poses[number], np.vstack([wrenches, np.zeros(3)])


def _draw_hull(axes, wrenches: np.ndarray) -> None:
    try:
        triangles = wrenches[ConvexHull(wrenches).simplices]
    except QhullError:  # flat: the points alone say so
        triangles = np.empty((0, 3, 3))
    shell = Poly3DCollection(triangles, facecolor=(*to_rgb(COLOURS[0]), 0.15), edgecolor="#5b7f99")
    shell.set_linewidth(0.5)
    axes.add_collection3d(shell)
    axes.scatter(*wrenches[:-1].T, s=9, color=COLOURS[1], depthshade=False)
    axes.scatter(0, 0, 0, s=18, color="black")
    axes.set(xlabel=LABELS[0], ylabel=LABELS[1], zlabel=LABELS[2])
    axes.tick_params(labelsize=7)
    axes.view_init(elev=20, azim=-60)


def _draw_shadow(axes: Axes, wrenches: np.ndarray, a: int, b: int) -> None:
    outline = _outline(wrenches[:, [a, b]])
    axes.fill(*outline.T, facecolor=(*to_rgb(COLOURS[0]), 0.12), edgecolor=COLOURS[0])
    axes.plot(wrenches[:-1, a], wrenches[:-1, b], ".", color=COLOURS[1], ms=5)
    axes.plot(0, 0, "k.", ms=6)
    _label(axes, a, b)


def _label(axes: Axes, a: int, b: int) -> None:
    axes.set_xlabel(LABELS[a])
    axes.set_ylabel(LABELS[b])


def _outline(points: np.ndarray) -> np.ndarray:
    """Corners (c, 2) of the hull of points in a plane, in order."""
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # all on a line
        along = points @ np.linalg.svd(points - points.mean(0), full_matrices=False)[2][0]
        return points[[along.argmin(), along.argmax()]]


def _cut(wrenches: np.ndarray, level: float) -> np.ndarray:
    """Outline (c, 2) of the hull of wrenches (k, 3) cut at a torque: where its edges cross that torque."""
    hull = ConvexHull(wrenches)
    edges = np.unique(np.sort(hull.simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    start, end = wrenches[edges[:, 0]], wrenches[edges[:, 1]]
    crosses = (start[:, 2] - level) * (end[:, 2] - level) < 0
    start, end = start[crosses], end[crosses]
    share = (level - start[:, 2:]) / (end[:, 2:] - start[:, 2:])
    points = (start + share * (end - start))[:, :2]
    return _outline(points) if len(points) > 2 else points
