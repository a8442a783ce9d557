"""One stride by itself, and repeated."""

from dataclasses import replace

import numpy as np
import pytest

from softground.errors import OptionError
from softground.planning import Boundary, Trajectory, blurred_stages, solve
from softground.planning import steady as steady_module
from softground.planning.constraints import Cycle
from softground.planning.costs import BaseHeight, Periodicity
from softground.planning.moves import neighbours
from softground.planning.size import within_limits
from softground.planning.steady import can_repeat, gait_of, steady_gait, steady_problem
from softground.planning.strides import both_sides, repeated, stride_problem, whole_stride
from softground.planning.transcription import Transcription
from softground.robots import Robot
from softground.simulation import Ground
from softground.surfaces import Plane, Wave

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
def half(long):
    one = stride_problem(long, KNOTS - 1)
    assert one.knots == (KNOTS - 1) // 2 + 1  # a foot is its own mirror image
    start = level_flight(one)
    start.q[:, 1] -= SUNK  # where sand carries it
    return solve(one, start, stages=blurred_stages(), progress=False)


@pytest.fixture(scope="module")
def stride(long, half):
    whole = replace(half.problem, knots=KNOTS, constraints=(*long.constraints, Cycle()))
    return replace(half, problem=whole, trajectory=whole_stride(half.problem, half.trajectory))


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
            q = within_limits(robot, move(robot, stride.trajectory).q)
            assert q.shape == stride.trajectory.q.shape
            joints = q[:, np.array(robot.dof_q)[list(robot.actuated)]]
            low, high = np.asarray(robot.joint_range)[list(robot.actuated)].T
            assert (joints >= low).all()
            assert (joints <= high).all()


# -- steady gaits ------------------------------------------------------------------------------------------------


@pytest.fixture
def gait(long, half, monkeypatch):
    monkeypatch.setattr(steady_module, "STRIDE", KNOTS - 1)
    monkeypatch.setattr(steady_module, "stride_problem", lambda one: stride_problem(one, KNOTS - 1))
    monkeypatch.setattr(steady_module, "best_stride", lambda *_: half)
    return steady_gait(long, 1.0)


def test_it_is_stationary_where_its_stride_is(long, half, gait):
    """With free ends it is not: there the last steps could be cheaper."""
    assert half.report.optimality < 1e-5
    z = Transcription(gait.problem).unknowns(gait.trajectory, 1.0)
    assert not_stationary(gait.problem, z) < 1e-4
    assert not_stationary(long, z) > 1e-2


def not_stationary(problem, z) -> float:
    """Greatest entry of gradient + multipliers . Jacobian of what is free, with the multipliers that make it least."""
    nlp = Transcription(problem).nlp(1.0)
    slopes = np.zeros((nlp.n_rows, nlp.size))
    np.add.at(slopes, (nlp.jacobian_rows, nlp.jacobian_columns), nlp.jacobian(z))
    free, holds = nlp.lower < nlp.upper, nlp.row_lower == nlp.row_upper
    active, slope = slopes[np.ix_(holds, free)].T, nlp.gradient(z)[free]
    multipliers = np.linalg.lstsq(active, -slope, rcond=None)[0]
    return float(np.abs(slope + active @ multipliers).max())


def test_its_cost_is_that_of_its_strides_and_every_state_is_counted_once(long, half, gait):
    nlp = Transcription(gait.problem).nlp(1.0)
    z = Transcription(gait.problem).unknowns(gait.trajectory, 1.0)
    assert gait.report.objective == pytest.approx(nlp.objective(z), rel=1e-6)
    assert gait.report.violation == pytest.approx(nlp.violation(z), abs=1e-12)
    assert gait.report.status == half.report.status == "converged"
    assert gait.trajectory.knots == long.knots


def test_a_stride_that_does_not_end_as_it_began_is_no_gait(long, half):
    q = half.trajectory.q.copy()
    q[-1, 1] += 0.01
    broken = replace(half, trajectory=half.trajectory._replace(q=q))
    assert gait_of(long, broken).report.status == "failed"


def test_what_can_be_whole_strides(long, monkeypatch):
    monkeypatch.setattr(steady_module, "STRIDE", KNOTS - 1)
    assert can_repeat(long)
    wavy = replace(long, ground=Ground(long.ground.medium, Wave(0.05, 2.0)))
    ends = replace(long, final=Boundary(v={"x": 0.0}))
    for other in (replace(long, knots=long.knots - 1), wavy, ends):
        assert not can_repeat(other)


def test_in_a_cycle_the_last_state_is_counted_once(long):
    cycle = steady_problem(long)
    assert any(isinstance(one, Cycle) for one in cycle.constraints)
    assert [one.counted_knots(long.knots) for one in (cycle, long)] == [long.knots - 1, long.knots]
    layout = Transcription(long).layout
    (block,) = BaseHeight(1.0).blocks(cycle, layout)
    assert len(block.columns) == long.knots - 1
