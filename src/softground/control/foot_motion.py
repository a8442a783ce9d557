"""Feet moved along a designed path: keyframes in time, inverse kinematics, tracked by joint PD control, open loop."""

from __future__ import annotations

from itertools import pairwise

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from softground.arrays import Array
from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.control.posture import actuator_positions, pd_gains
from softground.errors import OptionError
from softground.media.smooth import smooth_step
from softground.robots import Robot
from softground.simulation.simulator import Control, State

KNOTS = 40  # between two keyframes


class FootMotion(eqx.Module):
    """Policy state -> Control: joint references from a table in time, held before its start and after its end."""

    time: Float[Array, " k"]  # s
    position: Float[Array, "k nu"]  # rad
    velocity: Float[Array, "k nu"]  # rad/s
    kp: Float[Array, " nu"]  # N m/rad
    kd: Float[Array, " nu"]  # N m s/rad

    def __call__(self, state: State) -> Control:
        dtype = state.q.dtype
        table = jnp.asarray(self.time, dtype)
        row = jnp.clip(jnp.searchsorted(table, state.time) - 1, 0, len(table) - 2)
        share = jnp.clip((state.time - table[row]) / (table[row + 1] - table[row]), 0.0, 1.0)
        position, velocity = (
            (1 - share) * jnp.asarray(values, dtype)[row] + share * jnp.asarray(values, dtype)[row + 1]
            for values in (self.position, self.velocity)
        )
        return Control(
            position=position, velocity=velocity, kp=jnp.asarray(self.kp, dtype), kd=jnp.asarray(self.kd, dtype)
        )


def move_feet(
    robot: Robot,
    time: ArrayLike,
    offsets: ArrayLike,
    posture: Float[np.ndarray, " nq"] | None = None,
    **gains,
) -> FootMotion:
    """Feet that pass by `offsets` (k, feet, 3; m, base's frame, from where the posture has them) at `time` (k; s).

    Between keyframes each foot goes straight, by minimum jerk: it rests at every keyframe. Its pitch stays, in the
    plane. `gains`: frequency and damping ratio of the joint PD controllers, see `pd_gains`.
    """
    time, offsets = np.asarray(time, dtype=float), np.asarray(offsets, dtype=float)
    posture = np.asarray(robot.posture if posture is None else posture, dtype=float)
    home = np.asarray(feet_in_base(robot, jnp.asarray(posture)))
    if time.ndim != 1 or len(time) < 2 or not (np.diff(time) > 0).all():
        raise OptionError(f"keyframes need at least two increasing times, got {time}")
    if offsets.shape != (len(time), len(home), 3):
        raise OptionError(f"offsets must have shape ({len(time)}, {len(home)}, 3), got {offsets.shape}")
    knots = np.unique(np.concatenate([np.linspace(a, b, KNOTS + 1) for a, b in pairwise(time)]))
    row = np.clip(np.searchsorted(time, knots, side="right") - 1, 0, len(time) - 2)
    share = smooth_step((knots - time[row]) / (time[row + 1] - time[row]), np)[:, None, None]
    targets = home[:, :3] + (1 - share) * offsets[row] + share * offsets[row + 1]
    pitch = np.broadcast_to(home[:, 3], targets.shape[:-1]) if robot.planar else None
    joints = actuator_positions(robot, joints_for_feet(robot, targets, pitch, posture))
    kp, kd = pd_gains(robot, posture, **gains)
    return FootMotion(knots, joints, np.gradient(joints, knots, axis=0), kp, kd)
