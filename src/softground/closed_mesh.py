"""Closed triangle meshes: read from files and refused unless they bound a solid, for feet and ground alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import trimesh  # takes a while to import, and few use meshes


def read_mesh(path: str | Path, name: str, error: type[Exception]) -> trimesh.Trimesh:
    """The mesh in an STL file, or any other that trimesh reads. `name` and `error` are for what is raised."""
    import trimesh

    path = Path(path)
    if not path.is_file():
        raise error(f"no {name} at {path}: give the path of an STL file")
    try:
        return trimesh.load_mesh(path)
    except Exception as cause:  # trimesh's readers raise whatever their parser does
        raise error(f"{name} {path} cannot be read: {cause}; export it again as STL") from cause


def check_closed(mesh: trimesh.Trimesh, name: str, error: type[Exception], otherwise: str = "") -> None:
    """Raise unless the mesh is finite, watertight and wound one way. `otherwise`: what else one could do."""
    if len(mesh.faces) == 0:
        raise error(f"{name} has no triangles: it must be a closed triangle mesh")
    if not np.isfinite(mesh.vertices).all():
        raise error(f"{name} has NaN or infinite vertices: remove them before loading")
    if not mesh.is_watertight:
        raise error(
            f"{name} must be watertight, but some edges do not have two triangles: close its holes "
            f"(trimesh.repair.fill_holes) or export it again as a solid{otherwise}"
        )
    if not mesh.is_winding_consistent:
        raise error(f"{name} has triangles facing both ways: run trimesh.repair.fix_normals on it")
