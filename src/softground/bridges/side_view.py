"""Frames of a run drawn by matplotlib, from the side: where no off-screen OpenGL is to be had."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from softground.bridges.playback import Playback, heights

SAND, EDGE, SKY, BODY, LIMB, FOOT, FORCE = (
    "#dcc08f", "#a98c59", "#eef3f8", "#44546a", "#6c7f99", "#b9683f", "#c1272d",
)  # fmt: skip


def side_view_frames(play: Playback, width: int, height: int) -> Iterator[np.ndarray]:
    """Images (height, width, 3), bytes, one per frame of the playback: the x-z plane seen from -y."""
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=SKY)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), facecolor=SKY)
    axes.set_aspect("equal")
    axes.set_axis_off()
    reach = 1.6 * play.size
    lines = links(play)
    _draw_ground(axes, play, reach)
    limb = 0.08 * play.size * width / (2 * reach) * 72 / figure.dpi  # points: 8 % of the robot's height
    drawn = [_draw_link(axes, play, body, limb) for body, _ in lines]
    (base,) = axes.plot([], [], "o", color=BODY, ms=2.2 * limb, zorder=2.2)
    zero = np.zeros(play.foot.shape[1])
    forces = axes.quiver(
        zero, zero, zero, zero, angles="xy", scale_units="xy", scale=1, color=FORCE, width=0.006, zorder=4
    )
    caption = axes.text(0.02, 0.96, "", transform=axes.transAxes, va="top", fontsize=11, color="#222222")
    for i in range(len(play.time)):
        x, z = play.base[i, 0], play.base[i, 2]
        axes.set_xlim(x - reach, x + reach)
        axes.set_ylim(z - 0.38 * play.size - reach * height / width, z - 0.38 * play.size + reach * height / width)
        for (body, end), line in zip(lines, drawn, strict=True):
            start, stop = play.position[i, body], end(i)
            line.set_data([start[0], stop[0]], [start[2], stop[2]])
        base.set_data([x], [z])
        arrows = 1.2 * play.size * play.force[i] / play.weight
        forces.set_offsets(play.foot[i][:, [0, 2]])
        forces.set_UVC(arrows[:, 0], arrows[:, 2])
        caption.set_text(f"{play.title}   t = {play.time[i]:.2f} s")
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def links(play: Playback) -> list:
    """Lines of the stick figure: (body, frame -> where its line ends), at a child's origin or at the sole."""
    model = play.model
    lines = [
        (int(model.body_parentid[body]), lambda i, b=body: play.position[i, b])
        for body in range(1, model.nbody)
        if model.body_parentid[body] != 0
    ]
    soles = [(int(body), lambda i, f=foot: play.foot[i, f]) for foot, body in enumerate(play.foot_body)]
    return lines + soles


def _draw_link(axes, play: Playback, body: int, limb: float):
    trunk = play.model.body_parentid[body] == 0
    colour = BODY if trunk else FOOT if body in play.foot_body else LIMB
    return axes.plot([], [], color=colour, lw=(1.8 if trunk else 1.0) * limb, solid_capstyle="round", zorder=2)[0]


def _draw_ground(axes, play: Playback, reach: float) -> None:
    x = np.linspace(play.base[:, 0].min() - 2 * reach, play.base[:, 0].max() + 2 * reach, 400)
    z = heights(play.surface, x, np.full_like(x, play.base[0, 1]))
    axes.fill_between(x, z, np.nanmin(z) - 10 * reach, color=SAND, alpha=0.82, lw=0, zorder=2.5)
    axes.plot(x, z, color=EDGE, lw=1.5, zorder=2.6)
