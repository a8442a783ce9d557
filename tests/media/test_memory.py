"""Ground that remembers: closed forms of its thrust, how it shrinks the wrench space, and what it never does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.errors import MediumError
from softground.media.base import COMPONENTS
from softground.media.memory import Remembering
from softground.robots.shapes import Cylinder

from .media_cases import FEET, FEET_IN_GRAINS, random_foot


@pytest.fixture(scope="module", params=FEET_IN_GRAINS)
def medium(request) -> Remembering:
    return Remembering(media.sand()).for_foot(*FEET[request.param])


def foot_at(depth: float):
    foot = random_foot(np.random.default_rng(0), planar=True)
    return jax.tree.map(jnp.asarray, type(foot)(np.float64(depth), foot.position, np.eye(3), foot.surface))


def down(medium: Remembering, speed: float) -> np.ndarray:
    twist = np.zeros(len(COMPONENTS[medium.kind]))
    twist[np.flatnonzero(COMPONENTS[medium.kind] == 2)] = -speed
    return twist


def test_fresh_ground_is_the_ground_itself(medium):
    foot = foot_at(0.03)
    remembering = jax.jit(lambda foot: medium.law(foot, medium.initial_memory(foot), 0.002))(foot)
    plain = jax.jit(lambda foot: medium.ground.law(foot, (), 0.002))(foot)
    for found, expected in zip(*map(jax.tree.leaves, (remembering, plain)), strict=True):
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("dt", [0.001, 0.01])
def test_thrust_decays_over_way_not_time(medium, dt):
    """Up by the memory's length: from 1 towards -1 by a factor of e, at any speed and time step."""
    foot, length = foot_at(0.03), float(medium.medium.length)
    for speed in (0.01, 0.3):
        thrust, left = jnp.asarray(1.0), length
        for _ in range(round(length / (speed * dt)) or 1):
            thrust = medium.remember(foot, thrust, None, down(medium, -speed), dt)
            left -= speed * dt
        way = length - left
        assert float(thrust) == pytest.approx(-1 + 2 * np.exp(-way / length), abs=1e-9)


def test_a_foot_at_rest_keeps_it_and_a_foot_in_the_air_loses_it(medium):
    still = 0 * down(medium, 1.0)
    assert float(medium.remember(foot_at(0.03), jnp.asarray(-0.4), None, still, 1.0)) == pytest.approx(-0.4, abs=1e-6)
    assert float(medium.remember(foot_at(-0.01), jnp.asarray(-0.4), None, still, 1.0)) == 1.0


def test_shares_grow_with_thrust_and_stay_between_0_and_1(medium):
    thrust = jnp.linspace(-1, 1, 41)
    shares = np.asarray(jax.jit(jax.vmap(medium.shares))(thrust))
    assert (np.diff(shares, axis=0) >= 0).all()
    assert shares.min() >= 0
    np.testing.assert_allclose(shares[-1], 1.0)
    assert shares[0].max() == pytest.approx(float(medium.medium.least))


def test_it_never_adds_energy(medium):
    """Power of the ground on the foot: at most the temperature's share, eps log K, whatever it remembers."""
    random = np.random.default_rng(1)
    size = len(COMPONENTS[medium.kind])
    for _ in range(30):
        foot = jax.tree.map(jnp.asarray, random_foot(random, planar=medium.kind == "planar"))
        law = medium.law(foot, jnp.asarray(random.uniform(-1, 1)), 0.002)
        twist = random.normal(size=size)
        extremes = len(jax.tree.leaves(law)[0])  # vertices, or ellipses of a round foot
        assert float(law.wrench(twist) @ twist) <= float(law.eps) * np.log(extremes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0.0}, "positive"),
        ({"start": 0.5, "end": 0.2}, "start < end"),
        ({"least": 1.5}, "between 0 and 1"),
    ],
)
def test_numbers_without_meaning_are_refused(options, message):
    with pytest.raises(MediumError, match=message):
        Remembering(media.sand(), **options)


def test_only_granular_ground_remembers():
    with pytest.raises(MediumError, match="wrench spaces"):
        Remembering(media.foam()).for_foot(Cylinder(0.05, 0.15), True)
