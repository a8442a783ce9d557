"""The centre of mass on its path."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Task, TaskRows
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot


class CentreOfMass(Task):
    """Acceleration of the centre of mass, from joint accelerations: x'' = (A a + dA/dt v) / m.

    Desired: x''_ref + kd (x'_ref - x') + kp (x_ref - x).
    """

    kp: Float[Array, "3"]  # 1/s2
    kd: Float[Array, "3"]  # 1/s
    weight: Float[Array, "3"]

    @property
    def name(self) -> str:
        return "centre of mass"

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        desired, mass = references.com, snapshot.total_mass
        error = desired.position - snapshot.com
        rate = desired.velocity - snapshot.com_velocity
        target = desired.acceleration + self.kd * rate + self.kp * error - snapshot.momentum_bias[:3] / mass
        matrix = snapshot.unknowns.matrix(acceleration=snapshot.momentum_matrix[:3] / mass)
        return TaskRows(matrix, target, self.weight, error)
