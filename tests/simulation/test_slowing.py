"""Motions that turn by more than a radian in a step, which a step of first order cannot follow."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.robots import Robot
from softground.simulation import Simulator, slowing
from softground.simulation.slowing import MOST_TURN, slowed

DT = 0.002


@pytest.fixture(scope="module")
def walker():
    return Simulator(Robot.load("walker2d"), media.sand(), DT)


def test_dofs_that_turn():
    """Angles of a free base and of hinges, not the ways of slides."""
    assert Robot.load("anymal").tree.dof_turns == (False,) * 3 + (True,) * 15
    assert Robot.load("walker2d").tree.dof_turns[:4] == (False, False, True, True)


def test_slower_motions_are_not_changed(walker):
    v = np.random.default_rng(0).normal(size=walker.robot.nv)
    v[-1] = -0.999 * MOST_TURN / DT
    same, too_fast = slowed(walker.robot, jnp.asarray(v), DT)
    np.testing.assert_array_equal(same, v)
    assert not too_fast


def test_faster_ones_keep_their_direction(walker):
    v = np.random.default_rng(0).normal(size=walker.robot.nv)
    v[0], v[-1] = 1e4, 2.5 * MOST_TURN / DT  # a slide may be as fast as it likes
    slower, too_fast = slowed(walker.robot, jnp.asarray(v), DT)
    np.testing.assert_allclose(slower, v / 2.5, rtol=1e-14)
    assert too_fast
    assert np.isnan(slowed(walker.robot, jnp.asarray(v).at[2].set(jnp.nan), DT)[0]).any()


@pytest.mark.parametrize("slowing_down", [True, False])
def test_limp_robots_that_spin(walker, slowing_down, monkeypatch):
    """High above the ground, joints at up to 300, 480 and 5000 rad/s: all stay finite, and none ends with more energy
    than it had; without slowing down the faster ones do not."""
    if not slowing_down:
        monkeypatch.setattr(slowing, "MOST_TURN", np.inf)
    start, robot = walker.initial_state(height=1e3), walker.robot
    shape = np.r_[0.0, 0.0, 0.3, np.cos(np.arange(robot.nv - 3))]

    def spun(speed):
        return walker.rollout(eqx.tree_at(lambda s: s.v, start, speed * shape), None, 200)[1]

    records = jax.jit(jax.vmap(spun))(jnp.array([300.0, 480.0, 5000.0]))
    energy = jax.jit(jax.vmap(jax.vmap(robot.kinetic_energy)))(records.q, records.v)
    assert records.finite.all() == slowing_down
    assert (energy[:, -1] < energy[:, 0]).all() == slowing_down
    assert not records.converged.all(axis=1)[1:].any()  # which steps were changed is on record
    if slowing_down:
        assert records.converged.mean() > 0.98
        assert DT * jnp.abs(records.v[:, 1:, 2:]).max() <= MOST_TURN * (1 + 1e-12)
