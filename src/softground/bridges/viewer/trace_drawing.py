"""Traces in the page: the paths of the torso and the feet."""

from __future__ import annotations

import numpy as np
import viser

from softground.bridges.viewer import palette

MOST_POINTS = 3000  # a path; 72 kB each


class TraceDrawing:
    """One line for the torso and one for each foot."""

    def __init__(self, server: viser.ViserServer, feet: int, size: float):
        colours = [palette.TRACE, *(palette.foot_colour(foot) for foot in range(feet))]
        nothing = np.zeros((1, 2, 3))
        self.lines = [
            server.scene.add_line_segments(
                f"/traces/{i}", nothing, colour, thickness=0.008 * size if i else 0.012 * size, visible=False
            )
            for i, colour in enumerate(colours)
        ]
        self.visible = True

    def show(self, base: np.ndarray, foot: np.ndarray) -> None:
        """Draw paths (frame, 3) and (frame, foot, 3), in m."""
        paths = [base, *(foot[:, i] for i in range(foot.shape[1]))]
        for line, path in zip(self.lines, paths, strict=True):
            points = path[_rows(len(path))]
            if len(points) > 1:
                line.points = np.stack([points[:-1], points[1:]], 1).astype(np.float32)
            line.visible = self.visible and len(points) > 1

    def set_visible(self, visible: bool) -> None:
        """Show or hide all lines."""
        self.visible = visible
        for line in self.lines:
            line.visible = visible and len(line.points) > 1


def _rows(count: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).round().astype(int))
