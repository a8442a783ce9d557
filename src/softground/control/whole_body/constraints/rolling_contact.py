"""A round sole on the ground: it may roll, and lean, but its lowest point stands still, and is pushed there."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Bounds, Constraint
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot
from softground.errors import RobotError
from softground.robots import Robot
from softground.robots.rotations import cross


class RollingContact(Constraint):
    """The lowest point of every foot in contact does not move, whatever point of the sole that is.

    A sole of radius r has its frame on the axis (of a ball: at the centre), which is r above the contact. No slip at
    the lowest point is J_linear v = (J_angular v) x r z; z does not turn with the foot, so one more derivative gives

        J_linear a + bias_linear - (J_angular a + bias_angular) x r z = -damping (slip velocity).

    Rolling, leaning and turning are left free: the ground's torques against them are small for such feet.
    """

    is_equality: ClassVar[bool] = True
    radius: Float[Array, " F"]  # m, of the soles
    damping: float = 0.0  # 1/s, against slip

    @property
    def name(self) -> str:
        return "rolling contact"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        jacobian, bias = self.slip(snapshot)
        target = (-self.damping * (jacobian @ snapshot.v) - bias).reshape(-1)
        matrix = snapshot.unknowns.matrix(acceleration=jacobian.reshape(-1, snapshot.unknowns.dofs))
        in_the_plane = np.array([True, not snapshot.robot.planar, True])  # where nothing can move sideways
        return Bounds(matrix, target, target, (snapshot.in_contact[:, None] & in_the_plane).reshape(-1))

    def slip(self, snapshot: Snapshot) -> tuple[Float[Array, "F 3 nv"], Float[Array, "F 3"]]:
        """Jacobian of the lowest points' velocity over the ground, and its part of the acceleration at a = 0."""
        feet = snapshot.feet
        arm = jnp.asarray(self.radius)[:, None] * np.array([0.0, 0.0, 1.0])
        turned = jnp.swapaxes(cross(jnp.swapaxes(feet.jacobian[:, 3:], 1, 2), arm[:, None]), 1, 2)
        bias = feet.bias_acceleration[:, :3] - cross(feet.bias_acceleration[:, 3:], arm)
        return feet.jacobian[:, :3] - turned, bias


class ForceAtContact(Constraint):
    """The ground's wrench on every foot in contact is a force at its lowest point: no torque there.

    About the origin, a radius r above it, the torque is then (-r z) x force.
    """

    is_equality: ClassVar[bool] = True
    radius: Float[Array, " F"]  # m, of the soles

    @property
    def name(self) -> str:
        return "force at the contact"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        count = snapshot.unknowns.feet
        force = jnp.asarray(self.radius)[:, None, None] * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
        rows = jnp.concatenate([force, jnp.broadcast_to(jnp.eye(3), force.shape)], axis=2)  # per foot 3 x 6
        matrix = snapshot.unknowns.matrix(
            wrenches=(np.eye(count)[:, None, :, None] * rows[:, :, None]).reshape(-1, count, 6)
        )
        zero = jnp.zeros(3 * count)
        return Bounds(matrix, zero, zero, jnp.repeat(snapshot.in_contact, 3))


def rolling_contact(robot: Robot, damping: float = 0.0) -> tuple[RollingContact, ForceAtContact]:
    """How a robot whose feet are all round meets the ground: it rolls without slip, pushed at a point.

    damping: of a slip that is there, 1/s.
    """
    flat = [foot.name for foot in robot.feet if not foot.shape.rolls]
    if flat:
        raise RobotError(
            f"rolling needs feet that are half-cylinders or balls; {', '.join(flat)} of {robot.name} is not"
        )
    radius = np.array([foot.clearance for foot in robot.feet])
    return RollingContact(radius, damping), ForceAtContact(radius)
