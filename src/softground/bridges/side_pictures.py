"""Robots seen from the side, cut out of the ground they stand in: the pictures of motion in reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import mujoco
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from softground.bridges.playback import heights, weight_drawn
from softground.robots import Robot
from softground.runs import RobotMotion
from softground.runs.figures import COLOURS, STYLE
from softground.surfaces import Surface

WITHOUT_GRID: dict[Any, Any] = STYLE | {"axes.grid": False}
SAND, EDGE, OUTLINE = "#e3cda3", "#a98c59", "#2f3b4a"
VISIBLE_GROUPS = 3
"""Geoms of groups 0 to 2 are drawn, as in MuJoCo's viewer."""
CORNERS = 24  # of a rounded end


def strip_figure(
    rows: Mapping[str, RobotMotion], times: Sequence[float], *, window: tuple[float, float, float, float], follow: bool
) -> Figure:
    """A row of pictures for each run, at the same times (s).

    window: (left, right, below, above) in m, about the base where `follow`, else about the origin.
    """
    width = 8.6 / len(times)
    height = width * (window[3] - window[2]) / (window[1] - window[0])
    with matplotlib.rc_context(WITHOUT_GRID):
        figure = blank(8.8, len(rows) * (height + 0.24) + 0.15)
        panels = figure.subplots(len(rows), len(times), squeeze=False)
        for line, (label, run) in zip(panels, rows.items(), strict=True):
            _draw_line(line, label, run, times, window, follow)
    return figure


def strobe_figure(
    rows: Mapping[str, RobotMotion], times: Sequence[float], *, window: tuple[float, float, float, float]
) -> Figure:
    """A picture for each run, the robot in it at several times (s). window: (left, right, below, above) in m."""
    height = 8.6 * (window[3] - window[2]) / (window[1] - window[0])
    with matplotlib.rc_context(WITHOUT_GRID):
        figure = blank(8.8, len(rows) * (height + 0.3))
        panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
        for panel, (label, run) in zip(panels, rows.items(), strict=True):
            simulator = run.simulator()
            model = simulator.robot.mujoco_model(meshes=True)
            draw_ground(panel, simulator.ground.surface, window[0], window[1], window[2])
            for moment in times:
                sample = run.isel(time=int(np.abs(run["time"].values - moment).argmin()))
                draw_robot(panel, model, sample["configuration"].values)
                draw_forces(panel, simulator.robot, sample, 0.2 * (window[3] - window[2]))
                x, _, z = sample["base_position"].values
                panel.text(x, z + 0.28, f"{float(sample['time']):.1f} s", ha="center", fontsize=8, zorder=80)
            panel.set(xlim=window[:2], ylim=window[2:], xticks=[], yticks=[], aspect="equal")
            panel.spines[:].set_visible(False)
            panel.text(0.01, 0.03, label, transform=panel.transAxes, fontsize=9, fontweight="bold", zorder=80)
    return figure


def blank(width: float, height: float) -> Figure:
    """An empty figure of a size in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _draw_line(panels, label: str, run: RobotMotion, times, window, follow: bool) -> None:
    simulator = run.simulator()
    model = simulator.robot.mujoco_model(meshes=True)
    for panel, moment in zip(panels, times, strict=True):
        sample = run.isel(time=int(np.abs(run["time"].values - moment).argmin()))
        origin = sample["base_position"].values[[0, 2]] if follow else np.zeros(2)
        left, right, below, above = window + np.repeat(origin, 2)
        draw_ground(panel, simulator.ground.surface, left, right, below)
        draw_robot(panel, model, sample["configuration"].values)
        draw_forces(panel, simulator.robot, sample, 0.3 * (above - below))
        panel.set(xlim=(left, right), ylim=(below, above), xticks=[], yticks=[], aspect="equal")
        panel.spines[:].set_visible(False)
        panel.text(0.98, 0.96, f"{moment:.2f} s", transform=panel.transAxes, ha="right", va="top", fontsize=7)
    panels[0].set_title(label, loc="left", fontsize=8.5, fontweight="bold")


def draw_ground(axes: Axes, surface: Surface, left: float, right: float, below: float) -> None:
    """The ground between two x (m), so pale that a foot in it can be seen."""
    x = np.linspace(left, right, 200)
    z = heights(surface, x, np.zeros_like(x))
    axes.fill_between(x, z, min(below, np.nanmin(z)) - 1.0, color=SAND, lw=0, zorder=1)
    axes.fill_between(x, z, min(below, np.nanmin(z)) - 1.0, color=SAND, alpha=0.55, lw=0, zorder=60)
    axes.plot(x, z, color=EDGE, lw=0.9, zorder=61)


def draw_robot(axes: Axes, model: mujoco.MjModel, q: np.ndarray) -> None:
    """The visible geoms of a model in configuration q, seen from -y; what is farther away first."""
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    visible = [g for g in range(model.ngeom) if model.geom_group[g] < VISIBLE_GROUPS and model.geom_rgba[g, 3] > 0]
    for geom in sorted(visible, key=lambda g: -data.geom_xpos[g, 1]):
        outline = geom_outline(model, data, geom)
        if outline is not None:
            outline.set(
                facecolor=model.geom_rgba[geom, :3], edgecolor=OUTLINE, linewidth=0.5,
                zorder=30 - 10 * data.geom_xpos[geom, 1],
            )  # fmt: skip
            axes.add_patch(outline)


def geom_outline(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> Polygon | Circle | None:
    """Outline in the x-z plane of a sphere, box, capsule or cylinder; None for other geoms."""
    kind, size = mujoco.mjtGeom(int(model.geom_type[geom])), model.geom_size[geom]
    centre, axes = data.geom_xpos[geom, [0, 2]], data.geom_xmat[geom].reshape(3, 3)[[0, 2]]
    across = abs(data.geom_xmat[geom].reshape(3, 3)[1, 2]) > 0.7  # the geom's axis points at the viewer
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE or (kind == mujoco.mjtGeom.mjGEOM_CYLINDER and across):
        return Circle((float(centre[0]), float(centre[1])), float(size[0]))
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return Polygon(centre + _rectangle(size[0], size[2]) @ axes[:, [0, 2]].T)
    along = axes[:, 2]
    side = np.array([-along[1], along[0]])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return Polygon(centre + _rectangle(size[0], size[1]) @ np.stack([side, along]))
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        turn = np.linspace(0, np.pi, CORNERS)
        arc = size[0] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        top = arc + np.array([0.0, size[1]])
        return Polygon(centre + np.concatenate([top, -top]) @ np.stack([side, along]))
    return None


def _rectangle(half_width: float, half_height: float) -> np.ndarray:
    return np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * [half_width, half_height]


def draw_forces(axes: Axes, robot: Robot, sample: RobotMotion, weight_length: float) -> None:
    """Arrows of the ground's forces on the feet, `weight_length` (m) long for the robot's weight."""
    position = np.asarray(robot.foot_poses(robot.kinematics(sample["configuration"].values))[0])
    force = sample["wrench_world"].values[:, :3]
    scale = weight_length / weight_drawn(robot)
    for (x, _, z), (fx, _, fz) in zip(position, force, strict=True):
        if scale * np.hypot(fx, fz) > 0.02 * weight_length:
            axes.annotate(
                "", (x + scale * fx, z + scale * fz), (x, z), zorder=70,
                arrowprops={"arrowstyle": "-|>,head_width=0.15,head_length=0.3", "color": COLOURS[1], "lw": 1.0,
                            "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
