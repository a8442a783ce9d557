"""What every surface promises, checked on each one of `grounds.SURFACES`."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.surfaces import SURFACE_TYPES, Surface

from .grounds import SURFACES, heights, look, points_near, surface

# The mesh is a resampled field of facets: its gradient has length 1 to the accuracy of both only.
GRADIENT_TOLERANCE = {"mesh": 5e-3}


@pytest.fixture(params=SURFACES, scope="module")
def ground(request):
    return surface(request.param)


@pytest.fixture(scope="module")
def points(ground):
    return jnp.asarray(points_near(ground, 0.04))


def test_gradient_has_length_one_and_is_the_normal(ground, points):
    gradient = eqx.filter_jit(lambda s, p: jax.vmap(jax.grad(s.signed_distance))(p))(ground, points)
    length = np.linalg.norm(gradient, axis=1, keepdims=True)
    _, normal, _ = look(ground, points)
    np.testing.assert_allclose(length, 1.0, atol=GRADIENT_TOLERANCE.get(ground.type_name, 1e-4))
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(normal, gradient / length, atol=1e-4)
    assert (np.asarray(normal)[:, 2] > 0.5).all()


def test_frame_is_the_minimal_rotation_to_the_normal(ground, points):
    _, normals, frames = (np.asarray(part) for part in look(ground, points))
    identity = np.broadcast_to(np.eye(3), frames.shape)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), identity, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-12)
    np.testing.assert_allclose(frames[:, :, 2], normals, atol=1e-14)
    # The least angle that takes e_z to n is the one between them: trace R = 1 + 2 n_z.
    np.testing.assert_allclose(np.trace(frames, axis1=1, axis2=2), 1.0 + 2.0 * normals[:, 2], atol=1e-12)


@eqx.filter_jit
def derivatives_along(ground, points, directions):
    """First and second derivative of distance, normal and frame along one direction for each point."""

    def along(p, direction):
        def path(t):
            q = p + t * direction
            return ground.signed_distance(q), ground.normal(q), ground.frame(q)

        def first(t):
            return jax.jvp(path, (t,), (jnp.ones_like(t),))[1]

        return jax.jvp(first, (jnp.zeros(()),), (jnp.ones(()),))

    return jax.vmap(along)(points, directions)


def test_derivatives_against_central_differences(ground, points):
    """First and second order, straight from values: no derivative of the code enters the oracle.

    A second difference at step h is right to 1e-16 / h^2 = 4e-8 and h^2 / 12 times the fourth derivative.
    The normal of a spline is C1 only, its second derivative jumps at cell borders: no point is that close.
    """
    h = 5e-5
    directions = np.random.default_rng(5).normal(size=points.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    ahead, here, behind = (look(ground, points + step * directions) for step in (h, 0.0, -h))
    first, second = derivatives_along(ground, points, directions)
    for k in range(3):
        scale = 1.0 + np.abs(second[k]).max()
        np.testing.assert_allclose(first[k], (ahead[k] - behind[k]) / (2 * h), atol=1e-6 * scale)
        curved = (ahead[k] - 2 * here[k] + behind[k]) / h**2
        np.testing.assert_allclose(second[k], curved, atol=1e-5 * scale)


def test_height_lies_on_the_surface(ground, points):
    z = heights(ground, points[:, :2])
    distance, _, _ = look(ground, jnp.column_stack([points[:, :2], z]))
    np.testing.assert_allclose(distance, 0.0, atol=1e-12)


def test_height_has_the_slope_of_the_normal(ground, points):
    xy = points[:, :2]
    slope = eqx.filter_jit(lambda s, xy: jax.vmap(jax.grad(s.height))(xy))(ground, xy)
    _, normal, _ = look(ground, jnp.column_stack([xy, heights(ground, xy)]))
    np.testing.assert_allclose(slope, -normal[:, :2] / normal[:, 2:], atol=1e-9)


def test_sign_far_above_and_below(ground, points):
    """Well away from the ground the distance is approximate, but never of the wrong sign."""
    top = jnp.column_stack([points[:, :2], heights(ground, points[:, :2])])
    up = jnp.array([0.0, 0.0, 1.0])
    for gap in (0.2, 1.0, 50.0):
        assert (look(ground, top + gap * up)[0] > 0.3 * gap).all()
    assert (look(ground, top - 0.1 * up)[0] < -0.03).all()


def test_recipe_rebuilds_the_same_surface(ground):
    recipe = ground.to_dict()
    arrays = {key: value for key, value in recipe.items() if isinstance(value, np.ndarray)}
    plain = json.loads(json.dumps({key: value for key, value in recipe.items() if key not in arrays}))
    again = Surface.from_dict({**plain, **arrays})
    assert type(again) is type(ground)
    for old, new in zip(jax.tree.leaves(ground), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(old, new)


def test_one_point_without_jit_is_the_same(ground, points):
    distance, normal, _ = look(ground, points)
    with jax.disable_jit():
        assert float(ground.signed_distance(points[0])) == pytest.approx(float(distance[0]), abs=1e-14)
        np.testing.assert_allclose(ground.normal(points[0]), normal[0], atol=1e-14)


def test_float32_in_float32_out(ground, points):
    for single, double in zip(look(ground, points.astype(jnp.float32)), look(ground, points), strict=True):
        assert single.dtype == jnp.float32
        np.testing.assert_allclose(single, double, atol=3e-5)
    assert jax.eval_shape(ground.height, jax.ShapeDtypeStruct((2,), jnp.float32)).dtype == jnp.float32


def test_every_type_is_listed():
    assert {surface(name).type_name for name in SURFACES} == set(SURFACE_TYPES)
