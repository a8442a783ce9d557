"""Wrench spaces of the feet as solids: which forces the ground can exert on each foot, here and now.

Only granular media have one (`WrenchSpace` and its kin). Its part in force space is the convex hull of the force
components of its vertices; drawn at the foot, a force of the robot's weight being `scale` metres per newton long.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from softground.contact.feet import feet_in_ground
from softground.media.base import COMPONENTS
from softground.media.wrench_space import WrenchSpace
from softground.simulation.simulator import Simulator


def has_wrench_space(simulator: Simulator) -> bool:
    """Whether the ground's forces form a set that can be drawn."""
    return isinstance(simulator.feet_medium, WrenchSpace)


def force_vertices_of(simulator: Simulator) -> Callable[[np.ndarray], np.ndarray]:
    """Compiled q -> force vertices (foot, vertex, 3) in N, world; the origin is the last vertex of each foot."""
    medium = simulator.feet_medium
    assert isinstance(medium, WrenchSpace)
    forces = [(k, axis) for k, axis in enumerate(COMPONENTS[medium.kind]) if axis < 3]
    robot, surface = simulator.robot, simulator.ground.surface

    def vertices(q):
        feet = feet_in_ground(robot, q, surface)
        wrenches = jax.vmap(lambda medium, foot: medium.vertices(foot))(medium, feet)
        turned = [wrenches[..., k, None] * feet.surface[:, None, :, axis] for k, axis in forces]
        return sum(turned)

    program = jax.jit(vertices)
    return lambda q: np.asarray(program(q))


def hull_faces(points: np.ndarray) -> np.ndarray:
    """(m, 3) triangles of the convex hull of points (n, 3), facing outwards; m is the same for every n.

    Points in a plane (planar robots) give the polygon they span, once from each side. What is left over of the
    2 n - 4 triangles a hull can have is filled with triangles without area, so that a page need not allocate again.
    """
    most = max(2 * len(points) - 4, 1)
    faces = _solid_faces(points)
    if faces is None:
        faces = _flat_faces(points)
    faces = faces[:most]
    return np.concatenate([faces, np.zeros((most - len(faces), 3), int)]).astype(np.uint32)


def _solid_faces(points: np.ndarray) -> np.ndarray | None:
    if _rank(points) < 3:
        return None
    try:
        hull = ConvexHull(points)
    except QhullError:
        return None
    faces = hull.simplices
    a, b, c = (points[faces[:, k]] for k in range(3))
    inwards = np.einsum("fi,fi->f", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    return np.where(inwards[:, None], faces[:, ::-1], faces)


def _flat_faces(points: np.ndarray) -> np.ndarray:
    if _rank(points) < 2:
        return np.zeros((0, 3), int)
    _, _, axes = np.linalg.svd(points - points.mean(0), full_matrices=False)
    try:
        ring = ConvexHull((points - points.mean(0)) @ axes[:2].T).vertices
    except QhullError:
        return np.zeros((0, 3), int)
    fan = np.stack([np.full(len(ring) - 2, ring[0]), ring[1:-1], ring[2:]], -1)
    return np.concatenate([fan, fan[:, ::-1]])


def _rank(points: np.ndarray) -> int:
    """Dimension that points span, to a thousandth of their size."""
    size = np.linalg.svd(points - points.mean(0), compute_uv=False)
    return int((size > 1e-3 * size[0]).sum()) if size[0] > 1e-9 else 0
