"""Derivatives of the least cost by something physical, against solves of changed problems."""

from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import FileFormatError, OptionError
from softground.media.named import REFERENCE_FOOT, sand
from softground.media.similar_feet import SimilarFeet, scaled_foot
from softground.planning import BaseHeight, Damping, Plan, Stage, solve
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.sensitivity import Physics, slope_of_optimum
from softground.robots import Robot
from softground.robots.shapes import Cylinder
from softground.simulation import Ground

from .foot_problem import foot_problem, level_flight

TOLERANCE = 1e-6
STAGES = (
    Stage(
        1.0,
        optimality=TOLERANCE / 100,  # as Uno scales it
        iterations=60,
        barrier=1e-6,
        damping=Damping(q=1e-5, v=1e-4, lifted=1e-4, torque=1e-5),
    ),
)
SIZES = (1.0, 1.01)


def heavier(robot: Robot, size) -> Robot:
    """A foot whose mass grows with its volume, its inertia with that times the square of its length."""
    parts = lambda one: (one.parameters.mass, one.parameters.inertia)  # noqa: E731
    mass, inertia = parts(robot)
    return eqx.tree_at(parts, robot, (mass * size**3, inertia * size**5))


def sized_problem(size: float):
    robot = Robot.load("foot", feet={"sole": Cylinder(size * REFERENCE_FOOT.radius, size * REFERENCE_FOOT.length)})
    costs = (*foot_problem().costs, BaseHeight(-0.02, 10.0))  # else it flies, which costs nothing
    ground = Ground(SimilarFeet(sand(), REFERENCE_FOOT))
    return replace(foot_problem(), knots=5, robot=heavier(robot, size), ground=ground, costs=costs)


def physics(parameters) -> Physics:
    """Parameters: size of the foot, strength of the sand."""
    size, strength = parameters
    reference = sized_problem(1.0)
    space = medium_for_planning(reference.robot, reference.ground)
    stronger = eqx.tree_at(lambda one: one.strength, space, strength * space.strength)
    return Physics(heavier(reference.robot, size), eqx.filter_vmap(scaled_foot, in_axes=(0, None))(stronger, size))


@pytest.fixture(scope="module")
def plans():
    found, guess = [], level_flight(sized_problem(1.0))
    for size in SIZES:
        plan = solve(
            sized_problem(size), guess, stages=STAGES, feasibility=TOLERANCE, optimality=TOLERANCE, progress=False
        )
        assert plan.report.status == "converged"
        found.append(plan)
        guess = plan.trajectory
    return found


def test_slope_by_size_is_that_of_solved_problems(plans, tmp_path):
    """The change of the least cost from one size to the next, against the mean of the slopes at both.

    That rule errs by the third order of the step, 3e-4 here; the slope at one end alone by the second, 8e-3.
    """
    stored = Plan.load(plans[0].save(tmp_path / "gait.nc"))
    slopes = [
        slope_of_optimum(plan, physics, jnp.array([size, 1.0]))[0]
        for plan, size in zip((stored, plans[1]), SIZES, strict=True)
    ]
    change = plans[1].report.objective - plans[0].report.objective
    assert change / (SIZES[1] - SIZES[0]) == pytest.approx(np.mean(slopes), rel=1e-3)


def test_a_plan_without_solution_or_costs_is_refused(plans):
    at = jnp.array([1.0, 1.0])
    with pytest.raises(OptionError, match="holds no solution"):
        slope_of_optimum(replace(plans[0], solution=None), physics, at)
    old = Plan.load(Path(__file__).parents[1] / "data" / "gait_0_1.nc")
    with pytest.raises(FileFormatError, match=r"did not keep what a plan minimises.*give the problem again"):
        slope_of_optimum(old, physics, at)
