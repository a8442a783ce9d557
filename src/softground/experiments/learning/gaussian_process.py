"""Gaussian processes (scikit-learn): one per direction and component, with kernel and noise in common."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from softground.experiments.learning.base import KernelModel, Method, limits, onset, spread
from softground.experiments.learning.grid import Grid, with_mirror_images
from softground.media.learned import Kernels


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
