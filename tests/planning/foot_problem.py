"""Problems that are small enough to be solved, or differentiated by differences, in a test."""

from functools import cache

import numpy as np

from softground.media.named import sand
from softground.planning import BaseAttitude, Boundary, Effort, ForwardSpeed, GaitProblem, Trajectory
from softground.robots import Robot
from softground.simulation import Ground

KNOTS, DT, SPEED = 13, 0.05, 0.1


@cache
def foot_problem() -> GaitProblem:
    """One foot with actuators on x, z and pitch, drawn along through sand or over it."""
    robot = Robot.load("foot")
    return GaitProblem(
        robot,
        Ground(sand()),
        KNOTS,
        DT,
        costs=(ForwardSpeed(SPEED, 10.0), Effort(1e-4), BaseAttitude(0.0, 1.0)),
        initial=Boundary(q={"x": 0.0}),
    )


def level_flight(problem: GaitProblem) -> Trajectory:
    """The foot at its posture's height, moving ahead, without torque: it violates the dynamics."""
    robot = problem.robot
    q = np.tile(np.asarray(robot.posture), (problem.knots, 1))
    q[:, 0] = SPEED * problem.dt * np.arange(problem.knots)
    v = np.zeros((problem.knots, robot.nv))
    v[:, 0] = SPEED
    return Trajectory(q, v, np.zeros((problem.knots - 1, robot.nu)), problem.dt)
