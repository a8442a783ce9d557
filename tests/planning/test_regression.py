"""Strides by regression: smooth functions are found again, and what is left out is predicted as `fit` says."""

import numpy as np
import pytest

from softground.planning import Trajectory
from softground.planning.regression import StrideRegression, _kernel, flat, left_out_error

RNG = np.random.default_rng(0)
FEATURES = RNG.uniform(-2.0, 2.0, (40, 3))


def stride(x: np.ndarray) -> Trajectory:
    """A smooth function of three features, of three knots."""
    wave = np.sin(x @ np.array([0.5, 0.3, -0.2]) + np.arange(6))
    return Trajectory(wave.reshape(3, 2), 2 * wave.reshape(3, 2), wave[:4].reshape(2, 2), 0.05)


def test_a_smooth_family_is_predicted_between_its_members():
    known = StrideRegression.fit(FEATURES, [stride(x) for x in FEATURES])
    for x in RNG.uniform(-1.0, 1.0, (5, 3)):
        found, right = known(x), stride(x)
        assert [part.shape for part in found[:3]] == [(3, 2), (3, 2), (2, 2)]
        np.testing.assert_allclose(flat(found), flat(right), atol=5e-3)  # of 2


def test_left_out_errors_are_those_of_fits_without_an_entry():
    numbers = np.array([flat(stride(x)) for x in FEATURES[:8]])
    numbers -= numbers.mean(axis=0)
    errors = []
    for out in range(8):
        rest = np.arange(8) != out
        kernel = _kernel(FEATURES[:8][rest], FEATURES[:8][rest], 2.0) + 1e-4 * np.eye(7)
        guess = _kernel(FEATURES[out : out + 1], FEATURES[:8][rest], 2.0) @ np.linalg.solve(kernel, numbers[rest])
        errors.append((guess[0] - numbers[out]) / numbers.std(axis=0))
    assert left_out_error(FEATURES[:8], numbers, 2.0, 1e-4) == pytest.approx(np.mean(np.square(errors)), rel=1e-6)
