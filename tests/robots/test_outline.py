"""Polygons: against trimesh (solids made of them), Matplotlib (what lies inside) and the rules of geometry."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path

from softground.errors import RobotError
from softground.robots import Polygon, outline

COMB = [(0, 0), (5, 0), (5, 3), (4, 3), (4, 1), (3, 1), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]


def star(seed: int, count: int) -> np.ndarray:
    """A simple polygon round a point, with vertices at random distances from it."""
    random = np.random.default_rng(seed)
    angles = np.sort(random.choice(360, count, replace=False)) * np.pi / 180
    angles = (
        angles if np.diff(np.r_[angles, angles[0] + 2 * np.pi]).max() < np.pi else np.arange(count) * 2 * np.pi / count
    )
    return random.normal(size=2) + random.uniform(0.3, 1.0, (count, 1)) * np.c_[np.cos(angles), np.sin(angles)]


stars = st.builds(star, st.integers(0, 10**6), st.integers(3, 14))


@settings(max_examples=60, deadline=None)
@given(stars)
def test_moments_are_those_of_a_solid_on_the_polygon(vertices):
    """A prism of unit height and density from z = 0: trimesh integrates over its surface in space."""
    cut = outline.triangles(vertices)
    faces = np.arange(3 * len(cut)).reshape(-1, 3)
    prism = trimesh.creation.extrude_triangulation(cut.reshape(-1, 2), faces, 1.0)
    area, first, second = outline.moments(vertices)
    np.testing.assert_allclose(prism.volume, area, rtol=1e-10)
    np.testing.assert_allclose(prism.center_mass[:2] * area, first, rtol=0, atol=1e-10)
    about_centre = second - np.outer(first, first) / area
    turning = np.diag([1.0, 1.0]) * about_centre.trace() - about_centre + np.eye(2) * area / 12
    np.testing.assert_allclose(prism.moment_inertia[:2, :2], turning, rtol=0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(stars)
def test_triangles_fill_the_polygon(vertices):
    cut = outline.triangles(vertices)
    assert len(cut) == len(vertices) - 2
    sizes = np.linalg.det(cut[:, 1:] - cut[:, :1]) / 2
    assert (sizes > 0).all()
    np.testing.assert_allclose(sizes.sum(), outline.moments(vertices)[0], rtol=1e-12)
    assert Path(vertices).contains_points(cut.mean(1)).all()


@pytest.mark.parametrize("vertices", [COMB, [(0, 0), (2, 0), (4, 0), (4, 2), (4, 4), (2, 4), (0, 4), (0, 2)]])
def test_triangles_of_narrow_and_straight_outlines(vertices):
    """Teeth like a comb's, and vertices in the middle of straight sides."""
    cut = outline.triangles(np.array(vertices, dtype=float))
    sizes = np.linalg.det(cut[:, 1:] - cut[:, :1]) / 2
    assert (sizes > 0).all()
    np.testing.assert_allclose(sizes.sum(), outline.moments(np.array(vertices, dtype=float))[0], rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(stars)
def test_nearest_points_are_in_the_polygon_and_no_others_are_nearer(vertices):
    random = np.random.default_rng(0)
    points = vertices.mean(0) + random.uniform(-1.5, 1.5, (60, 2))
    within = Path(vertices).contains_points(points)
    np.testing.assert_array_equal(outline.inside(vertices, points), within)
    found = outline.nearest(vertices, points)
    np.testing.assert_array_equal(found[within], points[within])
    corners = np.random.default_rng(1).dirichlet([0.5, 0.5, 0.5], 200)
    others = np.einsum("sk,tkd->tsd", corners, outline.triangles(vertices)).reshape(-1, 2)  # all over the polygon
    distance = np.linalg.norm(points - found, axis=1)
    assert (distance <= np.linalg.norm(points[:, None] - others, axis=-1).min(1) + 1e-12).all()
    assert Path(vertices).contains_points(found, radius=1e-9).all()  # in it, or within a hair's breadth


def test_convex():
    assert outline.is_convex(np.array([(0, 0), (1, 0), (2, 0), (2, 1), (0, 1)], dtype=float))
    assert not outline.is_convex(np.array(COMB, dtype=float))


def test_polygon_is_a_value():
    """Hashable and equal whichever way round it is listed, as far as the first vertex agrees."""
    square = Polygon([(0, 0), (1, 0), (1, 2), (0, 2)])
    assert square == Polygon(np.array(square.vertices))
    assert hash(square) == hash(Polygon(list(square.vertices)))
    assert outline.moments(Polygon(square.vertices[::-1]).outline)[0] == 2.0
    assert (square.length, square.width) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("vertices", "text"),
    [
        ([(0, 0), (1, 0)], "at least 3 vertices"),
        ([0, 1, 2], "at least 3 vertices"),
        ([(0, 0), (1, 0), (np.nan, 1)], "must be finite"),
        ([(0, 0), (1, 1), (1, 0), (0, 1)], "edges 0 and 2.*touch or cross"),
        ([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)], "edges 0 and 2"),  # a vertex on another edge
        ([(0, 0), (1, 0), (1, 0), (0, 1)], "edges 0 and 1"),  # a vertex twice
        ([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)], "edges 0 and 3"),  # closed by hand
        ([(0, 0), (2, 0), (1, 0), (1, 1)], "edges 0 and 1"),  # folds back
        ([(0, 0), (1, 1), (2, 2)], "touch or cross"),  # no area
    ],
)
def test_bad_outlines_are_refused(vertices, text):
    with pytest.raises(RobotError, match=text):
        Polygon(vertices)
