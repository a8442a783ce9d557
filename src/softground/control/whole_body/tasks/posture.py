"""Joints near a posture, where nothing else decides."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Task, TaskRows
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot


class Posture(Task):
    """Acceleration kp (s_ref - s) - kd s' of every joint with an actuator (romualdi2021, eq. 18)."""

    kp: Float[Array, " nu"]  # 1/s2
    kd: Float[Array, " nu"]  # 1/s
    weight: Float[Array, " nu"]

    @property
    def name(self) -> str:
        return "posture"

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        robot, dofs = snapshot.robot, np.array(snapshot.robot.actuated)
        error = references.posture - snapshot.q[np.array(robot.dof_q)[dofs]]
        matrix = snapshot.unknowns.matrix(acceleration=jnp.asarray(np.eye(robot.nv)[dofs]))
        return TaskRows(matrix, self.kp * error - self.kd * snapshot.v[dofs], self.weight, error)
