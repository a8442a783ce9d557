"""Wrench spaces and wrenches in the page: a translucent hull and an arrow at each foot."""

from __future__ import annotations

import numpy as np
import viser

from softground.bridges.viewer import palette
from softground.bridges.viewer.wrench_hulls import hull_faces

ASIDE = 0.09  # robot heights between a foot and its hull
SHORTEST = 0.01  # robot heights: an arrow shorter than this would be nothing but its head


class HullDrawing:
    """Hulls of forces and the present forces, drawn `scale` metres a newton."""

    def __init__(self, server: viser.ViserServer, feet: int, scale: float, size: float):
        self.server, self.scale, self.size = server, scale, size
        self.hulls_visible, self.arrows_visible = True, True
        self._hulls: list[viser.MeshHandle | None] = [None] * feet
        self.arrows = server.scene.add_arrows(
            "/forces",
            np.zeros((feet, 2, 3)),
            palette.FORCE,
            shaft_radius=0.018 * size,
            head_radius=0.042 * size,
            head_length=0.08 * size,
        )

    def show(self, foot: np.ndarray, base: np.ndarray, force: np.ndarray, vertices: np.ndarray | None) -> None:
        """Forces (foot, 3) in N at feet (foot, 3) in m; force vertices (foot, vertex, 3) in N, if there are any.

        They are drawn beside the feet, away from the base (3,): at the foot the leg would hide them.
        """
        foot = foot + beside(foot, base, ASIDE * self.size)
        arrows = np.stack([foot, foot + self.scale * force], 1)
        arrows = arrows[np.linalg.norm(self.scale * force, axis=1) > SHORTEST * self.size]
        self.arrows.visible = self.arrows_visible and len(arrows) > 0
        if self.arrows.visible:
            self.arrows.points = arrows.astype(np.float32)
        drawn = vertices is not None and self.hulls_visible
        for i, origin in enumerate(foot):
            handle = self._hulls[i]
            if drawn:
                assert vertices is not None
                self._show_hull(i, origin, self.scale * vertices[i])
            elif handle is not None:
                handle.visible = False

    def _show_hull(self, i: int, origin: np.ndarray, points: np.ndarray) -> None:
        handle, faces = self._hulls[i], hull_faces(points)
        if handle is not None and handle.vertices.shape == points.shape:
            handle.vertices, handle.faces = points.astype(np.float32), faces
            handle.position, handle.visible = origin, True
            return
        if handle is not None:
            handle.remove()
        self._hulls[i] = self.server.scene.add_mesh_simple(
            f"/hulls/{i}",
            points,
            faces,
            color=palette.HULL,
            opacity=0.2,
            flat_shading=True,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            position=origin,
        )


def beside(foot: np.ndarray, base: np.ndarray, distance: float) -> np.ndarray:
    """Offsets (foot, 3) of this length (m) along y, to the right for feet to the right of the base or below it."""
    side = np.where(foot[:, 1] > base[1] + 1e-6, 1.0, -1.0)
    return distance * side[:, None] * np.array([0.0, 1.0, 0.0])
