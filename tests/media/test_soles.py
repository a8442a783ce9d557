"""Soles as points: they have the moments of the sole, lie in it, and reach its edge when asked to."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path
from scipy.optimize import least_squares
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from softground import media
from softground.errors import MediumError
from softground.media import ViscoElastic
from softground.media.base import FootInGround
from softground.media.visco_elastic import Patch, patch
from softground.robots.shapes import Box, Cylinder, Polygon, Sphere
from softground.simulation.groups import medium_under_feet

from .sole_cases import ARCHED, CONVEX, SOLES, integral


def moments(sole: Patch) -> tuple:
    return float(sole.area), sole.first_moment, sole.second_moment


def assert_same_moments(sole: Patch, shape):
    area, first, second = moments(sole)
    exact = integral(shape, lambda x, y: np.outer([1.0, x, y], [1.0, x, y]))
    np.testing.assert_allclose(area, exact[0, 0], rtol=1e-12)
    np.testing.assert_allclose(first, [*exact[0, 1:], 0.0], rtol=0, atol=1e-12 * area)
    np.testing.assert_allclose(second[:2, :2], exact[1:, 1:], rtol=0, atol=1e-13 * area)
    np.testing.assert_array_equal(second[2], 0.0)


@pytest.mark.parametrize("to_edge", [False, True], ids=["inner", "to_edge"])
@pytest.mark.parametrize("name", SOLES)
def test_points_have_the_moments_of_the_sole(name, to_edge):
    sole = patch(SOLES[name], to_edge)
    assert (sole.areas > 0).all()
    assert_same_moments(sole, SOLES[name])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 12))
def test_four_points_lie_in_every_convex_outline(seed, count):
    cloud = np.random.default_rng(seed).normal(size=(count, 2)) * [0.1, 0.03]
    shape = Polygon(cloud[ConvexHull(cloud).vertices])
    sole = patch(shape)
    assert len(sole.points) == 4
    assert_same_moments(sole, shape)
    assert Path(shape.outline).contains_points(sole.points[:, :2], radius=1e-9).all()


@pytest.mark.parametrize("name", ["rectangle", "convex", "arched", "letter"])
def test_points_to_the_edge_are_the_corners_and_more(name):
    shape = SOLES[name]
    corners = (
        shape.outline if isinstance(shape, Polygon) else np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * [0.1, 0.05]
    )
    points = patch(shape, to_edge=True).points[:, :2]
    for corner in corners:
        assert (np.abs(points - corner).sum(1) < 1e-15).any()
    assert len(np.unique(points.round(12), axis=0)) == len(points)
    assert (
        Path(np.array(ConvexHull(corners).points[ConvexHull(corners).vertices]))
        .contains_points(points, radius=1e-9)
        .all()
    )


def test_outline_that_is_not_convex_keeps_its_points_inside():
    path = Path(ARCHED.outline)
    points = patch(ARCHED).points[:, :2]
    assert (path.contains_points(points, radius=1e-9) | path.contains_points(points, radius=-1e-9)).all()


def test_more_points_for_the_same_sole():
    sole = patch(CONVEX)
    for count in (3, 4, 6, 11):
        spread = sole.with_points(count)
        assert len(spread.points) == max(count, 4)
        assert (spread.areas > 0).all()
        for one, other in zip(moments(spread), moments(sole), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-20)


# -- the centre of pressure ------------------------------------------------------------------------


def pressure(medium: ViscoElastic, depth, pitch) -> np.ndarray:
    """Force (N) and its moment (N m, positive in front of the centre) on a foot held still in level ground."""
    rotation = Rotation.from_euler("y", pitch).as_matrix()
    foot = FootInGround(jnp.asarray(depth), jnp.zeros(3), jnp.asarray(rotation), jnp.eye(3))
    return np.asarray(PRESSURE(medium, foot))[[2, 4]] * [1, -1]


PRESSURE = eqx.filter_jit(lambda medium, foot: medium.law(foot, medium.initial_memory(foot), 0.0).wrench(jnp.zeros(6)))


@pytest.mark.parametrize("eccentricity", [0.2, 0.5, 0.6, 0.9])
def test_only_points_to_the_edge_carry_an_eccentric_load(eccentricity):
    """A load at a share e of the way from the centre of a sole to its edge, on springs that only push.

    All is pressed up to e = 1/3, and turns by 3 e (in units of load / (stiffness of all) / half the length). From there
    on the sole lifts off: on a continuum it turns by 4/9 / (1 - e)^2, on three rows with 1/6, 4/6 and 1/6 of the area,
    of which two are pressed, by 7.5 e - 1.5; both hold the load up to the edge. Two rows hold it to e = 1/sqrt 3.
    """
    length, load, k = 0.2, 1.0, 8e5
    few, edge = (ViscoElastic(k, to_edge=to).for_foot(Box(length, 0.1, 0.05), planar=False) for to in (False, True))
    sinkage = load / (k * length * 0.1)

    def unbalanced(medium, pose):
        force, moment = pressure(medium, sinkage * pose[0], sinkage / (length / 2) * pose[1])
        return np.array([force / load - 1, moment / (load * length / 2) - eccentricity])

    def settle(medium):
        return least_squares(partial(unbalanced, medium), [1.0, 1.0], diff_step=1e-6)

    held = settle(edge)
    assert np.abs(held.fun).max() < 1e-6
    rows = 3 * eccentricity if eccentricity <= 1 / 3 else 7.5 * eccentricity - 1.5
    assert held.x[1] == pytest.approx(rows, rel=1e-4)
    if 1 / 3 < eccentricity < 0.65:
        assert held.x[1] == pytest.approx(4 / 9 / (1 - eccentricity) ** 2, rel=0.3)
    assert (np.abs(settle(few).fun).max() < 1e-6) == (eccentricity < 1 / np.sqrt(3))


# -- on robots -------------------------------------------------------------------------------------


def test_feet_with_different_outlines_share_a_robot():
    """The medium is stacked over feet, so their soles get as many points; each keeps its own moments."""

    @dataclasses.dataclass
    class Feet:
        name: str
        feet: tuple
        planar: bool = False

    foot = lambda name, shape: type("Foot", (), {"name": name, "shape": shape})  # noqa: E731
    pair = Feet("biped", (foot("left", ARCHED), foot("right", Box(0.2, 0.1, 0.02))))
    stacked = medium_under_feet(ViscoElastic(), pair)
    for number, shape in enumerate((ARCHED, Box(0.2, 0.1, 0.02))):
        assert_same_moments(jax.tree.map(lambda leaf, n=number: np.asarray(leaf[n]), stacked.sole), shape)
    mixed = Feet("biped", (foot("left", ARCHED), foot("right", Sphere(0.03))))
    with pytest.raises(MediumError, match="shapes of one type"):
        medium_under_feet(ViscoElastic(), mixed)


@pytest.mark.parametrize("medium", [media.sand, media.beads])
def test_media_without_polygons_say_so(medium):
    with pytest.raises(MediumError, match="Cylinder"):
        medium().for_foot(CONVEX, planar=True)


def test_disc_of_points_is_round():
    """To the edge: the same second moment about every diameter."""
    sole = patch(Cylinder(0.05, 0.15), to_edge=True)
    np.testing.assert_allclose(sole.second_moment[:2, :2], np.eye(2) * np.pi * 0.05**4 / 4, rtol=1e-12, atol=1e-18)
