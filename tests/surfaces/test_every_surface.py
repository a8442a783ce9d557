"""What every surface promises, checked on each one of `grounds.SURFACES`."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.surfaces import SURFACE_TYPES, Surface

from .grounds import SURFACES, points_near, surface

# The mesh is a resampled field: its gradient is of length 1 to the interpolation's accuracy only.
GRADIENT_TOLERANCE = {"mesh": 2e-2}


@pytest.fixture(params=SURFACES, scope="module")
def ground(request):
    return surface(request.param)


@pytest.fixture(scope="module")
def points(ground):
    return jnp.asarray(points_near(ground, 40, 0.04))


def test_every_type_is_listed():
    assert {surface(name).type_name for name in SURFACES} == set(SURFACE_TYPES)


def test_gradient_has_length_one_and_is_the_normal(ground, points, request):
    gradient = jax.jit(jax.vmap(jax.grad(ground.signed_distance)))(points)
    normal = jax.jit(jax.vmap(ground.normal))(points)
    tolerance = GRADIENT_TOLERANCE.get(ground.type_name, 1e-4)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, atol=tolerance)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    length = np.linalg.norm(gradient, axis=1, keepdims=True)
    np.testing.assert_allclose(normal, gradient / length, atol=1e-4)
    assert (np.asarray(normal)[:, 2] > 0.5).all()


def test_frame_is_the_minimal_rotation_to_the_normal(ground, points):
    frames = np.asarray(jax.jit(jax.vmap(ground.frame))(points))
    normals = np.asarray(jax.jit(jax.vmap(ground.normal))(points))
    np.testing.assert_allclose(
        frames @ frames.transpose(0, 2, 1), np.broadcast_to(np.eye(3), frames.shape), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-12)
    np.testing.assert_allclose(frames[:, :, 2], normals, atol=1e-14)
    # The least angle that takes e_z to n is the one between them: trace R = 1 + 2 n_z.
    np.testing.assert_allclose(np.trace(frames, axis1=1, axis2=2), 1.0 + 2.0 * normals[:, 2], atol=1e-12)


def _steps(size):
    return size * jnp.concatenate([jnp.eye(3), -jnp.eye(3)])


def test_derivatives_against_central_differences(ground, points):
    """Gradient and Hessian of d, first and second derivative of the normal, at steps of 1e-5 m."""
    h = 1e-5

    def central(function):
        def slope(p):
            values = jax.vmap(lambda step: function(p + step))(_steps(h))
            return jnp.moveaxis(values[:3] - values[3:], 0, -1) / (2.0 * h)

        return slope

    @jax.jit
    def all_of(points):
        d, n = ground.signed_distance, ground.normal
        exact = (jax.grad(d), jax.hessian(d), jax.jacfwd(n), jax.jacfwd(jax.jacfwd(n)))
        measured = (central(d), central(jax.grad(d)), central(n), central(jax.jacfwd(n)))
        return [(jax.vmap(e)(points), jax.vmap(m)(points)) for e, m in zip(exact, measured, strict=True)]

    few = points[:12]
    for exact, measured in all_of(few):
        # Splines have jumps in the third derivative at cell borders; no point lies within 1e-5 m of one.
        scale = 1.0 + np.abs(exact).max()
        np.testing.assert_allclose(exact, measured, atol=3e-8 * scale)


def test_second_difference_of_the_distance(ground, points):
    """Second order straight from values of d: no derivative of the code enters the oracle."""
    h = 1e-3
    direction = jnp.array([0.48, -0.6, 0.64])

    @jax.jit
    def compare(p):
        d = ground.signed_distance
        measured = (d(p + h * direction) - 2.0 * d(p) + d(p - h * direction)) / h**2
        return direction @ jax.hessian(d)(p) @ direction, measured

    exact, measured = jax.vmap(compare)(points)
    np.testing.assert_allclose(exact, measured, atol=2e-2)


def test_height_lies_on_the_surface(ground):
    xy = np.random.default_rng(3).uniform(-0.3, 0.3, (20, 2))
    z = jax.vmap(ground.height)(xy)
    on_surface = jnp.column_stack([xy, z])
    np.testing.assert_allclose(jax.vmap(ground.signed_distance)(on_surface), 0.0, atol=1e-12)


def test_height_has_the_slope_of_the_normal(ground):
    xy = jnp.array([0.11, -0.07])
    slope = jax.grad(ground.height)(xy)
    normal = ground.normal(jnp.append(xy, ground.height(xy)))
    np.testing.assert_allclose(slope, -normal[:2] / normal[2], atol=1e-9)


def test_sign_far_above_and_below(ground):
    """Well away from the ground the distance is approximate, but never of the wrong sign."""
    xy = np.random.default_rng(4).uniform(-0.25, 0.25, (30, 2))
    top = np.asarray(jax.vmap(ground.height)(xy))
    for gap in (0.2, 1.0, 50.0):
        above = jax.vmap(ground.signed_distance)(np.column_stack([xy, top + gap]))
        assert (above > 0.3 * gap).all()
    below = jax.vmap(ground.signed_distance)(np.column_stack([xy, top - 0.1]))
    assert (below < -0.03).all()


def test_recipe_rebuilds_the_same_surface(ground, points):
    recipe = ground.to_dict()
    arrays = {key: value for key, value in recipe.items() if isinstance(value, np.ndarray)}
    plain = json.loads(json.dumps({key: value for key, value in recipe.items() if key not in arrays}))
    again = Surface.from_dict({**plain, **arrays})
    assert type(again) is type(ground)
    for old, new in zip(jax.tree.leaves(ground), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(old, new)


def test_surface_is_an_argument_of_jitted_functions(ground, points):
    batched = jax.jit(lambda s, p: jax.vmap(s.signed_distance)(p))(ground, points)
    single = jnp.stack([ground.signed_distance(p) for p in points[:3]])
    np.testing.assert_allclose(batched[:3], single, atol=1e-14)


def test_float32_in_float32_out(ground, points):
    single = points.astype(jnp.float32)
    for function in (ground.signed_distance, ground.normal, ground.frame):
        result = jax.vmap(function)(single)
        assert result.dtype == jnp.float32
        np.testing.assert_allclose(result, jax.vmap(function)(points), atol=3e-5)
    assert ground.height(single[0, :2]).dtype == jnp.float32
