"""The robots under test, and their functions compiled once for the whole session."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import jax
import mujoco
import numpy as np

from softground.robots import Robot

ROBOTS = ("foot", "robosimian", "biped", "walker2d", "ant", "anymal", "go1", "g1", "talos", "icub")
"""One list feeds every generic test."""


@dataclass(frozen=True)
class Compiled:
    """A robot with all its quantities in one compiled function, so that each robot compiles once."""

    robot: Robot
    evaluate: Callable

    def random_state(self, seed: int):
        """A configuration about half a radian from the posture, a velocity and an acceleration."""
        rng = np.random.default_rng(seed)
        q = np.array(self.robot.posture)
        mujoco.mj_integratePos(self.robot.mujoco_model(), q, rng.normal(size=self.robot.nv), 0.5)
        return q, rng.normal(size=self.robot.nv), rng.normal(size=self.robot.nv)


@lru_cache
def compiled(name: str) -> Compiled:
    """The robot of that name, ready to evaluate."""
    robot = Robot.load(name)
    return Compiled(robot, jax.jit(lambda q, v, a: everything(robot, q, v, a)))


def everything(robot: Robot, q, v, a) -> dict:
    """Every quantity of a robot at one state."""
    kin = robot.kinematics(q)
    force = robot.inverse_dynamics(kin, v, a)
    return dict(
        mass_matrix=robot.mass_matrix(kin),
        bias_force=robot.bias_force(kin, v),
        passive_force=robot.passive_force(kin, v),
        inverse_dynamics=force,
        forward_dynamics=robot.forward_dynamics(kin, v, force),
        body_poses=robot.body_poses(kin),
        foot_poses=robot.foot_poses(kin),
        foot_jacobians=robot.foot_jacobians(kin),
        foot_twists=robot.foot_twists(kin, v),
        foot_bias_accelerations=robot.foot_bias_accelerations(kin, v),
        center_of_mass=robot.center_of_mass(kin),
        centroidal_momentum=robot.centroidal_momentum(kin, v),
        centroidal_momentum_rate=robot.centroidal_momentum_rate(kin, v, a),
        kinetic_energy=robot.kinetic_energy(kin, v),
        potential_energy=robot.potential_energy(kin),
        moved=robot.integrate(q, v, 0.3),
        returned=robot.difference(q, robot.integrate(q, v, 0.3)),
    )


def assert_close(actual, expected, relative=1e-9):
    """Equal to `relative` times the largest entry expected (round-off of sums of terms of that size)."""
    expected = np.asarray(expected)
    scale = max(np.abs(expected).max(initial=0.0), 1e-6)
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=relative * scale)
