"""One stride by itself, and repeated."""

from dataclasses import replace

import numpy as np
import pytest

from softground.planning import blurred_stages, solve
from softground.planning.costs import Periodicity
from softground.planning.strides import repeated, stride_problem
from softground.planning.transcription import Transcription
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
    one = stride_problem(long, (KNOTS - 1) * long.dt)
    start = level_flight(one)
    start.q[:, 1] -= SUNK  # where sand carries it
    return solve(one, start, stages=blurred_stages(), progress=False)


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
