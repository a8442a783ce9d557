"""The motion of a plan: what robot and ground do in each of its steps, in the terms of a run."""

from __future__ import annotations

import jax
import numpy as np

from softground.contact.feet import contact_jacobian, feet_in_ground, wrench_in_world
from softground.planning.problem import GaitProblem
from softground.planning.smoothing import smoothed
from softground.planning.trajectory import Trajectory
from softground.runs import RobotMotion
from softground.runs.dataset import motion_dataset, with_recipes
from softground.runs.recipe import simulator_recipe
from softground.simulation.simulator import Simulator


def planned_motion(problem: GaitProblem, trajectory: Trajectory, eps: float, title: str = "") -> RobotMotion:
    """The motion of a trajectory on the problem's ground at temperature eps (W): one sample per step."""
    simulator = Simulator(problem.robot, smoothed(problem.ground, eps), problem.dt)
    time = np.arange(len(trajectory.torque)) * trajectory.dt
    values = _values(simulator, trajectory, problem.met_at * problem.dt)
    arrays: dict[str, np.ndarray] = {}
    recipe = {"simulator": simulator_recipe(simulator, arrays)}
    return RobotMotion(with_recipes(motion_dataset(simulator, time, values, title), recipe, arrays))


def _values(simulator: Simulator, trajectory: Trajectory, until_met: float) -> dict[str, np.ndarray]:
    """What happens in every step of a trajectory: the wrenches follow from the feet's next twists, and from their
    poses `until_met` (s) after the step began."""
    robot, surface, medium = simulator.robot, simulator.ground.surface, simulator.feet_medium

    def one(q, v_next):
        feet = feet_in_ground(robot, robot.kinematics(q), surface)
        outside = jax.vmap(lambda medium, foot: medium.outside_data(foot))(medium, feet)
        kin = robot.kinematics(robot.integrate(q, v_next, until_met))
        met = feet_in_ground(robot, kin, surface)
        twists = contact_jacobian(met, robot.foot_jacobians(kin), medium) @ v_next
        wrenches = jax.vmap(lambda medium, foot, u: medium.law(foot, (), simulator.dt).wrench(u))(medium, met, twists)
        return {
            "wrench_world": wrench_in_world(met, wrenches, medium),
            "depth": feet.depth,
            "tilt": feet.tilt,
            "twist": twists,
            "outside_data": outside,
        }

    found = jax.jit(jax.vmap(one))(trajectory.q[:-1], trajectory.v[1:])
    return {
        "configuration": trajectory.q[:-1],
        "velocity": trajectory.v[:-1],
        "torque": trajectory.torque,
        **jax.tree.map(np.asarray, found),
    }
