"""An infeasible problem: which rows are off, and what holds them."""

from dataclasses import replace

import pytest

from softground.planning import Boundary, Limits, solve

from .foot_problem import foot_problem, level_flight
from .test_solve import STAGES


@pytest.fixture(scope="module")
def plan():
    """A foot that is to be a metre ahead after 0.6 s, from rest, by actuators that are much too weak."""
    start, goal = Boundary(q={"x": 0.0}, v={"x": 0.0}), Boundary(q={"x": 1.0})
    problem = replace(foot_problem(), limits=Limits(torque=0.05), initial=start, final=goal)
    guess = level_flight(problem)
    guess.v[0] = 0.0
    return solve(problem, guess, stages=STAGES[:1], progress=False)


def test_rows_that_clash_are_named_with_the_bounds_that_hold_them(plan):
    assert plan.report.status == "failed"
    first = plan.report.clashes[0]
    assert first.startswith(("balance of x", "motion of x"))
    assert any("torque of x" in line for line in plan.report.clashes)
    assert set(plan.report.clashes) <= set(plan.troubles())


def test_the_greatest_violation_is_the_one_reported(plan):
    said = float(plan.report.clashes[0].split("off by ")[1].split(",")[0])
    assert said == pytest.approx(plan.report.violation, rel=0.05)


def test_they_are_kept_in_the_file(plan, tmp_path):
    again = type(plan).load(plan.save(tmp_path / "failed.nc"))
    assert again.report.clashes == plan.report.clashes
