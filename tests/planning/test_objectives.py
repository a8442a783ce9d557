"""The work of the actuators as a cost."""

import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import OptionError
from softground.planning import Effort, Trajectory, gait_metrics, standard_stages
from softground.planning.costs import ActuatorWork
from softground.planning.layout import Layout, Unknowns
from softground.planning.planner import objective_named, stages_for

from .foot_problem import foot_problem


@pytest.fixture(scope="module")
def motion():
    """Random joint rates and torques; what they have to do with each other does not matter here."""
    problem, rng = foot_problem(), np.random.default_rng(5)
    knots, robot = problem.knots, problem.robot
    q = np.cumsum(rng.normal(size=(knots, robot.nq)), axis=0)
    return Trajectory(q, rng.normal(size=(knots, robot.nv)), 30 * rng.normal(size=(knots - 1, robot.nu)), problem.dt)


def cost_of(term: ActuatorWork, motion: Trajectory) -> float:
    problem = foot_problem()
    layout = Layout.of(problem.robot, problem.knots, lifted=2)
    z = layout.put_together(Unknowns(motion.q, motion.v, np.zeros((len(motion.torque), 2)), motion.torque, np.zeros(0)))
    return sum(float(jnp.sum(block.all_rows(jnp.asarray(z), 1.0) ** 2)) for block in term.blocks(problem, layout))


def test_is_the_work_that_the_metrics_measure(motion):
    """Rounding the corner takes off at most the threshold at each actuator and step: sqrt(P^2 + d^2) - d >= |P| - d."""
    problem, metrics = foot_problem(), gait_metrics(foot_problem(), motion)
    weight_of_robot = float(problem.robot.total_mass) * 9.81
    power = metrics.paper_cost * abs(metrics.distance) * weight_of_robot
    assert cost_of(ActuatorWork(1.0, 1e-6), motion) == pytest.approx(power, rel=1e-6)
    rounded = cost_of(ActuatorWork(1.0, 5.0), motion)
    assert power - 5.0 * motion.torque.size < rounded < power
    assert cost_of(ActuatorWork(0.25, 5.0), motion) == pytest.approx(0.25 * rounded)


def test_an_actuator_at_rest_costs_nothing(motion):
    assert cost_of(ActuatorWork(), motion._replace(v=np.zeros_like(motion.v))) == 0.0


def test_takes_the_place_of_effort():
    problem = foot_problem()
    least_work = objective_named("work")(problem)
    efforts = [[cost.weight for cost in one.costs if isinstance(cost, Effort)] for one in (problem, least_work)]
    assert efforts[1] == pytest.approx([0.1 * efforts[0][0]])
    assert any(isinstance(cost, ActuatorWork) for cost in least_work.costs)
    assert objective_named("effort")(problem) is problem
    assert stages_for(problem, standard_stages()) == standard_stages()
    assert all(stage.damping.torque == 0.3 for stage in stages_for(least_work, standard_stages()))


def test_unknown_objective_is_refused():
    with pytest.raises(OptionError, match="unknown objective 'speed'"):
        objective_named("speed")
