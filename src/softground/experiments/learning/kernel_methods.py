"""Regression by kernels over poses: radial basis functions, Gaussian processes and support vectors (scikit-learn).

Each direction and component of the wrench is a function of its own of the pose.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softground.experiments.learning.base import KernelModel, Method, limits, onset, spread
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


class GaussianProcess(Method):
    """Squared-exponential kernel with a length for depth and one for lean, and noise.

    Hyperparameters maximise the likelihood of all directions and components together: a few configurations say
    too little to fix those of each apart.
    """

    name: ClassVar[str] = "gp"

    def fit(self, grid: Grid) -> KernelModel:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        grid = with_mirror_images(grid)
        size = spread(grid)
        scales = np.append(grid.foot.half_width, np.ones(grid.lean.shape[1]))
        inputs = grid.inputs / scales
        # In space the two components of the lean are alike, but scikit-learn gives each its own length.
        lengths: Any = np.ones(len(scales))
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(lengths, (0.1, 10)) + WhiteKernel(0.1, (1e-3, 1))
        regressor: Any = GaussianProcessRegressor(kernel, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound is an answer too
            regressor.fit(inputs, (grid.wrenches / size).reshape(len(inputs), -1))
        signal = regressor.kernel_.k1
        weights = 1 / (np.sqrt(2) * signal.k2.length_scale * scales)
        kernels = Kernels(grid.inputs, weights, "gaussian", degree=-1, onset=onset(grid), **limits(grid))
        dual = np.asarray(regressor.alpha_).reshape(grid.wrenches.shape)
        return KernelModel(grid, kernels, signal.k1.constant_value * dual * size)


#: The inputs are scaled beforehand. (Its type as scikit-learn's stubs have it.)
ONE: Any = 1.0


@dataclass(frozen=True)
class SupportVectors(Method):
    """Gaussian kernel; a prediction off by less than `tolerance` costs nothing."""

    name: ClassVar[str] = "svr"

    penalty: float = 10.0  # C of scikit-learn: weight on being off, against smoothness
    tolerance: float = 0.1  # share of the size of a direction's component
    depth_length: float = 1.0  # relative to half the width of the sole
    lean_length: float = 0.6  # rad

    def fit(self, grid: Grid) -> KernelModel:
        from sklearn.svm import SVR

        grid = with_mirror_images(grid)
        size = spread(grid).reshape(-1)
        lengths = np.append(self.depth_length * grid.foot.half_width, np.full(grid.lean.shape[1], self.lean_length))
        weights = 1 / (np.sqrt(2) * lengths)
        inputs = grid.inputs * weights
        values = grid.wrenches.reshape(len(inputs), -1) / size
        coefficients = np.zeros((len(inputs) + 1, values.shape[1]))
        for column in range(values.shape[1]):
            machine = SVR(kernel="rbf", gamma=ONE, C=self.penalty, epsilon=self.tolerance, tol=1e-6)
            machine.fit(inputs, values[:, column])
            coefficients[machine.support_, column] = machine.dual_coef_[0]
            coefficients[-1, column] = machine.intercept_[0]
        kernels = Kernels(grid.inputs, weights, "gaussian", degree=0, onset=onset(grid), **limits(grid))
        return KernelModel(grid, kernels, (coefficients * size).reshape(-1, *grid.wrenches.shape[1:]))
