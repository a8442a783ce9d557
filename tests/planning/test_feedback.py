"""Feedback along a plan: its linear model, its gains, and what it does."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from scipy.stats import binomtest

from softground.errors import OptionError
from softground.planning import solve
from softground.planning.feedback import deviation, linearised, regulator
from softground.planning.replay import _pushed, follower_of, replayed
from softground.planning.survival import survival
from softground.runs.verdict import wilson
from softground.simulation import Simulator

from .foot_problem import foot_problem, level_flight

EPS = 1.0


@pytest.fixture(scope="module")
def plan():
    problem = foot_problem()
    start = level_flight(problem)
    start.q[:, 1] -= 0.03  # in the sand, so that the ground has a say
    return solve(problem, start, progress=False)


def test_the_linear_model_is_that_of_the_simulators_step(plan):
    """With its collocation at the start a plan's step is the simulator's: differences of that, without PD control."""
    problem = replace(plan.problem, collocation=0.0)
    robot, trajectory = problem.robot, plan.trajectory
    simulator = Simulator(robot, problem.ground.smoothed(EPS), problem.dt)
    start = simulator.initial_state(trajectory.q[3], trajectory.v[3])

    @jax.jit
    def after(state, torque):
        now = replace(start, q=state[: robot.nv], v=state[robot.nv :])
        then = simulator.next_state(now, torque)
        return jnp.concatenate([then.q, then.v])

    here, torque = np.concatenate([trajectory.q[3], trajectory.v[3]]), trajectory.torque[3]
    # The row of the step that starts there must hold: its end is where the simulator goes.
    end = np.asarray(after(here, torque))
    two = trajectory._replace(
        q=np.stack([trajectory.q[3], end[: robot.nv]]),
        v=np.stack([trajectory.v[3], end[robot.nv :]]),
        torque=torque[None],
    )
    a, b = linearised(replace(problem, knots=2), two, EPS, np.zeros(robot.nu), np.zeros(robot.nu))
    step = 1e-5
    by_state = [(after(here + d, torque) - after(here - d, torque)) / (2 * step) for d in step * np.eye(len(here))]
    by_torque = [(after(here, torque + d) - after(here, torque - d)) / (2 * step) for d in step * np.eye(len(torque))]
    np.testing.assert_allclose(a[0], np.stack(by_state, axis=1), atol=2e-4)
    np.testing.assert_allclose(b[0], np.stack(by_torque, axis=1), atol=2e-4)


def test_far_from_the_end_the_gains_are_those_of_the_algebraic_riccati_equation():
    rng = np.random.default_rng(0)
    a, b = np.eye(4) + 0.2 * rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    q, r = np.array([1.0, 2.0, 0.5, 1.0]), np.array([0.3, 1.0])
    p = solve_discrete_are(a, b, np.diag(q), np.diag(r))
    expected = np.linalg.solve(np.diag(r) + b.T @ p @ b, b.T @ p @ a)
    gains = regulator(np.tile(a, (80, 1, 1)), np.tile(b, (80, 1, 1)), q, r)
    np.testing.assert_allclose(gains[0], expected, rtol=1e-8)


def test_on_the_plan_feedback_does_nothing_and_off_it_torques_stay_within_limits(plan):
    follower = follower_of(plan)
    simulator = Simulator(plan.problem.robot, plan.problem.ground, 0.002)
    state = simulator.initial_state(plan.trajectory.q[0], plan.trajectory.v[0])
    _, control = follower(None, state)
    np.testing.assert_allclose(control.torque, follower.joints(state).torque, atol=1e-12)
    limited = replace(follower, limit=np.full(3, 3.0))
    _, pushed = limited(None, replace(state, q=state.q + 0.1))
    assert np.abs(pushed.torque).max() == pytest.approx(3.0)


def test_quaternions_differ_by_the_rotation_between_them():
    q = np.zeros(8)
    q[3] = 1.0
    turned = q.copy()
    turned[3:7] = np.cos(0.1), np.sin(0.1), 0.0, 0.0
    away = deviation(q, np.zeros(7), turned, np.zeros(7))
    np.testing.assert_allclose(away, [0, 0, 0, 0.2, 0, 0, 0, *np.zeros(7)], atol=1e-12)


def test_pushed_replays_are_counted_with_and_without_feedback(plan):
    """A foot on its rig cannot fall."""
    held, left = survival(plan, push=0.2, strength=1.1, seeds=range(1))
    assert (held.feedback, left.feedback) == (True, False)
    assert (held.stayed, held.replays) == (1, 1)
    assert held.speed_kept == pytest.approx(1.0, abs=0.3)


def test_a_seed_says_when_and_where_to_a_replay_is_pushed(plan):
    first, kick = _pushed(plan, 0.2, 3)
    assert 0 <= first < plan.trajectory.knots / 3
    assert np.abs(kick).tolist() == [0.2, 0.0, 0.0]
    same, other = _pushed(plan, 0.2, 3), [_pushed(plan, 0.2, seed) for seed in range(8)]
    assert (same[0], same[1].tolist()) == (first, kick.tolist())
    assert len({(knot, float(kick[0])) for knot, kick in other}) > 2
    with pytest.raises(OptionError, match="strength"):
        replayed(plan, follower_of(plan, feedback=False), strength=-1.0)


def test_intervals_are_wilsons():
    for successes in (0, 13, 20):
        low, high = binomtest(successes, 20).proportion_ci(method="wilson")
        assert wilson(successes, 20) == pytest.approx((low, high), abs=1e-6)
