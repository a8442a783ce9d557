"""Desired motions: of frames of the robot, of its centre of mass, and of its joints where nothing else decides.

Feedback turns errors into desired accelerations.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Task, TaskRows
from softground.control.whole_body.references import FrameMotion, References
from softground.control.whole_body.snapshot import Snapshot
from softground.robots.frames import Frames
from softground.robots.rotations import matmul3, skew


def rotation_part(matrix: Float[Array, "3 3"]) -> Float[Array, "3"]:
    """Vector of the skew part of a matrix; of a rotation by an angle about an axis, sin(angle) axis."""
    twice = matrix - matrix.T
    return jnp.stack([twice[2, 1], twice[0, 2], twice[1, 0]]) / 2


def angular_acceleration(
    rotation: Float[Array, "3 3"],
    velocity: Float[Array, "3"],
    wanted_rotation: Float[Array, "3 3"],
    wanted_velocity: Float[Array, "3"],
    wanted_acceleration: Float[Array, "3"],
    c0,
    c1,
    c2,
) -> Float[Array, "3"]:
    """Angular acceleration that brings R to R_ref from almost everywhere on SO(3) (romualdi2021, eq. 16).

    With Q = R R_ref', all angular velocities in world axes:

        dw* = dw_ref - c0 (w^ Q - Q w_ref^)v - c1 (w - w_ref) - c2 (Q)v.

    (.)v takes the skew part, so (Q)v = sin(angle) axis, and the bracket behind c0 is dQ/dt: c0 damps the rate of that
    sine, c1 the difference of velocities. Near Q = 1 both are w - w_ref, and the error angle e obeys
    e'' + (c0 + c1) e' + c2 e = 0.
    """
    error = matmul3(rotation, wanted_rotation.T)
    rate = matmul3(skew(velocity), error) - matmul3(error, skew(wanted_velocity))
    return (
        wanted_acceleration - c0 * rotation_part(rate) - c1 * (velocity - wanted_velocity) - c2 * rotation_part(error)
    )


class FrameOrientation(Task):
    """Orientation of a frame on SO(3) (romualdi2021, eqs 15 and 16): root, torso, head."""

    frame: str = eqx.field(static=True)
    c0: Float[Array, ""]  # 1/s
    c1: Float[Array, ""]  # 1/s
    c2: Float[Array, ""]  # 1/s2
    weight: Float[Array, "3"]

    @property
    def name(self) -> str:
        return f"orientation of {self.frame}"

    @property
    def frames(self) -> tuple[str, ...]:
        return (self.frame,)

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        frame, desired = snapshot.frames[self.frame], references.frames[self.frame]
        acceleration = _desired_turn(frame, desired, self.c0, self.c1, self.c2)
        matrix = snapshot.unknowns.matrix(acceleration=frame.jacobian[3:])
        return TaskRows(matrix, acceleration - frame.bias_acceleration[3:], self.weight, _turn_error(frame, desired))


class FramePose(Task):
    """Position and orientation of a frame (romualdi2021, eq. 17). A foot's is active only while it is in the air.

    Linear: x'' = x''_ref + kd (x'_ref - x') + kp (x_ref - x). Angular: as in `FrameOrientation`.
    """

    frame: str = eqx.field(static=True)
    kp: Float[Array, "3"]  # 1/s2
    kd: Float[Array, "3"]  # 1/s
    c0: Float[Array, ""]  # 1/s
    c1: Float[Array, ""]  # 1/s
    c2: Float[Array, ""]  # 1/s2
    weight: Float[Array, "6"]

    @property
    def name(self) -> str:
        return f"pose of {self.frame}"

    @property
    def frames(self) -> tuple[str, ...]:
        return (self.frame,)

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        frame, desired = snapshot.frames[self.frame], references.frames[self.frame]
        error = desired.position - frame.position
        rate = desired.twist[:3] - frame.twist[:3]
        linear = desired.acceleration[:3] + self.kd * rate + self.kp * error
        angular = _desired_turn(frame, desired, self.c0, self.c1, self.c2)
        foot = snapshot.foot_index(self.frame)
        return TaskRows(
            matrix=snapshot.unknowns.matrix(acceleration=frame.jacobian),
            target=jnp.concatenate([linear, angular]) - frame.bias_acceleration,
            weight=self.weight,
            error=jnp.concatenate([error, _turn_error(frame, desired)]),
            active=True if foot is None else ~snapshot.in_contact[foot],
        )


def _desired_turn(frame: Frames, desired: FrameMotion, c0, c1, c2) -> Float[Array, "3"]:
    return angular_acceleration(
        frame.rotation, frame.twist[3:], desired.rotation, desired.twist[3:], desired.acceleration[3:], c0, c1, c2
    )


def _turn_error(frame: Frames, desired: FrameMotion) -> Float[Array, "3"]:
    return rotation_part(matmul3(desired.rotation, frame.rotation.T))


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
