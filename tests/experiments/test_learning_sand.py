"""Learning the measured sand of zhu2019: the errors that were asked for."""

import numpy as np
import pytest

from softground.experiments.database_file import from_zhu2019
from softground.experiments.learning import (
    GaussianProcess,
    Physics,
    Radial,
    SupportVectors,
    cross_validated,
    grid_of,
    learning_curve,
    leave_one_out,
    noise_estimate,
)
from softground.experiments.learning.report import PUBLISHED


@pytest.fixture(scope="module")
def sand(shared_data):
    return grid_of(from_zhu2019(shared_data))


def test_thin_plates_with_the_authors_weights_have_the_known_error(sand):
    assert cross_validated(PUBLISHED, sand, leave_one_out(sand)) == pytest.approx(0.27, abs=0.005)


def test_physics_predicts_a_left_out_configuration(sand):
    """0.22 was asked for; no model can do better than the noise of the data it is compared with."""
    noise = noise_estimate(sand)
    assert noise["mirrored_difference"] == pytest.approx(0.36, abs=0.005)
    error = cross_validated(Physics(), sand, leave_one_out(sand))
    assert noise["floor"] < error <= 0.22


def test_physics_learns_from_fewer_configurations(sand):
    """Below the others at every share, and with half of the data better than thin plates with all."""
    shares = (0.3, 0.5, 1.0)
    curves = learning_curve([PUBLISHED, Radial(), GaussianProcess(), SupportVectors(), Physics()], sand, shares, 4)
    physics = np.array([curves["physics"][share] for share in shares])
    for label in set(curves) - {"physics"}:
        assert (physics < [curves[label][share] for share in shares]).all(), label
    assert curves["physics"][0.5] < min(curves[PUBLISHED.label][1.0], curves["rbf thin plate"][1.0])
