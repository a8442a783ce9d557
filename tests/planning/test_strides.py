"""One stride by itself, and repeated."""

from dataclasses import replace

import numpy as np
import pytest

from softground.errors import OptionError
from softground.planning import Trajectory, blurred_stages, solve
from softground.planning.constraints import Cycle
from softground.planning.costs import Periodicity
from softground.planning.moves import neighbours, within_limits
from softground.planning.strides import both_sides, repeated, stride_problem, whole_stride
from softground.planning.transcription import Transcription
from softground.robots import Robot
from softground.simulation import Ground
from softground.surfaces import Plane

from .foot_problem import SPEED, foot_problem, level_flight

KNOTS, TIMES = 7, 3
SLOPE = 0.1  # rad
SUNK = 0.08  # m


@pytest.fixture(scope="module")
def long():
    """A foot that is to be carried along and pays for it, on a slope."""
    problem = foot_problem()
    return replace(problem, knots=TIMES * (KNOTS - 1) + 1, ground=Ground(problem.ground.medium, Plane(slope=SLOPE)))


@pytest.fixture(scope="module")
def stride(long):
    one = stride_problem(long, KNOTS - 1)
    assert one.knots == (KNOTS - 1) // 2 + 1  # a foot is its own mirror image
    start = level_flight(one)
    start.q[:, 1] -= SUNK  # where sand carries it
    half = solve(one, start, stages=blurred_stages(), progress=False)
    whole = replace(one, knots=KNOTS, constraints=(*long.constraints, Cycle()))
    return replace(half, problem=whole, trajectory=whole_stride(one, half.trajectory))


def test_a_stride_ends_as_it_began(stride):
    q, v = stride.trajectory.q, stride.trajectory.v
    assert stride.report.status == "converged"
    assert stride.report.optimality < 1e-4
    assert not any(isinstance(cost, Periodicity) for cost in stride.problem.costs)
    x, z, pitch = q[-1] - q[0]
    assert stride.metrics.deepest > 0.01
    assert x == pytest.approx(SPEED * stride.problem.seconds, rel=0.2)
    assert z == pytest.approx(np.tan(SLOPE) * x, abs=2e-3)  # rows are kept to 1e-3
    assert pitch == pytest.approx(0.0, abs=1e-3)
    np.testing.assert_allclose(v[-1], v[0], atol=1e-3)


def test_repeated_it_obeys_every_step_of_the_long_problem(long, stride):
    gait = repeated(long.robot, stride.trajectory, long.knots)
    transcription = Transcription(long)
    nlp = transcription.nlp(1.0)
    z = transcription.unknowns(gait, 1.0)
    one = Transcription(stride.problem)
    own = one.nlp(1.0)
    alone = own.violation(one.unknowns(stride.trajectory, 1.0))
    assert nlp.violation(z) <= TIMES * max(alone, 1e-3)  # a stride ends where it began to 1e-3, three times over
    assert gait.q[-1, 0] - gait.q[0, 0] == pytest.approx(
        TIMES * (stride.trajectory.q[-1, 0] - stride.trajectory.q[0, 0])
    )


def test_a_part_of_a_stride_may_be_left_over(long, stride):
    gait = repeated(long.robot, stride.trajectory, KNOTS + 2)
    assert [len(part) for part in (gait.q, gait.v, gait.torque)] == [KNOTS + 2, KNOTS + 2, KNOTS + 1]
    np.testing.assert_allclose(gait.torque[KNOTS - 1 :], stride.trajectory.torque[:2])


def test_the_other_half_of_a_stride_has_left_and_right_exchanged():
    robot = Robot.load("robosimian")
    rng = np.random.default_rng(0)
    q = rng.normal(size=(4, robot.nq))
    half = Trajectory(q, rng.normal(size=(4, robot.nv)), rng.normal(size=(3, robot.nu)), 0.05)
    whole = both_sides(robot, half)
    left, right = slice(3, 6), slice(6, 9)  # joints of the limbs in front
    np.testing.assert_array_equal(whole.q[4:, left], q[1:, right])
    np.testing.assert_array_equal(whole.torque[3:, :3], half.torque[:, 3:6])
    np.testing.assert_allclose(whole.q[-1, 0] - q[0, 0], 2 * (q[-1, 0] - q[0, 0]))
    with pytest.raises(OptionError, match="mirror image"):
        both_sides(Robot.load("go1"), half)


def test_neighbours_of_a_stride_are_within_the_joints_limits(stride):
    robot = stride.problem.robot
    for number in range(2):
        for move in neighbours(robot, number):
            near = within_limits(robot, move(robot, stride.trajectory))
            assert near.q.shape == stride.trajectory.q.shape
