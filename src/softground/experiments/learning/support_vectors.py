"""Support-vector regression (scikit-learn): one per direction and component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softground.experiments.learning.base import KernelModel, Method, limits, onset, spread
from softground.experiments.learning.grid import Grid, with_mirror_images
from softground.media.learned import Kernels

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
