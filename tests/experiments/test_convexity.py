"""The paper's concavity against shapes whose concavity is known."""

import numpy as np
import pytest

from softground.experiments.convexity import concavity, depth_in_hull


def cube() -> np.ndarray:
    return 10.0 * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T


def test_vertices_of_a_convex_body_are_on_its_hull():
    assert concavity(cube()) == pytest.approx(0, abs=1e-12)


def test_a_dent_counts_by_its_depth_relative_to_the_wrench():
    dented = np.vstack([cube(), [[0.0, 0.0, 7.0]]])  # 3 below the upper face, of size 7
    assert concavity(dented) == pytest.approx(3 / 7)


def test_small_wrenches_are_not_judged():
    assert concavity(np.vstack([cube(), [[0.0, 0.0, 0.5]]])) == pytest.approx(0, abs=1e-12)
    assert concavity(0.01 * cube()) == 0.0


@pytest.mark.parametrize("dimension", [1, 2])
def test_flat_sets_are_judged_in_their_own_space(dimension):
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(6, 6)))[0][:dimension]
    corners = np.array([[-1.0], [1.0]]) if dimension == 1 else np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    points = np.vstack([corners, np.full((1, dimension), 0.25)]) @ axes
    np.testing.assert_allclose(depth_in_hull(points), [0.0] * len(corners) + [0.75], atol=1e-12)


def test_one_point_alone_has_no_inside():
    np.testing.assert_array_equal(depth_in_hull(np.ones((3, 3))), 0.0)
