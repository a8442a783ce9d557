"""What tasks and constraints see of the robot, evaluated once a tick; and the unknowns that their rows are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.robots import Robot
from softground.robots.dynamics import Kinematics
from softground.robots.frames import Frames
from softground.robots.rotations import cross, skew

WrenchUnknown = Literal["value", "rate"]
"""Ground that answers at once leaves the wrench to the controller; ground that yields only its rate of change."""


@dataclass(frozen=True)
class Unknowns:
    """x = (acceleration of every dof, wrench or wrench rate of every foot).

    Wrenches are (force, torque) on the foot about its origin, world axes: dual to the twists of `Frames`.
    """

    dofs: int
    feet: int
    wrench: WrenchUnknown

    @property
    def size(self) -> int:
        return self.dofs + 6 * self.feet

    def matrix(
        self,
        acceleration: Float[Array, "m nv"] | None = None,
        wrenches: Float[Array, "m F 6"] | None = None,
    ) -> Float[Array, "m n"]:
        """Rows of the QP from their parts; None stands for zeros."""
        given = acceleration if acceleration is not None else wrenches
        assert given is not None, "a row without entries says nothing"
        count = len(given)
        parts = [
            jnp.zeros((count, self.dofs)) if acceleration is None else acceleration,
            jnp.zeros((count, 6 * self.feet)) if wrenches is None else wrenches.reshape(count, -1),
        ]
        return jnp.concatenate(parts, axis=1)

    def wrenches_after(self, time: float, measured: Float[Array, "F 6"]) -> tuple[Float[Array, "F 6"], float]:
        """Wrenches `time` seconds from now, as offset + slope * (their unknowns)."""
        if self.wrench == "value":
            return jnp.zeros_like(measured), 1.0
        return measured, time


class Snapshot(eqx.Module):
    """The robot at one instant. World axes, SI; `unknowns` says what the columns of every row mean."""

    unknowns: Unknowns = eqx.field(static=True)
    robot: Robot
    period: float = eqx.field(static=True)
    """Period of the controller (s)."""
    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    mass: Float[Array, "nv nv"]
    """M, and the period times joint damping: dampers meet the velocity that the acceleration will have made."""
    bias: Float[Array, " nv"]
    """h in M a + h = actuators + ground: Coriolis, gravity, joint springs and dampers."""
    com: Float[Array, "3"]
    com_velocity: Float[Array, "3"]
    momentum: Float[Array, "6"]
    """Centroidal: linear, then angular about the centre of mass (kg m/s, kg m2/s)."""
    momentum_rate: Float[Array, "6"]
    """Rate of the momentum, from the measured wrenches and gravity (romualdi2021, eq. 3)."""
    momentum_matrix: Float[Array, "6 nv"]
    locked_inertia: Float[Array, "3 3"]
    """About the centre of mass, all joints locked (kg m2): angular momentum per angular velocity of the whole."""
    momentum_bias: Float[Array, "6"]
    """dA/dt v: the rate of momentum is A a + this."""
    frames: Frames
    """The feet, in the robot's order, then the frames that tasks ask for."""
    wrenches: Float[Array, "F 6"]
    """Measured, on each foot about its origin."""
    in_contact: Bool[Array, " F"]

    @property
    def feet(self) -> Frames:
        """The feet alone (leading axis)."""
        count, frames = self.unknowns.feet, self.frames
        parts = (frames.position, frames.rotation, frames.jacobian, frames.twist, frames.bias_acceleration)
        return Frames(frames.names[:count], *(part[:count] for part in parts))

    @property
    def total_mass(self):
        return jnp.sum(jnp.asarray(self.robot.parameters.mass))

    @property
    def wrench_transport(self) -> Float[Array, "6 F 6"]:
        """Wrenches of the feet to their sum about the centre of mass: [[1, 0], [S(p_k - p_C), 1]] of eq. 3."""
        arms = skew(self.feet.position - self.com)
        eye, zero = jnp.broadcast_to(jnp.eye(3), arms.shape), jnp.zeros_like(arms)
        return jnp.swapaxes(jnp.block([[eye, zero], [arms, eye]]), 0, 1)

    def foot_index(self, name: str) -> int | None:
        """Place among the feet of a frame, None if it is not a foot."""
        feet = self.frames.names[: self.unknowns.feet]
        return feet.index(name) if name in feet else None


def snapshot(
    robot: Robot,
    unknowns: Unknowns,
    frames: Sequence[str],
    period: float,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    wrenches: Float[Array, "F 6"],
    in_contact: Bool[Array, " F"],
) -> Snapshot:
    """Evaluate the robot once. `frames` are the feet followed by whatever else tasks speak of."""
    kin = robot.kinematics(q)
    moving = robot.frames(kin, v, frames)
    com = robot.center_of_mass(kin)
    momentum = robot.centroidal_momentum(kin, v)
    mass = jnp.sum(jnp.asarray(robot.parameters.mass))
    force, torque = wrenches[:, :3], wrenches[:, 3:]
    arms = moving.position[: len(robot.feet)] - com
    rate = jnp.concatenate([mass * jnp.asarray(robot.gravity) + force.sum(0), (torque + cross(arms, force)).sum(0)])
    return Snapshot(
        unknowns=unknowns,
        robot=robot,
        period=period,
        q=q,
        v=v,
        mass=robot.mass_matrix(kin) + period * jnp.diag(jnp.asarray(robot.damping)),
        bias=robot.bias_force(kin, v) - robot.passive_force(kin, v),
        com=com,
        com_velocity=momentum[:3] / mass,
        momentum=momentum,
        momentum_rate=rate,
        momentum_matrix=robot.centroidal_momentum_matrix(kin),
        locked_inertia=locked_inertia(robot, kin),
        momentum_bias=robot.centroidal_momentum_rate(kin, v, jnp.zeros_like(v)),
        frames=moving,
        wrenches=wrenches,
        in_contact=in_contact,
    )


def locked_inertia(robot: Robot, kin: Kinematics) -> Float[Array, "3 3"]:
    """Rotational inertia of all bodies together about their centre of mass, world axes (kg m2)."""
    mass = jnp.asarray(robot.parameters.mass)
    arm = jnp.sum(mass[:, None] * kin.com, axis=0) / jnp.sum(mass)
    return kin.inertia.sum(0) - jnp.sum(mass) * (arm @ arm * np.eye(3) - arm[:, None] * arm)


def frames_in_order(robot: Robot, others: Sequence[str]) -> tuple[str, ...]:
    """The robot's feet, then every other frame once."""
    return tuple(dict.fromkeys([*(foot.name for foot in robot.feet), *others]))


def unactuated(robot: Robot) -> np.ndarray:
    """Dofs without an actuator: the floating base."""
    return np.setdiff1d(np.arange(robot.nv), robot.actuated)
