"""What planning refuses before the optimiser starts, and what it says."""

from dataclasses import replace

import numpy as np
import pytest

from softground.errors import MediumError, OptionError
from softground.media import Wedge
from softground.media.named import sand
from softground.planning import Boundary, FootSplines, Limits, Stage, solve
from softground.planning.carrying import check_carried, greatest_force
from softground.planning.dynamics.base import medium_for_planning
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.simulation import Ground
from softground.surfaces import HeightField

from .foot_problem import foot_problem, level_flight


def attempt(problem, guess=None):
    return solve(problem, level_flight(problem) if guess is None else guess, progress=False)


def test_infeasible_start():
    problem = replace(foot_problem(), initial=Boundary(q={"x": 1.0}))
    with pytest.raises(OptionError, match=r"starts outside the problem: x .* is 0, must lie within \[1, 1\]"):
        attempt(problem)


def test_goal_outside_the_terrain():
    field = HeightField(np.zeros((8, 8)), spacing=0.1)
    problem = replace(foot_problem(), ground=Ground(foot_problem().ground.medium, field), final=Boundary(q={"x": 50.0}))
    with pytest.raises(OptionError, match="the goal, x = 50 m, lies outside the terrain"):
        attempt(problem)


def test_medium_without_derivatives():
    problem = replace(foot_problem(), ground=Ground(Wedge()))
    with pytest.raises(MediumError, match="cannot plan on Wedge"):
        attempt(problem)


def test_crossed_bounds():
    with pytest.raises(OptionError, match="bounds of x in the final configuration cross"):
        attempt(replace(foot_problem(), final=Boundary(q={"x": (0.3, 0.2)})))
    position = np.tile([1.0, -1.0], (3, 1))
    with pytest.raises(OptionError, match="limits of x cross: lower 1, upper -1"):
        attempt(replace(foot_problem(), limits=Limits(position=position)))
    with pytest.raises(OptionError, match="must lie within its limits"):
        attempt(replace(foot_problem(), initial=Boundary(v={"x": 20.0})))


def test_unknown_names():
    with pytest.raises(OptionError, match="unknown entry of the initial configuration 'y': must be one of"):
        attempt(replace(foot_problem(), initial=Boundary(q={"y": 0.0})))
    with pytest.raises(OptionError, match="unknown Hessian model"):
        Stage(1.0, "newton")
    with pytest.raises(OptionError, match="unknown component of a foot spline"):
        FootSplines(5, ("yaw",))


def test_bad_guess():
    problem = foot_problem()
    guess = level_flight(problem)
    with pytest.raises(OptionError, match="q of the guess must have 3 columns"):
        attempt(problem, guess._replace(q=guess.q[:, :2]))
    broken = guess.v.copy()
    broken[4] = np.nan
    with pytest.raises(OptionError, match="v of the guess must be finite: the first bad row is 4"):
        attempt(problem, guess._replace(v=broken))


def test_robot_without_a_base():
    with pytest.raises(OptionError, match="has no base to plan for"):
        base_motion(Robot.load("robosimian", lock=["base_z"]))


def test_ground_that_carries_nobody():
    """An upright foot of 5 cm radius, 5 cm deep in sand, is pushed by 200 N (`media.sand`)."""
    problem = foot_problem()
    medium = medium_for_planning(problem.robot, problem.ground)
    assert greatest_force(medium, 0.05, 0.0) == pytest.approx(200.0, rel=0.1)
    check_carried(problem)
    with pytest.raises(OptionError, match=r"infeasible: the balance of the base and the depth of the feet clash"):
        check_carried(replace(problem, ground=Ground(sand(1e-3))))
