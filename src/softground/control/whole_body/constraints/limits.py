"""Limits of actuators and joints."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from softground.control.whole_body.base import Bounds, Constraint
from softground.control.whole_body.constraints.floating_base import generalised_force
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot


class TorqueLimits(Constraint):
    """|actuator torque| <= the model's limit, with torques by romualdi2021's eq. 2b; actuators without one are left
    out."""

    is_equality: ClassVar[bool] = False
    lookahead: float = 0.0  # s, as in `FloatingBase`

    @property
    def name(self) -> str:
        return "torque limits"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        rows, limit = np.array(snapshot.robot.actuated), jnp.asarray(snapshot.robot.torque_limit)
        matrix, offset = (part[rows] for part in generalised_force(snapshot, self.lookahead))
        return Bounds(matrix, -limit - offset, limit - offset, jnp.isfinite(limit))


class JointLimits(Constraint):
    """Joints stay within their range: after `horizon` seconds of constant acceleration they are inside it."""

    is_equality: ClassVar[bool] = False
    horizon: float = 0.05  # s

    @property
    def name(self) -> str:
        return "joint limits"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        robot, time = snapshot.robot, self.horizon
        dofs = np.array(robot.limited)
        low, high = jnp.asarray(robot.joint_range)[dofs].T
        reached = snapshot.q[np.array(robot.dof_q)[dofs]] + time * snapshot.v[dofs]
        matrix = snapshot.unknowns.matrix(acceleration=jnp.asarray(np.eye(robot.nv)[dofs]))
        return Bounds(matrix, 2 * (low - reached) / time**2, 2 * (high - reached) / time**2)
