"""Radial basis functions: one interpolation per direction and component (zhu2019 IV.B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softground.experiments.learning.base import KernelModel, Method, limits, onset
from softground.experiments.learning.grid import Grid, with_mirror_images
from softground.media.learned import Kernels

#: Weights of depth (1/m) and of tilt (1/rad) or of the axis' components, as zhu2019's authors have them.
DEPTH_WEIGHT, LEAN_WEIGHT = 5.0, 1.0
#: Polynomial without which a kernel's interpolation need not have a solution, or only a poor one.
DEGREE = {"thin_plate": 1, "cubic": 1, "multiquadric": 0, "inverse_multiquadric": -1, "gaussian": -1}
#: Kernels that have no length: any scale gives the same interpolation.
WITHOUT_LENGTH = ("thin_plate", "cubic")


@dataclass(frozen=True)
class Radial(Method):
    """Interpolation by kernels about the configurations.

    mirrored: fit to the mirror images as well, so that the medium is symmetric. Without it, and with thin plates,
    this is what zhu2019 did.
    """

    name: ClassVar[str] = "rbf"

    kernel: str = "thin_plate"
    mirrored: bool = True

    @property
    def label(self) -> str:
        return f"rbf {self.kernel.replace('_', ' ')}" + ("" if self.mirrored else " (zhu2019)")

    def fit(self, grid: Grid) -> KernelModel:
        if self.mirrored:
            grid = with_mirror_images(grid)
        inputs = grid.inputs
        weights = np.append(DEPTH_WEIGHT, np.full(inputs.shape[1] - 1, LEAN_WEIGHT))
        if self.kernel not in WITHOUT_LENGTH:
            weights = weights / spacing(inputs * weights)
        kernels = Kernels(inputs, weights, self.kernel, degree=DEGREE[self.kernel], onset=onset(grid), **limits(grid))
        values = grid.wrenches.reshape(len(inputs), -1)
        solution = interpolate(kernels.rows(inputs, np), len(inputs), values)
        return KernelModel(grid, kernels, solution.reshape(-1, *grid.wrenches.shape[1:]))


def spacing(points: np.ndarray) -> float:
    """Typical distance between neighbours among points (c, i) that fill a box."""
    edges = np.ptp(points, axis=0)
    edges = edges[edges > 0]
    return float((edges.prod() / len(points)) ** (1 / len(edges)))


def interpolate(rows: np.ndarray, count: int, values: np.ndarray) -> np.ndarray:
    """Coefficients (b, m) of kernels and polynomial `rows` (count, b) that pass through values (count, m).

    The kernels' coefficients are orthogonal to the polynomial. Least squares of least norm where configurations
    do not fix the polynomial, as when all have one tilt.
    """
    extra = rows.shape[1] - count
    polynomial = rows[:, count:]
    system = np.block([[rows[:, :count], polynomial], [polynomial.T, np.zeros((extra, extra))]])
    right = np.concatenate([values, np.zeros((extra, values.shape[1]))])
    return np.linalg.lstsq(system, right, rcond=1e-13)[0]
