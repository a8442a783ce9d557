"""Exact signed distance from points of a grid to a closed triangle mesh (at construction only)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from softground.errors import SurfaceError

if TYPE_CHECKING:
    import trimesh  # takes a while to import, and few use meshes

PAIRS_AT_ONCE = 200_000
"""Point-triangle pairs held in memory together: tens of megabytes."""


def signed_distances(
    mesh: trimesh.Trimesh,
    axes: tuple[Float[np.ndarray, " nx"], Float[np.ndarray, " ny"], Float[np.ndarray, " nz"]],
) -> Float[np.ndarray, "nx ny nz"]:
    """Distance [m] at every node of the grid, negative inside the mesh."""
    shape = tuple(map(len, axes))
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    spacing = axes[0][1] - axes[0][0]
    distance = unsigned_distances(nodes, small_triangles(mesh, 3.0 * spacing)).reshape(shape)
    return np.where(inside(mesh.triangles, axes), -distance, distance)


def small_triangles(mesh: trimesh.Trimesh, longest: float) -> Float[np.ndarray, "m 3 3"]:
    """The same surface in triangles with edges of at most `longest` [m], near their centroids."""
    from trimesh import remesh

    vertices, faces, *_ = remesh.subdivide_to_size(mesh.vertices, mesh.faces, longest, max_iter=30)
    return vertices[faces]


def unsigned_distances(
    points: Float[np.ndarray, "n 3"], triangles: Float[np.ndarray, "m 3 3"]
) -> Float[np.ndarray, " n"]:
    """Distance to the closest triangle: exact, by widening the candidates until none left out can be closer.

    A triangle lies within `radius` of its centroid. Once the k-th nearest centroid is farther than the best
    distance plus that radius, no triangle beyond the k nearest can improve on it.
    """
    centroids = triangles.mean(axis=1)
    radius = np.linalg.norm(triangles - centroids[:, None], axis=-1).max()
    from scipy.spatial import KDTree  # takes a while, and most ground is no mesh

    tree = KDTree(centroids)
    best = np.full(len(points), np.inf)
    left, k = np.arange(len(points)), 12
    while len(left):
        k = min(k, len(triangles))
        unsettled = []
        for chunk in np.array_split(left, len(left) * k // PAIRS_AT_ONCE + 1):
            apart, candidates = tree.query(points[chunk], k=k)
            bound = np.minimum(best[chunk], apart[:, 0])  # centroids are on the surface too
            near = apart < bound[:, None] + radius
            distance = np.where(near, apart, np.inf)
            distance[near] = _triangle_distances(
                points[chunk[near.nonzero()[0]]], triangles[np.asarray(candidates)[near]]
            )
            best[chunk] = distance.min(axis=1)
            unsettled.append(chunk[apart[:, -1] < best[chunk] + radius])
        left = np.concatenate(unsettled) if k < len(triangles) else left[:0]
        k *= 4
    return best


def _triangle_distances(
    points: Float[np.ndarray, "n 3"], triangles: Float[np.ndarray, "n 3 3"]
) -> Float[np.ndarray, " n"]:
    """Distance of each point to its triangle: to the plane from over the face, else to the nearest edge."""
    corners = triangles.transpose(1, 0, 2)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    area = _dot(normal, normal)
    over_face = area > 0  # a sliver without area is left to its edges
    to_edge = np.full(len(points), np.inf)
    for i in range(3):
        edge, offset = corners[(i + 1) % 3] - corners[i], points - corners[i]
        length = _dot(edge, edge)
        share = np.clip(_dot(offset, edge) / np.where(length > 0, length, 1.0), 0.0, 1.0)
        gap = offset - share[:, None] * edge
        to_edge = np.minimum(to_edge, _dot(gap, gap))
        over_face &= _dot(np.cross(edge, offset), normal) >= 0
    to_plane = np.abs(_dot(points - corners[0], normal)) / np.sqrt(np.where(area > 0, area, 1.0))
    return np.where(over_face, to_plane, np.sqrt(to_edge))


def _dot(a: Float[np.ndarray, "n 3"], b: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
    return np.einsum("ij,ij->i", a, b)


def inside(triangles: Float[np.ndarray, "m 3 3"], axes) -> Bool[np.ndarray, "nx ny nz"]:
    """Whether each grid node is inside: the winding number along vertical lines is not zero.

    Each column of the grid is one line; every triangle it crosses counts +1 (facing up) or -1 (facing down)
    for the nodes below. A line through an edge or a vertex would count wrongly, so lines are displaced by
    a millionth of the spacing: a node whose sign this could change is that close to the surface. On a closed
    mesh each line sums to zero, which is checked; a line that does not is displaced elsewhere.
    """
    spacing = axes[0][1] - axes[0][0]
    random = np.random.default_rng(0)
    for _ in range(8):
        shift = random.uniform(0.5e-6, 1.5e-6, size=2) * spacing
        column, z, turn = _crossings(triangles, axes[0] + shift[0], axes[1] + shift[1])
        columns = len(axes[0]) * len(axes[1])
        if not np.bincount(column, weights=turn, minlength=columns).any():
            break
    else:
        raise SurfaceError(
            "mesh is not closed along some vertical lines: it is watertight by its edges but has degenerate "
            "triangles; repair it (trimesh.repair, or a remesh in the tool that made it)"
        )
    # A crossing at z counts for the nodes below it: mark it at the last of them and sum downwards.
    level = np.searchsorted(axes[2], z)  # number of nodes strictly below z
    marks = np.zeros((columns, len(axes[2]) + 1))
    np.add.at(marks, (column, level), turn)
    winding = np.cumsum(marks[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return (winding != 0).reshape(tuple(map(len, axes)))


def _crossings(
    triangles: Float[np.ndarray, "m 3 3"], x: Float[np.ndarray, " nx"], y: Float[np.ndarray, " ny"]
) -> tuple[Int[np.ndarray, " c"], Float[np.ndarray, " c"], Float[np.ndarray, " c"]]:
    """Column index, z and direction (+1 up, -1 down) of every crossing of a vertical line with a triangle."""
    first, last = triangles.min(axis=1), triangles.max(axis=1)
    x0, y0 = np.searchsorted(x, first[:, 0]), np.searchsorted(y, first[:, 1])
    wide, deep = np.searchsorted(x, last[:, 0]) - x0, np.searchsorted(y, last[:, 1]) - y0
    owner = np.repeat(np.arange(len(triangles)), wide * deep)  # one entry per triangle and column in its box
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(wide * deep) - wide * deep, wide * deep)
    i, j = x0[owner] + rank // np.maximum(deep[owner], 1), y0[owner] + rank % np.maximum(deep[owner], 1)
    a, b, c = (triangles[owner, corner] for corner in range(3))
    line = np.stack([x[i], y[j]], axis=-1)
    weights = [_area(b, c, line), _area(c, a, line), _area(a, b, line)]
    total = weights[0] + weights[1] + weights[2]
    turn = np.sign(total)
    hit = np.all([w * turn > 0 for w in weights], axis=0)
    z = weights[0] * a[:, 2] + weights[1] * b[:, 2] + weights[2] * c[:, 2]
    return (i * len(y) + j)[hit], z[hit] / total[hit], turn[hit]


def _area(p, q, r) -> Float[np.ndarray, " c"]:
    """Twice the signed area of the triangle p, q, r seen from above."""
    return (q[:, 0] - p[:, 0]) * (r[:, 1] - p[:, 1]) - (q[:, 1] - p[:, 1]) * (r[:, 0] - p[:, 0])
