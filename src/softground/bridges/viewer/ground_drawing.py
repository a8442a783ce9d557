"""The ground in the page: the sheet, and in it the tiles that feet have pressed."""

from __future__ import annotations

import numpy as np
import viser

from softground.bridges.viewer import palette
from softground.bridges.viewer.footprints import Footprints
from softground.bridges.viewer.ground_sheet import TILE_CELLS, TILE_NODES, Tile, grid_faces

SEEN = 2e-3  # m: ground pressed in deeper is drawn darker
TILE_FACES = grid_faces(TILE_CELLS + 1, TILE_CELLS + 1)
COARSE_FACES = grid_faces(TILE_NODES + 1, TILE_NODES + 1)


class GroundDrawing:
    """Sends a tile only when its footprints have changed, so that scrubbing stays fluid."""

    def __init__(self, server: viser.ViserServer, prints: Footprints, frame: int = 0):
        self.server, self.prints = server, prints
        self._meshes: dict[str, viser.MeshHandle] = {}
        self._versions: dict[Tile, int] = {}  # of the tiles, as they are drawn
        self._cut_out = prints.tiles  # of the sheet, because they are drawn by themselves
        sheet = prints.sheet
        self.sheet = self._add_mesh("sheet", sheet.vertices, sheet.faces(self._cut_out), palette.SAND)
        self.show(frame)

    def show(self, frame: int) -> None:
        """Show the ground at a frame."""
        tiles = self.prints.tiles
        if tiles != self._cut_out:
            self._cut_out = tiles
            self.sheet.faces = self.prints.sheet.faces(tiles)
        for tile in tiles:
            version = self.prints.version(tile, frame)
            if self._versions.get(tile) != version:
                self._versions[tile] = version
                self._show_tile(tile, frame)

    def remove(self) -> None:
        """Take the ground out of the page."""
        self.server.scene.remove_by_name("/ground")

    def _show_tile(self, tile: Tile, frame: int) -> None:
        """Untouched ground, and pressed ground where there is any: two meshes of one tile."""
        if self.prints.version(tile, frame) < 0:  # nobody was here yet: coarse triangles do
            vertices, faces = self.prints.sheet.coarse_tile(tile), COARSE_FACES
            dark = np.zeros(len(faces), bool)
        else:
            vertices, faces = self.prints.surface(tile, frame), TILE_FACES
            dark = (self.prints.depths(tile, frame)[faces] > SEEN).all(axis=1)
        name = f"tile_{tile[0]}_{tile[1]}"
        self._show_mesh(name, vertices, faces[~dark], palette.SAND)
        self._show_mesh(f"{name}_pressed", vertices, faces[dark], palette.PRESSED_SAND)

    def _show_mesh(self, name: str, vertices: np.ndarray, faces: np.ndarray, colour: palette.Colour) -> None:
        mesh = self._meshes.get(name)
        if mesh is not None:
            mesh.visible = len(faces) > 0
            if mesh.visible:
                mesh.vertices, mesh.faces = vertices.astype(np.float32), faces
        elif len(faces):
            self._meshes[name] = self._add_mesh(name, vertices, faces, colour)

    def _add_mesh(self, name: str, vertices: np.ndarray, faces: np.ndarray, colour: palette.Colour) -> viser.MeshHandle:
        return self.server.scene.add_mesh_simple(f"/ground/{name}", vertices, faces, color=colour, cast_shadow=False)
