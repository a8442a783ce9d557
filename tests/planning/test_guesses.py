"""Starts: gaits turned from slope to slope, simulated trots and gallops."""

import numpy as np
import pytest

from softground.contact.feet import feet_along
from softground.errors import OptionError
from softground.media.named import sand
from softground.planning import Manner, drawn_walk, gallop, trot_in_place, turned, walking_problem
from softground.planning.guesses import draped, stance
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.simulation import Ground
from softground.surfaces import Plane


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load("robosimian")


def test_turned_gait_is_as_deep_in_the_new_slope(robot):
    """The whole motion is turned about the origin, which both planes pass through."""
    rng = np.random.default_rng(0)
    q = stance(robot) + rng.uniform(-0.1, 0.1, (6, robot.nq))
    v, torque = rng.normal(size=(6, robot.nv)), np.zeros((5, robot.nu))
    q[:, 0] += np.linspace(0, 1, 6) - q[0, 0]
    angle = np.deg2rad(12.5)
    steeper = turned(robot, Trajectory(q, v, torque, 0.05), angle)
    before = feet_along(robot, Plane(), q)
    # The turned gait is moved along x to start at zero; so is its slope.
    moved = q[0, 1] * np.sin(angle)
    after = feet_along(robot, Plane(slope=angle, point=(moved, 0.0, 0.0)), steeper.q)
    np.testing.assert_allclose(after.depth, before.depth, atol=1e-12)
    np.testing.assert_allclose(after.tilt, before.tilt, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(steeper.v[:, :2], axis=1), np.linalg.norm(v[:, :2], axis=1))
    assert steeper.q[0, 0] == 0.0


def test_a_gait_laid_over_terrain_is_as_deep_on_average(robot):
    rng = np.random.default_rng(1)
    q = stance(robot) + rng.uniform(-0.1, 0.1, (6, robot.nq))
    q[:, 0] = np.linspace(0, 1, 6)
    gait = Trajectory(q, np.zeros((6, robot.nv)), np.zeros((5, robot.nu)), 0.05)
    hill = Plane(slope=0.2)
    problem = walking_problem(robot, Ground(sand(2.0), hill), knots=6, dt=0.05)
    over = draped(problem, gait)
    before, after = (np.asarray(feet_along(robot, *one).depth) for one in ((Plane(), q), (hill, over.q)))
    np.testing.assert_allclose(after.mean(axis=1), before.mean(axis=1), atol=1e-4)
    np.testing.assert_array_equal(over.q[:, 2:], q[:, 2:])
    np.testing.assert_allclose(over.v[1:, 1], np.diff(over.q[:, 1] - q[:, 1]) / 0.05)


def test_gaits_in_space_are_not_turned():
    with pytest.raises(OptionError, match="track"):
        turned(Robot.load("anymal"), Trajectory(np.zeros((2, 19)), np.zeros((2, 18)), np.zeros((1, 12)), 0.05), 0.1)


def test_trot_in_place_and_gallop_are_simulated_at_500_hertz(robot):
    """States are those of the runs, rates lead from one to the next, and a gallop's pairs of feet move together."""
    problem = walking_problem(robot, Ground(sand(2.0)), knots=25, period=0.6)
    trot, leap = trot_in_place(problem, steps=1), gallop(problem, period=1.2, settle=1.2)
    for guess in (trot, leap):
        assert guess.q.shape == (25, robot.nq)
        np.testing.assert_allclose(guess.v[1:], np.diff(guess.q, axis=0) / problem.dt, atol=1e-9)
    depth = np.asarray(feet_along(robot, Plane(), leap.q).depth)
    ahead = np.asarray(feet_along(robot, Plane(), leap.q).position)[0, :, 0] > leap.q[0, 0]
    front, rear = depth[:, ahead], depth[:, ~ahead]
    np.testing.assert_allclose(front[:, 0], front[:, 1], atol=1e-6)
    assert np.corrcoef(front[:, 0], rear[:, 0])[0, 1] < 0  # half a period apart
    assert abs(trot.q[-1, 0]) < 0.15


def test_a_drawn_walk_is_as_fast_and_as_deep_as_asked_for(robot):
    """Feet on the ground stay where they are while the base moves on; rear feet follow those in front by the lag."""
    problem = walking_problem(robot, Ground(sand(2.0)), knots=31)
    walk = drawn_walk(problem, Manner(lag=0.25, duty=0.6), sunk=0.03)
    feet = feet_along(robot, Plane(), walk.q)
    depth, x = np.asarray(feet.depth), np.asarray(feet.position)[..., 0]
    np.testing.assert_allclose(depth.max(axis=1), 0.03, atol=1e-9)
    assert walk.q[-1, 0] - walk.q[0, 0] == pytest.approx(0.4 * problem.seconds)
    stays = np.abs(np.diff(x, axis=0)) < 1e-3
    np.testing.assert_allclose(stays.mean(axis=0), 0.6, atol=0.07)
    lifted = [int(np.argmax(-depth[:30, foot])) for foot in range(4)]
    assert (lifted[0] - lifted[1]) % 30 in (14, 15, 16)
    assert (lifted[0] - lifted[2]) % 30 in (6, 7, 8, 9)
