"""Feet of one shape in many sizes, against resistive force theory summed over the larger foot itself."""

import jax
import numpy as np
import pytest

from softground.errors import MediumError
from softground.media.base import FootInGround
from softground.media.named import REFERENCE_FOOT, sand
from softground.media.resistive.directions import planar_twists
from softground.media.resistive.medium import tilt_rotation
from softground.media.resistive.wrench import surface_of, wrenches
from softground.media.similar_feet import SimilarFeet, scaled_foot
from softground.robots.shapes import Box, Cylinder

SIZE = 1.3
LARGER = Cylinder(SIZE * REFERENCE_FOOT.radius, SIZE * REFERENCE_FOOT.length)
DEPTHS = np.array([0.01, 0.03, 0.06])
TILTS = np.array([0.0, 0.4, 0.9])


def test_resistive_force_theory_knows_no_length():
    """A foot similar in size, depth and motion (angular velocities divided by size) meets similar wrenches."""
    turned = tilt_rotation(np.sin(TILTS), np.zeros(3), np.cos(TILTS))
    twists = planar_twists()
    slower = twists / np.array([1, 1, 1, SIZE, SIZE, SIZE])
    small = wrenches(surface_of(REFERENCE_FOOT), "plane", turned, DEPTHS, twists)
    large = wrenches(surface_of(LARGER), "plane", turned, SIZE * DEPTHS, slower)
    np.testing.assert_allclose(large, small * SIZE ** np.array([3, 3, 3, 4, 4, 4]), rtol=1e-9, atol=1e-9)


def feet(depth) -> FootInGround:
    """At every tilt and depth."""
    turned = tilt_rotation(np.sin(TILTS), np.zeros(3), np.cos(TILTS))
    return FootInGround(
        np.tile(depth, 3), np.zeros((9, 3)), np.repeat(turned, 3, axis=0), np.broadcast_to(np.eye(3), (9, 3, 3))
    )


def support(space, depth, twists) -> np.ndarray:
    vertices = np.asarray(jax.jit(jax.vmap(space.vertices))(feet(depth)))
    return np.maximum((-vertices @ twists.T).max(axis=1), 0.0)


def test_agrees_with_a_fit_to_the_larger_foot():
    """Two fits, each within 2 % (rms) of resistive force theory, in other directions: at most 4 % apart."""
    scaled = SimilarFeet(sand(), REFERENCE_FOOT).for_foot(LARGER, planar=True)
    fitted = sand().for_foot(LARGER, planar=True)
    twists = np.random.default_rng(0).normal(size=(300, 3)) * np.array([1.0, 1.0, 1 / 0.067])
    one, other = support(scaled, DEPTHS, twists), support(fitted, DEPTHS, twists)
    size = np.sqrt((other**2).mean(axis=1, keepdims=True))
    assert np.sqrt(np.mean(((one - other) / size) ** 2)) < 0.04
    unscaled = support(sand().for_foot(REFERENCE_FOOT, planar=True), DEPTHS, twists)
    assert np.sqrt(np.mean(((unscaled - other) / size) ** 2)) > 0.3


def test_foot_of_size_one_is_the_foot_itself():
    plain = sand().for_foot(REFERENCE_FOOT, planar=True)
    same = SimilarFeet(sand(), REFERENCE_FOOT).for_foot(REFERENCE_FOOT, planar=True)
    where = feet(DEPTHS)
    np.testing.assert_array_equal(jax.vmap(plain.vertices)(where), jax.vmap(same.vertices)(where))


def test_derivative_by_size():
    """Central differences; values up to 1e3 N rounded to 1e-13 of that, over a step of 1e-5."""
    space, where = sand().for_foot(REFERENCE_FOOT, planar=True), jax.tree.map(lambda leaf: leaf[4], feet(DEPTHS))
    vertices = jax.jit(lambda size: scaled_foot(space, size).vertices(where))
    rate = (vertices(SIZE + 1e-5) - vertices(SIZE - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.jacfwd(vertices)(SIZE), rate, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("shape", [Box(0.1, 0.1, 0.1), Cylinder(0.06, 0.15)])
def test_feet_that_are_not_similar_are_refused(shape):
    with pytest.raises(MediumError, match="must be similar to Cylinder"):
        SimilarFeet(sand(), REFERENCE_FOOT).for_foot(shape, planar=True)
