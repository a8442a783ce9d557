"""Ground from measured heights on a grid."""

from pathlib import Path
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import SurfaceError
from softground.surfaces import checks
from softground.surfaces.graph import Graph
from softground.surfaces.spline import CubicSpline


class HeightField(Graph):
    """z = bicubic spline through heights[i, j] at (x_0 + i dx, y_0 + j dy); C2, exact at the nodes.

    Outside the grid the ground goes over into a constant continuation of the edge, smoothly, within two
    spacings (see `CubicSpline`). Give either `spacing` (one number or dx, dy) or `extent` (the lengths
    along x and y from first to last node), in metres; `origin` is (x_0, y_0).

    The distance is that of `Graph`: exact for shallow contact, softened farther away than half the least
    radius of curvature. Rough data has small radii; smooth the heights to what a foot can feel. On the rim
    outside the grid, where the ground bends to level within two spacings, distances are approximate.
    """

    type_name: ClassVar[str] = "height_field"

    spline: CubicSpline
    """h(x, y) [m]."""
    curvature: Float[Array, ""]
    """Bound on the Hessian of h inside the grid [1/m]."""

    def __init__(self, heights, spacing=None, *, extent=None, origin=(0.0, 0.0)):
        if isinstance(heights, CubicSpline):
            self.spline = heights
        else:
            heights = checks.samples("HeightField heights", heights, 2)
            self.spline = CubicSpline.through(
                heights,
                checks.finite("HeightField origin", origin, (2,)),
                _node_distance(heights.shape, spacing, extent),
            )
        if self.spline.coefficients.ndim != 2:
            raise SurfaceError(f"HeightField spline must have 2 axes, got {self.spline.coefficients.ndim}")
        self.curvature = jnp.asarray(_curvature_bound(self.spline), dtype=float)

    @classmethod
    def load(cls, path, spacing=None, *, extent=None, origin=(0.0, 0.0)) -> "HeightField":
        """Heights [m] from a .npy file, or a .csv of plain numbers: one line for each x, along it y."""
        return cls(_read_heights(Path(path)), spacing, extent=extent, origin=origin)

    def jet(self, xy: Float[Array, "2"]) -> tuple[Float[Array, ""], Float[Array, "2"], Float[Array, "2 2"]]:
        return self.spline.jet(xy)

    def greatest_curvature(self) -> Float[Array, ""]:
        return self.curvature

    def _parameters(self) -> dict[str, Any]:
        return self.spline.recipe()

    @classmethod
    def _build(cls, parameters: dict[str, Any]) -> "HeightField":
        return cls(CubicSpline(**parameters))


def _node_distance(shape: tuple[int, int], spacing, extent) -> Float[Array, "2"]:
    if (spacing is None) == (extent is None):
        raise SurfaceError("HeightField must be given either spacing or extent [m], and not both")
    if spacing is None:
        return checks.positive("HeightField extent", extent, (2,)) / (np.array(shape) - 1.0)
    return checks.positive("HeightField spacing", (spacing, spacing) if np.ndim(spacing) == 0 else spacing, (2,))


def _curvature_bound(spline: CubicSpline) -> float:
    """Bound on |Hessian of h|: a spline's derivatives lie in the hull of its coefficients' differences."""
    c = np.asarray(spline.coefficients, dtype=np.float64)
    dx, dy = np.asarray(spline.spacing, dtype=np.float64)
    along_x = np.abs(np.diff(c, 2, axis=0)).max() / dx**2
    along_y = np.abs(np.diff(c, 2, axis=1)).max() / dy**2
    twist = np.abs(np.diff(np.diff(c, axis=0), axis=1)).max() / (dx * dy)
    return max(along_x, along_y) + twist


def _read_heights(path: Path) -> Float[np.ndarray, "nx ny"]:
    if not path.is_file():
        raise SurfaceError(f"height field file not found: {path}")
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".csv":
            return np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError, EOFError) as error:
        raise SurfaceError(f"height field file {path} cannot be read: {error}") from error
    raise SurfaceError(f"height field file must end in .npy or .csv, got {path.name!r}")
