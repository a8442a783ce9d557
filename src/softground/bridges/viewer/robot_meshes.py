"""The robot's visible geometry as triangle meshes, one a body and colour."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import trimesh

from softground.bridges.scene import VISIBLE_GROUPS
from softground.bridges.viewer import palette
from softground.bridges.viewer.palette import Colour

PLAIN = (0.5, 0.5, 0.5, 1.0)
"""MuJoCo's colour of geometry that was given none."""
SHARP = 0.6  # rad: edges sharper than this stay edges
LARGE = 5_000  # triangles: beyond it a mesh is drawn as it is, edges are fine enough


@dataclass(frozen=True)
class BodyMesh:
    """Part of a body: triangles in the body's frame."""

    body: int
    colour: Colour
    opacity: float
    vertices: np.ndarray  # (n, 3) m
    faces: np.ndarray  # (m, 3)


def body_meshes(model: mujoco.MjModel, foot_bodies: np.ndarray) -> list[BodyMesh]:
    """Everything of a robot that is to be seen; geometry without a colour of its own gets one of ours."""
    parts: dict[tuple[int, Colour, float], list[trimesh.Trimesh]] = {}
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        rgba = _rgba(model, geom)
        if body == 0 or model.geom_group[geom] >= VISIBLE_GROUPS or rgba[3] == 0:
            continue
        mesh = _geom_mesh(model, geom)
        if mesh is not None:
            colour = _colour(model, body, rgba, foot_bodies)
            parts.setdefault((body, colour, float(rgba[3])), []).append(mesh)
    return [BodyMesh(*key, *_joined(meshes)) for key, meshes in parts.items()]


def _rgba(model: mujoco.MjModel, geom: int) -> np.ndarray:
    material = model.geom_matid[geom]
    return model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]


def _colour(model: mujoco.MjModel, body: int, rgba: np.ndarray, foot_bodies: np.ndarray) -> Colour:
    if not np.allclose(rgba, PLAIN, atol=1e-3):
        red, green, blue = (round(255 * float(channel)) for channel in rgba[:3])
        return red, green, blue
    if body in foot_bodies:
        return palette.FOOT
    return palette.TORSO if model.body_parentid[body] == 0 else palette.LIMB


def _geom_mesh(model: mujoco.MjModel, geom: int) -> trimesh.Trimesh | None:
    """A geom in its body's frame; None for what has no solid shape (planes and height fields)."""
    kind, size = mujoco.mjtGeom(int(model.geom_type[geom])), model.geom_size[geom]
    match kind:
        case mujoco.mjtGeom.mjGEOM_BOX:
            mesh = trimesh.creation.box(extents=2 * size)
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            mesh = trimesh.creation.icosphere(subdivisions=3, radius=size[0])
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            mesh = trimesh.creation.capsule(radius=size[0], height=2 * size[1], count=[20, 20])
            mesh.vertices -= mesh.bounds.mean(axis=0)
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            mesh = trimesh.creation.cylinder(radius=size[0], height=2 * size[1], sections=28)
        case mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            mesh = trimesh.creation.icosphere(subdivisions=3)
            mesh.vertices *= size
        case mujoco.mjtGeom.mjGEOM_MESH:
            mesh = _stored_mesh(model, int(model.geom_dataid[geom]))
        case _:
            return None
    if len(mesh.faces) < LARGE:
        mesh = trimesh.graph.smooth_shade(mesh, angle=SHARP)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    mesh.vertices = np.asarray(mesh.vertices) @ rotation.reshape(3, 3).T + model.geom_pos[geom]
    return mesh


def _stored_mesh(model: mujoco.MjModel, mesh: int) -> trimesh.Trimesh:
    vertices = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
    faces = model.mesh_face[model.mesh_faceadr[mesh] :][: model.mesh_facenum[mesh]]
    return trimesh.Trimesh(vertices.copy(), faces.copy(), process=False)


def _joined(meshes: list[trimesh.Trimesh]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    vertices = np.concatenate([np.asarray(mesh.vertices) for mesh in meshes])
    faces = np.concatenate([np.asarray(mesh.faces) + start for mesh, start in zip(meshes, offsets, strict=True)])
    return vertices.astype(np.float32), faces.astype(np.uint32)
