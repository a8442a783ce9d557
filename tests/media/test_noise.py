"""Noisy ground: Gaussian wrenches on feet that touch, from a seed, in a step that stays convex."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.errors import MediumError
from softground.media import Noisy, ViscoElastic
from softground.media.base import COMPONENTS
from softground.robots.shapes import Box

from .media_cases import FEET, random_foot, random_memory


@pytest.mark.parametrize(
    ("ground", "kind"),
    [(media.foam, "planar"), (media.foam, "spatial"), (media.foam, "point"), (media.sand, "planar")],
)
def test_noise_adds_a_wrench_and_nothing_else(ground, kind):
    """Potential, wrench, Hessian and restriction to lines: those of the quiet ground, with a linear term."""
    random, (shape, planar) = np.random.default_rng(0), FEET[kind]
    noisy = Noisy(ground(), sigma=5.0, sigma_torque=0.5, seed=3).for_foot(shape, planar)
    foot = random_foot(random, planar)
    remembered = random_memory(random, noisy.ground, foot)
    size = len(COMPONENTS[noisy.kind])
    twist, direction = 0.1 * random.normal(size=(2, size))

    @eqx.filter_jit
    def both(noisy):
        memory = eqx.tree_at(lambda memory: memory.ground, noisy.initial_memory(foot), remembered)
        law, quiet = noisy.law(foot, memory, 1e-3), noisy.ground.law(foot, remembered, 1e-3)
        answers = lambda law: (  # noqa: E731
            law.potential(twist), law.wrench(twist), law.response(twist),
            law.along(twist, direction).derivatives(np.asarray(0.7)),
        )  # fmt: skip
        return answers(law), answers(quiet), noisy.noise(memory.step), -jax.grad(law.potential)(jnp.asarray(twist))

    loud, quiet, noise, gradient = both(noisy)
    assert (np.abs(noise) > 0).all()
    np.testing.assert_allclose(loud[0], quiet[0] - noise @ twist, rtol=1e-12)
    np.testing.assert_allclose(loud[1], quiet[1] + noise, rtol=1e-12)
    np.testing.assert_allclose(loud[1], gradient, rtol=1e-9)
    np.testing.assert_allclose(loud[2][0], quiet[2][0] + noise, rtol=1e-12)
    np.testing.assert_array_equal(loud[2][1], quiet[2][1])
    value, slope, curvature = quiet[3]
    power = noise @ direction
    difference = (value - loud[3][0]) - (quiet[0] - loud[0] - noise @ twist)
    np.testing.assert_allclose(difference, 0.7 * power, rtol=1e-9, atol=1e-12 * abs(value))
    np.testing.assert_allclose(loud[3][1:], (slope - power, curvature), rtol=1e-12)
    np.testing.assert_array_equal(noisy.reference(foot), noisy.ground.reference(foot))


def draws(noisy: Noisy, count: int) -> np.ndarray:
    return np.asarray(jax.jit(jax.vmap(noisy.noise))(jnp.arange(float(count))))


def test_noise_is_gaussian_white_and_reproducible():
    count = 20_000
    noisy = Noisy(ViscoElastic(), sigma=5.0, sigma_torque=2.0, seed=1).for_foot(Box(0.2, 0.1, 0.05), False)
    found = draws(noisy, count) / np.repeat([5.0, 2.0], 3)
    # Four standard errors of a mean, a standard deviation, a fourth moment (96 / n) and a correlation.
    error = 4 / np.sqrt(count)
    assert np.abs(found.mean(0)).max() < error
    assert np.abs(found.std(0) - 1).max() < error / np.sqrt(2)
    assert np.abs((found**4).mean(0) - 3).max() < error * np.sqrt(96)
    assert np.abs(np.corrcoef(found.T) - np.eye(6)).max() < error
    assert np.abs((found[1:] * found[:-1]).mean(0)).max() < error
    np.testing.assert_allclose(draws(noisy, 100), found[:100] * np.repeat([5.0, 2.0], 3), rtol=1e-15)


def test_feet_and_seeds_draw_different_numbers():
    one, two = Noisy(ViscoElastic(), 5.0, seed=1).under_feet([Box(0.2, 0.1, 0.05)] * 2, False)
    other = Noisy(ViscoElastic(), 5.0, seed=2).for_foot(Box(0.2, 0.1, 0.05), False)
    streams = np.stack([draws(noisy, 500).ravel() for noisy in (one, two, other)])
    assert np.abs(np.corrcoef(streams) - np.eye(3)).max() < 4 / np.sqrt(3000)


def test_one_sigma_is_for_forces_and_torques():
    noisy = Noisy(ViscoElastic(), 5.0).for_foot(Box(0.2, 0.1, 0.05), False)
    np.testing.assert_allclose(draws(noisy, 5000).std(0), 5.0, rtol=0.05)


def test_only_feet_that_touch_are_shaken():
    """Also a tilted foot whose heel alone is in the ground; not one that hovers."""
    noisy = Noisy(ViscoElastic(), 5.0).for_foot(Box(0.2, 0.1, 0.05), False)
    foot = random_foot(np.random.default_rng(0), planar=False)
    tilt = jnp.array([[np.cos(0.1), 0, np.sin(0.1)], [0, 1, 0], [-np.sin(0.1), 0, np.cos(0.1)]])

    @jax.jit
    def extra(depth):
        placed = eqx.tree_at(lambda foot: (foot.depth, foot.rotation), foot, (depth, tilt))
        return noisy.law(placed, noisy.initial_memory(placed), 1e-3).extra

    reach = 0.1 / np.sqrt(3) * np.sin(0.1)  # of the points at the toe, below the centre
    np.testing.assert_array_equal(extra(-reach - 1e-6), 0.0)
    assert (np.abs(extra(-reach + 1e-6)) > 0).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sigma": -1.0}, "sigma of the noise must be >= 0 and finite, got -1"),
        ({"sigma": np.nan}, "sigma"),
        ({"sigma": 1.0, "sigma_torque": -0.1}, "sigma_torque of the noise"),
        ({"sigma": 1.0, "seed": -1}, "seed of the noise"),
    ],
)
def test_bad_noise_is_refused(options, text):
    with pytest.raises(MediumError, match=text):
        Noisy(ViscoElastic(), **options)
