"""Wrench spaces: the fit, the onset of contact, and what they refuse."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.errors import MediumError
from softground.media import DepthTilt, WrenchSpace
from softground.media.base import FootInGround
from softground.media.smooth import smooth_ramp
from softground.media.support_line import batch_moments, softmax_moments
from softground.media.wrench_space import SupportFunction


def feet(depth, tilt) -> FootInGround:
    depth, tilt = map(np.atleast_1d, (depth, tilt))
    rotation = Rotation.from_euler("y", tilt[:, None]).as_matrix()
    flat = np.broadcast_to(np.eye(3), rotation.shape)
    return FootInGround(depth.astype(float), np.zeros((len(depth), 3)), rotation, flat)


def grid(deepest=0.06):
    depth, tilt = np.meshgrid(np.linspace(0.005, deepest, 6), np.linspace(-0.6, 0.6, 7))
    return depth.ravel(), tilt.ravel()


def test_fit_returns_the_space_that_made_the_data():
    """Data in the span of the features are fitted exactly."""
    features, random = DepthTilt(powers=2, harmonics=1), np.random.default_rng(0)
    true = WrenchSpace(random.normal(size=(6, 5, 3)) * 100, features)
    samples = feet(*grid())
    wrenches = np.asarray(jax.jit(jax.vmap(true.vertices))(samples))[:, :-1]
    fitted = WrenchSpace.fit(samples, wrenches, features)
    elsewhere = feet([0.012, 0.08], [0.11, -0.33])
    np.testing.assert_allclose(
        jax.vmap(fitted.vertices)(elsewhere), jax.vmap(true.vertices)(elsewhere), rtol=1e-8, atol=1e-8
    )
    assert float(fitted.max_depth) == pytest.approx(0.06)
    assert float(fitted.max_tilt) == pytest.approx(0.6)


def test_space_knows_its_data():
    features = DepthTilt(powers=1, harmonics=1)
    space = WrenchSpace(np.ones((3, 4, 3)), features, max_depth=0.05, max_tilt=0.5)
    flags = jax.jit(jax.vmap(space.outside_data))(feet([0.03, 0.06, 0.03, -0.1], [0.0, 0.0, 0.7, 1.0]))
    assert flags.tolist() == [False, True, True, False]


def test_strength_scales_the_wrenches_and_the_origin_stays():
    features = DepthTilt(powers=1, harmonics=1)
    coefficients = np.random.default_rng(1).normal(size=(3, 4, 3))
    foot = jax.tree.map(lambda x: x[0], feet(0.03, 0.2))
    once = WrenchSpace(coefficients, features).vertices(foot)
    twice = WrenchSpace(coefficients, features, strength=2.0).vertices(foot)
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-14)
    np.testing.assert_array_equal(once[-1], 0.0)


def test_reference_height_shifts_the_torque():
    space = WrenchSpace(np.ones((3, 4, 3)), DepthTilt(powers=1, harmonics=1), reference_height=0.1572)
    foot = jax.tree.map(lambda x: x[0], feet(0.03, 0.2))
    np.testing.assert_allclose(space.reference(foot), 0.1572 * np.array([np.sin(0.2), 0, np.cos(0.2)]), rtol=1e-14)
    assert WrenchSpace(np.ones((3, 4, 3)), DepthTilt(powers=1, harmonics=1)).reference(foot) is None


def test_contact_sets_in_twice_differentiably():
    """The ramp: zero above, straight below, value, slope and curvature without a jump."""
    length = 1e-3
    ramp, slope = (lambda d: smooth_ramp(d, length)), jax.grad(lambda d: smooth_ramp(d, length))
    curvature = jax.grad(slope)
    for corner in (0.0, length):
        for f, size in ((ramp, length), (slope, 1.0), (curvature, 1 / length)):
            jump = float(f(corner + 1e-12)) - float(f(corner - 1e-12))
            assert abs(jump) < 1e-7 * size
    assert float(ramp(-0.1)) == 0.0
    assert float(ramp(0.05)) == pytest.approx(0.05 - length / 2, rel=1e-14)


def test_cold_law_does_not_overflow():
    """Scores of 1e8 at a temperature of 1e-8 W: the softmax is taken relative to its largest."""
    law = SupportFunction(jnp.array([[0.0, 100.0, 0.0], [0.0, 0.0, 0.0]]), jnp.asarray(1e-8))
    wrench, hessian = law.response(jnp.array([0.0, -1.0, 0.0]))
    np.testing.assert_allclose(wrench, [0, 100, 0])
    assert np.isfinite(hessian).all()
    assert float(law.potential(jnp.array([0.0, -1.0, 0.0]))) == pytest.approx(100.0)


@pytest.mark.parametrize("shape", [(3, 4, 26), (130, 1, 5)], ids=str)  # not multiples of block or tile
def test_kernel_of_the_line_search_gives_the_moments(shape):
    """The normaliser, and mean and variance of the rates under softmax weights, against NumPy; some lines saturate."""
    random = np.random.default_rng(0)
    score, rate, t = random.normal(size=shape), 5 * random.normal(size=shape), random.uniform(size=shape[:2])
    score[0] *= 1e4
    weight = score + t[..., None] * rate
    top = weight.max(-1, keepdims=True)
    weight = np.exp(weight - top)
    normaliser = top[..., 0] + np.log(weight.sum(-1))
    weight /= weight.sum(-1, keepdims=True)
    mean = (weight * rate).sum(-1)
    variance = (weight * (rate - mean[..., None]) ** 2).sum(-1)
    kernel = batch_moments(*map(jnp.asarray, (score, rate, t)), interpret=True)
    batched = jax.jit(jax.vmap(jax.vmap(softmax_moments)))(score, rate, t)
    for found in (kernel, batched):
        np.testing.assert_allclose(found[0], normaliser, rtol=1e-12)
        np.testing.assert_allclose(found[1], mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found[2], variance, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"eps": -1e-3}, "eps must be positive and finite, got -0.001"),
        ({"eps": 0.0}, "eps must be positive"),
        ({"eps": np.nan}, "eps"),
        ({"strength": 0.0}, "strength must be positive"),
        ({"kind": "plane"}, "unknown kind of wrench space 'plane': must be one of planar, point, spatial"),
        ({"kind": "spatial"}, r"shape \(features, vertices, 6\), got \(3, 4, 3\)"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(MediumError, match=text):
        WrenchSpace(np.ones((3, 4, 3)), DepthTilt(powers=1, harmonics=1), **options)


def test_bad_data_are_refused():
    features = DepthTilt(powers=1, harmonics=1)
    wrenches = np.ones((2, 4, 3))
    with pytest.raises(MediumError, match=r"depth must be >= 0 .* got -0.03 m: .*change the sign"):
        WrenchSpace.fit(feet([-0.03, 0.01], [0, 0]), wrenches, features)
    with pytest.raises(MediumError, match="NaN"):
        WrenchSpace.fit(feet([np.nan, 0.01], [0, 0]), wrenches, features)
    with pytest.raises(MediumError, match="NaN"):
        WrenchSpace.fit(feet([0.02, 0.01], [0, 0]), np.nan * wrenches, features)
    with pytest.raises(MediumError, match="finite"):
        WrenchSpace(np.full((3, 4, 3), np.inf), features)


def test_numpy_numbers_become_plain_ones():
    """NumPy scalars as static fields would make equinox warn, and features of equal numbers differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = DepthTilt(max_tilt=np.deg2rad(60.0), ramp=np.float64(2e-3))
    assert features == DepthTilt(max_tilt=float(np.deg2rad(60.0)), ramp=2e-3)
    assert type(features.max_tilt) is type(features.ramp) is float
