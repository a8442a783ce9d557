"""What actuators and joints do in one step: torques, PD control, limits, dry friction."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.joints import LIMIT_STIFFNESS, JointLaw
from softground.errors import OptionError
from softground.robots import Robot


class Control(eqx.Module):
    """What the actuators do in one step: a torque, PD control of the position, or both. Arrays have one entry per
    actuator.

    The PD torque is kp (position - q) + kd (velocity - v) + torque, at the *end* of the step (implicit, so
    any gain is stable), clipped to the actuator's limit.

    >>> import softground as sg
    >>> pull = sg.Control(torque=[5.0, 0.0, 0.0])  # N, N, N m: the actuators of "foot" are x, z and pitch
    >>> simulator = sg.Simulator(sg.Robot.load("foot"), sg.sand())
    >>> float(simulator.run(pull, seconds=0.01)["torque"][0, 0])
    5.0
    """

    torque: Float[Array, " nu"] | Sequence[float] | float = 0.0  # N m
    position: Float[Array, " nu"] | Sequence[float] | None = None  # rad; None: no PD control
    velocity: Float[Array, " nu"] | Sequence[float] | float = 0.0  # rad/s
    kp: Float[Array, " nu"] | Sequence[float] | float = 0.0  # N m/rad
    kd: Float[Array, " nu"] | Sequence[float] | float = 0.0  # N m s/rad

    def __check_init__(self):
        gains_given = any(not isinstance(gain, float) or gain for gain in (self.kp, self.kd))
        if self.position is None and gains_given:
            raise OptionError("PD control needs Control(position=...) beside its gains kp and kd")


def open_loop_force(robot: Robot, control: Control, dtype) -> Float[Array, " nv"]:
    """Generalised force of actuators that follow a torque; zero where they are under PD control."""
    if control.position is not None or not robot.nu:
        return jnp.zeros(robot.nv, dtype)
    return _per_dof(robot, _clipped(robot, _per_actuator(robot, control.torque, dtype)))


def actuator_torque(robot: Robot, q, velocity, control: Control, dt) -> Float[Array, " nu"]:
    """Torque of the actuators in a step that ends with the given velocity, N m."""
    if control.position is None or not robot.nu:
        return _clipped(robot, _per_actuator(robot, control.torque, q.dtype))
    offset, slope = _pd(robot, q, control, dt)
    return _clipped(robot, offset - slope * velocity[np.array(robot.actuated)])


def joint_law(robot: Robot, q, control: Control, inertia: Float[Array, " nv"], dt) -> JointLaw:
    """Limits, PD control and dry friction of all joints, as one law of the next velocity."""
    zeros = jnp.zeros_like(inertia)
    scalar = np.array(robot.dof_q) >= 0  # slides and hinges; the others have no limits
    limited = np.isin(np.arange(robot.nv), robot.limited)
    position = q[np.where(scalar, robot.dof_q, 0)]
    low, high = robot.joint_range[:, 0], robot.joint_range[:, 1]
    offset, slope, bound = zeros, zeros, zeros
    if control.position is not None:
        offset, slope = (_per_dof(robot, x) for x in _pd(robot, q, control, dt))
        bound = _per_dof(robot, robot.torque_limit)
    return JointLaw(
        below=jnp.where(limited, low - position, -1.0),
        above=jnp.where(limited, position - high, -1.0),
        spring=jnp.where(limited, LIMIT_STIFFNESS * inertia / dt**2, 0.0),
        pd_offset=offset,
        pd_slope=slope,
        pd_bound=bound,
        friction_bound=robot.friction_loss,
        friction_slope=LIMIT_STIFFNESS * inertia / dt,
        dt=dt,
    )


def _pd(robot: Robot, q, control: Control, dt):
    """Offset and slope of the actuators' torque as a function of the next joint velocity."""
    coordinate = np.array(robot.dof_q)[np.array(robot.actuated)]
    kp, kd, position, velocity, torque = (
        _per_actuator(robot, x, q.dtype)
        for x in (control.kp, control.kd, control.position, control.velocity, control.torque)
    )
    return kp * (position - q[coordinate]) + kd * velocity + torque, kd + dt * kp


def _clipped(robot: Robot, torque):
    return jnp.clip(torque, -robot.torque_limit, robot.torque_limit)


def _per_actuator(robot: Robot, value, dtype) -> Float[Array, " nu"]:
    return jnp.broadcast_to(jnp.asarray(value, dtype), (robot.nu,))


def _per_dof(robot: Robot, values: Float[Array, " nu"]) -> Float[Array, " nv"]:
    """Values of the actuators at their dofs, zero elsewhere."""
    actuators = np.array(robot.actuated)
    first, last = int(actuators[0]), int(actuators[-1])
    if np.array_equal(actuators, np.arange(first, last + 1)):  # the usual case, and cheaper than a scatter
        return jnp.pad(values, (first, robot.nv - 1 - last))
    return jnp.zeros(robot.nv, values.dtype).at[actuators].set(values)
