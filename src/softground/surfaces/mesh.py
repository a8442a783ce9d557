"""Ground from a closed triangle mesh."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.closed_mesh import check_closed, read_mesh
from softground.errors import SurfaceError
from softground.surfaces import checks
from softground.surfaces.base import Surface
from softground.surfaces.distance_sampling import signed_distances
from softground.surfaces.spline import CubicSpline

if TYPE_CHECKING:
    import trimesh  # takes a while to import, and few use meshes

MOST_NODES = 2_000_000
"""Limit on the sampled grid: minutes to build, 16 MB."""
NODES_UNASKED = 400_000
"""Limit on a grid that is refined without being asked: about 20 s to build."""
NODES_ALONG = 48
"""Nodes along the longest side at first."""
ROUNDED = 0.35
"""Share of a spacing: vertices further from the sampled surface are lost.

Corners of a box are rounded by 0.27 at most.
"""
RESOLVED = 0.05
"""Share of a spacing: the same for vertices of details, near which the mesh bends both ways within a spacing."""
ALIKE = 0.2
"""A bend at least this share of its opposite one: there a detail stands out and ends in a surface."""


class MeshSurface(Surface):
    """A watertight mesh (world frame, metres), its signed distance resampled as a tricubic spline, C2.

    zhu2021, III.B.2: the distance to triangles is not differentiable, so it is sampled (exactly) on a uniform
    grid and interpolated by cubics. The mesh is sampled once, here; a recipe carries the grid, not the mesh.

    The grid is the mesh's bounding box widened by `padding` on every side. Outside it the spline continues as
    a constant and the distance to the box is added, so the result is positive, grows with distance and is C2.

    Measured: the samples are exact to rounding (box: 3e-16 m). Bumpy terrain (radius of curvature 1 m,
    facets of 30 mm, spacing 40 mm): distance to 0.15 mm, of which the facets 0.1 mm, normal to 3 mrad,
    |grad d| to 1e-3. Near a sharp edge, or the kink halfway between two faces, cubics ring: 0.4 % of the
    spacing at two spacings from it, 0.02 % at five. Sharp edges are rounded over about a spacing. Make a terrain
    block thicker than ten spacings.

    A detail narrower than a spacing (a stone, a slot, a low step) would be lost between the nodes. Every vertex
    of the mesh is looked up in what was sampled; where details are missing the grid is refined while it stays
    small (unless a spacing was asked for), and what is missing then is said in a warning, with its size.
    Beyond the grid over a flat face the distance falls short by up to 0.13 spacings. Sampling 57^3 nodes
    with 5,000 triangles took 8 s on one core.
    """

    type_name: ClassVar[str] = "mesh"

    spline: CubicSpline
    """d(x, y, z) [m]."""

    def __init__(self, source, spacing=None, *, padding=None):
        """`source`: a mesh file that trimesh reads, a `trimesh.Trimesh`, or an already sampled `CubicSpline`.

        `spacing` [m] of the grid, by default the longest side / 48, or finer where the mesh has details that
        would be lost; `padding` [m], by default 4 spacings.
        """
        self.spline = source if isinstance(source, CubicSpline) else _sampled(_read(source), spacing, padding)
        if self.spline.coefficients.ndim != 3:
            raise SurfaceError(f"MeshSurface spline must have 3 axes, got {self.spline.coefficients.ndim}")

    def signed_distance(self, point: Float[Array, "3"]) -> Float[Array, ""]:
        return self.spline.value(point) + self._beyond_grid(point)

    def _beyond_grid(self, point: Float[Array, "3"]) -> Float[Array, ""]:
        """About the distance [m] from the point to the grid's box; 0 within. C2 where it sets in."""
        first, last = (corner.astype(point.dtype) for corner in self.bounds())
        scale = self.spline.spacing.astype(point.dtype)
        beyond = jnp.maximum(jnp.abs(point - 0.5 * (first + last)) - 0.5 * (last - first), 0.0) / scale
        gap = scale * beyond**3 / (beyond**2 + 1.0)
        return jnp.sqrt(gap @ gap + scale[0] ** 2) - scale[0]

    def bounds(self) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
        """First and last corner of the sampled grid [m], world."""
        nodes = jnp.asarray(self.spline.coefficients.shape, self.spline.origin.dtype) - 3.0
        return self.spline.origin, self.spline.origin + nodes * self.spline.spacing

    def _column_heights(self) -> Float[Array, " n"]:
        first, last = self.bounds()
        return jnp.linspace(last[2], first[2], 2 * self.spline.coefficients.shape[2])

    def _parameters(self) -> dict[str, Any]:
        return self.spline.recipe()

    @classmethod
    def _build(cls, parameters: dict[str, Any]) -> "MeshSurface":
        return cls(CubicSpline(**parameters))


def _read(source) -> trimesh.Trimesh:
    """The mesh, or SurfaceError if it does not bound a solid."""
    import trimesh

    name = "mesh"
    if not isinstance(source, trimesh.Trimesh):
        name = f"mesh {source}"
        source = read_mesh(source, "mesh", SurfaceError)
    check_closed(source, name, SurfaceError, "; give an open terrain sides and a bottom, or use HeightField")
    return source


def _sampled(mesh: trimesh.Trimesh, spacing, padding) -> CubicSpline:
    """The distance on a grid that keeps the details of the mesh; a warning where it does not."""
    finest = spacing is not None
    spacing = float(mesh.extents.max()) / NODES_ALONG if spacing is None else spacing
    while True:
        spline = _sampled_at(mesh, spacing, padding)
        lost, away = lost_details(mesh, spline)
        finer = spacing / 2
        margin = 4 * finer if padding is None else padding
        if not len(lost) or finest or np.prod(_counts(mesh, finer, margin).astype(float)) > NODES_UNASKED:
            break
        spacing = finer
    if len(lost):
        place = ", ".join(f"{x:.3g}" for x in mesh.vertices[lost[0]])
        warnings.warn(
            f"the mesh has details that a spacing of {spacing:.2g} m loses: {len(lost)} vertices are up to "
            f"{away[0]:.2g} m from the sampled surface, the first at ({place}) m; give a spacing of about a "
            "third of the width of the smallest detail (MeshSurface(..., spacing=...), --spacing), or cut the mesh",
            stacklevel=4,
        )
    return spline


def lost_details(mesh: trimesh.Trimesh, spline: CubicSpline) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Vertices that the grid misses, and how far they are from the sampled surface (m); worst first.

    A vertex is where a mesh stands out or is dented most, so what the grid does not know is seen there. Edges and
    corners of a block are rounded by up to a quarter of a spacing, which is no loss. Bumps, slots and steps differ from
    them in that the mesh bends both ways within a spacing, out and in by about as much; there little is allowed.
    """
    from scipy.spatial import KDTree  # takes a while, and most ground is no mesh

    spacing = float(spline.spacing[0])
    away = np.abs(np.asarray(jax.jit(jax.vmap(spline.value))(jnp.asarray(mesh.vertices))))
    suspects = np.flatnonzero(away > RESOLVED * spacing)
    bends = np.where(mesh.face_adjacency_convex, 1, -1) * mesh.face_adjacency_angles  # rad, an edge each
    near = KDTree(mesh.vertices[mesh.face_adjacency_edges].mean(axis=1)).query_ball_point(
        mesh.vertices[suspects], spacing
    )
    sharpest = np.array(
        [[max(bends[edges].max(), 0), max(-bends[edges].min(), 0)] if edges else [0, 0] for edges in near]
    )
    sharpest = np.sort(sharpest.reshape(-1, 2), axis=1)
    is_detail = sharpest[:, 0] > ALIKE * sharpest[:, 1]
    lost = suspects[is_detail | (away[suspects] > ROUNDED * spacing)]
    lost = lost[np.argsort(-away[lost])]
    return lost, away[lost]


def _counts(mesh: trimesh.Trimesh, spacing: float, padding: float) -> Int[np.ndarray, "3"]:
    """Nodes along the axes."""
    return np.ceil((mesh.extents + 2 * padding) / spacing).astype(int) + 1


def _sampled_at(mesh: trimesh.Trimesh, spacing, padding) -> CubicSpline:
    spacing = float(checks.positive("MeshSurface spacing", spacing))
    padding = float(checks.positive("MeshSurface padding", 4 * spacing if padding is None else padding))
    counts = _counts(mesh, spacing, padding)
    if np.prod(counts.astype(float)) > MOST_NODES:
        coarser = spacing * (np.prod(counts.astype(float)) / MOST_NODES) ** (1 / 3)
        raise SurfaceError(
            f"MeshSurface spacing {spacing:g} m needs {' x '.join(map(str, counts))} nodes, more than "
            f"{MOST_NODES:,}; use a spacing of {coarser:.2g} m or more, or cut the mesh"
        )
    if min(counts) < 4:
        raise SurfaceError(
            f"MeshSurface grid of {' x '.join(map(str, counts))} nodes is too coarse, 4 an axis are needed; "
            f"use a spacing below {float(mesh.extents.min() + 2 * padding) / 3:.2g} m"
        )
    # Centred, so that a symmetric mesh gives a symmetric field.
    origin = mesh.bounds.mean(axis=0) - 0.5 * spacing * (counts - 1)
    axes = tuple(origin[i] + spacing * np.arange(counts[i]) for i in range(3))
    return CubicSpline.through(signed_distances(mesh, axes), origin, np.full(3, spacing))
