"""Holding a posture with joint PD control whose gains follow from the robot's own inertia."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
from jax.core import eval_context

from softground.robots import Robot
from softground.simulation.simulator import Control

#: Natural frequency (rad/s) and damping ratio of a joint PD controller. At 5 Hz a robot sags by g / w^2 = 1 cm.
FREQUENCY, DAMPING_RATIO = 10 * np.pi, 1.0


def pd_gains(
    robot: Robot, q=None, *, frequency: float = FREQUENCY, damping_ratio: float = DAMPING_RATIO
) -> tuple[np.ndarray, np.ndarray]:
    """Gains kp (N m/rad) and kd (N m s/rad) of every actuator: kp = w^2 I, kd = 2 zeta w I.

    I is the inertia that the joint works against at posture q: that of what hangs on it (the diagonal of
    the mass matrix), and, because a foot on the ground turns the joint round to move the robot instead,
    the foot's share of the total mass at the foot's distance r from the joint's axis: I = M_ii + sum over
    its feet of m r^2 / F. An actuator that lifts the whole robot (the rig that carries a single foot) gets
    none: it would hold it in the air. The PD controller is implicit in time (`Control`), so that no gain is too
    high for the time step.
    """
    q = np.asarray(robot.posture if q is None else q, dtype=float)
    with eval_context():  # gains are numbers also where a caller is being compiled
        mass, jacobians = _mass_and_jacobians(robot, q)
    reach = np.square(np.asarray(jacobians)[:, :3, :]).sum(axis=(0, 1))  # sum over feet of r^2; slides: 1 each
    inertia = np.diag(np.asarray(mass)) + float(robot.total_mass) / len(robot.feet) * reach
    lifts = np.isclose(np.asarray(jacobians), np.array([0, 0, 1, 0, 0, 0])[:, None]).all(axis=(0, 1))
    inertia = np.where(lifts, 0.0, inertia)[list(robot.actuated)]
    return frequency**2 * inertia, 2 * damping_ratio * frequency * inertia


@eqx.filter_jit
def _mass_and_jacobians(robot: Robot, q: np.ndarray):
    kin = robot.kinematics(q)
    return robot.mass_matrix(kin), robot.foot_jacobians(kin)


def hold_posture(robot: Robot, q=None, **options) -> Control:
    """Control that holds the actuators at posture q (by default the robot's); `options` go to `pd_gains`.

    >>> import softground as sg
    >>> sg.hold_posture(sg.Robot.load("robosimian")).position.shape  # rad, of every actuator
    (12,)
    """
    q = np.asarray(robot.posture if q is None else q, dtype=float)
    kp, kd = pd_gains(robot, q, **options)
    gains: dict[str, Any] = {"kp": kp, "kd": kd}
    return Control(position=actuator_positions(robot, q), **gains)


def actuator_positions(robot: Robot, q: np.ndarray) -> Any:
    """Joint positions (rad, m) of the actuators in configuration q."""
    return np.asarray(q)[..., np.array(robot.dof_q, dtype=int)[list(robot.actuated)]]
