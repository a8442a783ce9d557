"""Foam as a plan sees it, beside the foam of the simulator."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.contact.feet import feet_along, feet_in_ground
from softground.errors import MediumError
from softground.media.named import foam
from softground.planning import Bilevel, Plan, Trajectory, blurred_stages, solve
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.transcription import Transcription
from softground.robots import Robot
from softground.simulation import Ground
from softground.simulation.groups import medium_under_feet
from softground.surfaces import Plane

from .foot_problem import foot_problem, level_flight

SUNK = 0.02  # m


@pytest.fixture(scope="module")
def problem():
    return replace(foot_problem(), ground=Ground(foam()))


def sunk(problem):
    start = level_flight(problem)
    start.q[:, 1] += np.asarray(feet_along(problem.robot, Plane(), start.q).depth)[:, 0] - SUNK
    return start


def feet_sunk(robot):
    """The feet of a robot in its posture, lowered until the deepest is sunk by as much as said."""
    q = jnp.asarray(robot.posture)
    up = 1 if robot.planar else 2
    depth = feet_in_ground(robot, q, Plane()).depth.max()
    return feet_in_ground(robot, q.at[up].add(depth - SUNK), Plane())


@pytest.mark.parametrize("name", ["foot", "go1"])
def test_a_foot_that_comes_down_is_carried_as_in_the_simulator(name):
    """Springs of the same depth, dampers of the same speed: they differ by the rounding of the corner, half a
    millimetre of depth."""
    robot, ground = Robot.load(name), Ground(foam())
    feet = feet_sunk(robot)
    simulated, planned = medium_under_feet(ground.medium, robot), medium_for_planning(robot, ground, 1e-3)
    size = 3 if robot.planar else 6 if simulated.kind == "spatial" else 3
    for speed in (0.0, -0.1, 0.05):
        twist = np.zeros(size)
        twist[1 if robot.planar else 2] = speed

        def forces(medium, foot, twist=twist):
            return medium.law(foot, medium.initial_memory(foot), 1e-3).wrench(twist)

        def planned_forces(medium, foot, twist=twist):
            return medium.law(foot, (), 1e-3).wrench(twist)

        there = jax.jit(jax.vmap(forces))(simulated, feet)
        here = jax.jit(jax.vmap(planned_forces))(planned, feet)
        assert np.abs(there).max() > 1.0  # N
        rounding = 0.6e-3 / SUNK
        np.testing.assert_allclose(here, there, rtol=2 * rounding, atol=rounding * np.abs(there).max())


def test_friction_is_coulombs_and_creeps_where_it_is_blurred():
    robot, ground = Robot.load("foot"), Ground(foam())
    foot = jax.tree.map(lambda leaf: leaf[0], feet_sunk(robot))
    for eps, share in ((1e-6, 1.0), (1.0, None)):
        medium = jax.tree.map(lambda leaf: leaf[0], medium_for_planning(robot, ground, eps))
        along, normal, _ = medium.law(foot, (), 0.05).wrench(jnp.array([0.01, 0.0, 0.0]))
        assert along < 0 < normal
        assert share is None or -along / normal == pytest.approx(0.6, rel=1e-3)
        assert -along / normal <= 0.6 * (1 + 1e-9)


def test_derivatives_of_a_step_on_foam(problem):
    transcription = Transcription(problem)
    z = transcription.unknowns(sunk(problem), 1.0)
    z = z + 1e-3 * np.random.default_rng(0).normal(size=z.shape)
    nlp = transcription.nlp(1.0, "exact")
    direction = np.random.default_rng(1).normal(size=z.shape)
    h = 1e-6
    difference = (nlp.constraints(z + h * direction) - nlp.constraints(z - h * direction)) / (2 * h)
    slope = np.bincount(nlp.jacobian_rows, nlp.jacobian(z) * direction[nlp.jacobian_columns], nlp.n_rows)
    np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-4 * np.abs(difference).max())


def test_a_foot_is_planned_through_foam_and_held_there(problem, tmp_path):
    plan = solve(problem, sunk(problem), stages=blurred_stages(), progress=False)
    assert plan.report.status == "converged"
    assert 0.05 < plan.metrics.speed < 0.1  # asked for 0.1 m/s, and friction costs torque
    assert plan.metrics.deepest > 5e-3
    force = plan.motion["wrench_world"].values[:, 0, :3]
    assert (np.abs(force[:, 0]) <= 0.6 * force[:, 2] + 1e-9).all()
    assert (force[:, 0] < 0).mean() > 0.9  # it is dragged along
    again = Plan.load(plan.save(tmp_path / "foam.nc"))
    assert type(again.problem.ground.medium) is type(problem.ground.medium)
    np.testing.assert_array_equal(again.trajectory.q, plan.trajectory.q)
    assert not again.replay()[0].fell


def test_the_bilevel_form_needs_wrench_sets(problem):
    rest = Trajectory(*sunk(problem))
    with pytest.raises(MediumError, match="plan on foam with the closed form"):
        solve(problem, rest, dynamics=Bilevel, progress=False)
