"""A foot of any shape, from a closed triangle mesh (STL)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from softground.closed_mesh import check_closed, read_mesh
from softground.errors import RobotError
from softground.robots.shapes.base import Shape, register_shape
from softground.robots.shapes.panels import Panels
from softground.robots.shapes.triangles import panels_of_triangles

if TYPE_CHECKING:
    import trimesh

SMALLEST, LARGEST = 0.005, 3.0
"""Longest side (m) that a foot may have: outside, its unit is surely not the metre."""
SOLE_SHARE = 0.1
"""How far the lowest point may lie from the origin, as a share of the height: a sole may be rounded."""


@register_shape
@dataclass(frozen=True, eq=False)
class MeshFoot(Shape):
    """A watertight mesh in the foot frame: metres, z up along the foot, origin at the centre of the sole.

    `MeshFoot.load("foot.stl")`. It serves measuring rigs; a robot's foot is one of the other shapes.
    """

    name: ClassVar[str] = "mesh"
    serves_robots: ClassVar[bool] = False

    vertices: np.ndarray  # (v, 3) m
    faces: np.ndarray  # (f, 3) vertex numbers, anticlockwise seen from outside
    label: str = "mesh"

    def __post_init__(self):
        import trimesh  # takes a while, and few use meshes

        _check(trimesh.Trimesh(self.vertices, self.faces), self.label)

    def __str__(self) -> str:
        return f"mesh {self.label}"

    @classmethod
    def load(cls, path: str | Path) -> MeshFoot:
        """Read an STL file, or any other that trimesh reads."""
        mesh = read_mesh(path, "foot mesh", RobotError)
        return cls(np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=np.int64), Path(path).name)

    @property
    def triangles(self) -> np.ndarray:
        """Corners (f, 3, 3), m."""
        return self.vertices[self.faces]

    @property
    def height(self) -> float:
        """Height of the highest point over the sole's centre, m."""
        return float(self.vertices[:, 2].max())

    @property
    def outline(self):
        """Outline of the convex hull seen from above."""
        from scipy.spatial import ConvexHull

        flat = self.vertices[:, :2]
        return flat[ConvexHull(flat).vertices]

    @property
    def extent(self):
        length, width, height = np.ptp(self.vertices, axis=0).tolist()
        return length, width, height

    @property
    def is_mirrored(self) -> bool:
        """Not for certain, so no."""
        return False

    def panels(self, refine: int = 1) -> Panels:
        return panels_of_triangles(self.triangles, refine)

    def to_dict(self) -> dict[str, Any]:
        faces, vertices = self.faces.tolist(), self.vertices.tolist()
        return {"type": self.name, "vertices_m": vertices, "faces": faces, "label": self.label}

    @classmethod
    def from_values(cls, values) -> MeshFoot:
        return cls(np.array(values["vertices_m"], dtype=float), np.array(values["faces"], np.int64), values["label"])

    def identity(self) -> dict[str, Any]:
        """A mesh is known by its geometry, whatever its file is called."""
        lower, upper = (edge(self.vertices, axis=0).round(6).tolist() for edge in (np.min, np.max))
        return {"type": self.name, "fingerprint": self.fingerprint, "lower_m": lower, "upper_m": upper}

    @property
    def fingerprint(self) -> str:
        """Short hash of the geometry: the same mesh under another file name is the same foot."""
        return hashlib.sha256(np.ascontiguousarray(self.triangles).tobytes()).hexdigest()[:16]


def _check(mesh: trimesh.Trimesh, label: str) -> None:
    """RobotError unless the mesh bounds a solid of a foot's size that stands on the origin."""
    name = f"foot mesh {label}"
    check_closed(mesh, name, RobotError)
    if mesh.volume <= 0:
        raise RobotError(f"{name} is inside out, its normals point inwards: call invert() of trimesh on it")
    _check_size(mesh.extents, name)
    _check_origin(mesh.bounds[0], mesh.bounds[1], name)


def _check_size(extents: np.ndarray, name: str) -> None:
    size = " x ".join(f"{side:.3g}" for side in extents)
    if extents.max() > LARGEST:
        raise RobotError(
            f"{name} measures {size} m: a mesh in millimetres must be scaled to metres (apply_scale(0.001) of trimesh)"
        )
    if extents.max() < SMALLEST:
        raise RobotError(f"{name} measures only {size} m: a foot is longer than {SMALLEST:g} m, check its unit")


def _check_origin(lower: np.ndarray, upper: np.ndarray, name: str) -> None:
    height = upper[2] - lower[2]
    beside = (lower[:2] > 0).any() or (upper[:2] < 0).any()
    if beside or abs(lower[2]) > SOLE_SHARE * height:
        shift = -np.array([*(lower[:2] + upper[:2]) / 2, lower[2]])
        raise RobotError(
            f"{name} spans z = {lower[2]:.3g} .. {upper[2]:.3g} m: its origin must be the centre of the sole, with "
            f"z up along the foot; apply_translation([{', '.join(f'{s:.4g}' for s in shift)}]) of trimesh would do"
        )
