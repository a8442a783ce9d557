"""Frames of the robot: their orientation, or their whole pose."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Task, TaskRows
from softground.control.whole_body.references import FrameMotion, References
from softground.control.whole_body.snapshot import Snapshot
from softground.control.whole_body.tracking import angular_acceleration, rotation_part
from softground.robots.frames import Frames
from softground.robots.rotations import matmul3


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
