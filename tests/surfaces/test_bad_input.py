"""Every input a surface refuses, and that the message says what would be right."""

import numpy as np
import pytest
import trimesh

from softground.errors import SurfaceError
from softground.surfaces import HeightField, MeshSurface, Plane, Ramp, Surface, Wave

FLAT = np.zeros((5, 5))
BOX = trimesh.creation.box((1.0, 1.0, 1.0))


def holed():
    mesh = BOX.copy()
    mesh.update_faces(np.arange(len(mesh.faces)) > 0)
    return mesh


def twisted():
    faces = BOX.faces.copy()
    faces[0] = faces[0, ::-1]
    return trimesh.Trimesh(BOX.vertices, faces, process=False)


def non_finite():
    return trimesh.Trimesh(np.where(BOX.vertices == BOX.vertices[0], np.nan, BOX.vertices), BOX.faces, process=False)


def pierced():
    heights = FLAT.copy()
    heights[2, 3] = np.nan
    return heights


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Plane(np.pi / 2), "radians"),
        (lambda: Plane(30.0), "radians"),
        (lambda: Plane(np.nan), "finite"),
        (lambda: Plane("steep"), "numeric"),
        (lambda: Plane(heading=np.inf), "heading must be finite"),
        (lambda: Plane(point=(0.0, 1.0)), r"shape \(3,\)"),
        (lambda: Wave(np.inf, 1.0), "amplitude must be finite"),
        (lambda: Wave(0.1, 0.0), "wavelength must be positive"),
        (lambda: Wave(0.1, 1.0, phase=np.nan), "phase"),
        (lambda: Ramp(0.0, 1.0), "use Plane"),
        (lambda: Ramp(-0.2, 1.0), "heading=pi"),
        (lambda: Ramp(0.2, -1.0), "radius must be positive"),
        (lambda: Ramp(1.6, 1.0), "radians"),
        (lambda: HeightField(pierced(), 0.1), r"first at index \(2, 3\)"),
        (lambda: HeightField(np.zeros((3, 9)), 0.1), "at least 4"),
        (lambda: HeightField(np.zeros(9), 0.1), "2 dimensions"),
        (lambda: HeightField([[1.0], [1.0, 2.0]], 0.1), "rectangular"),
        (lambda: HeightField(FLAT, 0.0), "spacing must be positive"),
        (lambda: HeightField(FLAT, (0.1, -0.1)), "spacing must be positive"),
        (lambda: HeightField(FLAT), "either spacing or extent"),
        (lambda: HeightField(FLAT, 0.1, extent=(1.0, 1.0)), "not both"),
        (lambda: HeightField(FLAT, 0.1, origin=(np.nan, 0.0)), "origin must be finite"),
        (lambda: HeightField.load("no/such.npy", 0.1), "not found"),
        (lambda: MeshSurface(holed()), "HeightField"),
        (lambda: MeshSurface(twisted()), "fix_normals"),
        (lambda: MeshSurface(non_finite()), "NaN"),
        (lambda: MeshSurface(trimesh.Trimesh()), "no triangles"),
        (lambda: MeshSurface(BOX, -0.1), "spacing must be positive"),
        (lambda: MeshSurface(BOX, 0.1, padding=0.0), "padding must be positive"),
        (lambda: MeshSurface(BOX, 0.001), "use a spacing of"),
        (lambda: MeshSurface(BOX, 5.0, padding=0.1), "use a spacing below"),
        (lambda: MeshSurface("no/such.stl"), "no mesh at"),
        (lambda: Surface.from_dict({"type": "lava"}), "height_field, mesh, plane, ramp, wave"),
        (lambda: Surface.from_dict({"slope": 0.1}), "must be one of"),
        (lambda: Wave.from_dict({"type": "plane"}), "must be one of wave"),
        (lambda: Surface.from_dict({"type": "plane", "tilt": 0.1}), "to_dict"),
        (lambda: Surface.from_dict({"type": "mesh", "spacing": [1.0]}), "to_dict"),
    ],
)
def test_refused_with_a_remedy(build, message):
    with pytest.raises(SurfaceError, match=message):
        build()


def test_unreadable_files(tmp_path):
    contents = {"a.npy": b"not numpy", "b.csv": b"1,2\nx,y\n", "c.txt": b"1", "d.stl": b"solid nothing"}
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        build = MeshSurface if name.endswith("stl") else lambda p: HeightField.load(p, 0.1)
        with pytest.raises(SurfaceError, match=name):
            build(path)


def test_no_pickle_is_loaded(tmp_path):
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(SurfaceError, match=r"objects\.npy"):
        HeightField.load(path, 0.1)
