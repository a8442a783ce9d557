"""A designed trot: diagonal pairs of feet swing in turn; the joints follow tables in time, open loop.

In the base's frame a foot on the ground moves backwards at the walking speed, L / (duty T); in the air it
covers, seen from the ground, one stride L / duty by a minimum-jerk curve, so that it lifts off and lands
with zero velocity over the ground, and rises by a bump of the same smoothness.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.control.posture import actuator_positions, pd_gains
from softground.errors import OptionError
from softground.media.smooth import smooth_step, smooth_step_rate
from softground.robots import Robot
from softground.simulation.simulator import Control, State

KNOTS = 120  # of the tables, a period


class Trot(eqx.Module):
    """Policy state -> Control: joint references interpolated in time, tracked by joint PD control."""

    position: Float[Array, "k nu"]  # rad, at k equal steps of one period
    velocity: Float[Array, "k nu"]  # rad/s
    stand: Float[Array, " nu"]  # rad, before the trot starts
    kp: Float[Array, " nu"]  # N m/rad
    kd: Float[Array, " nu"]  # N m s/rad
    period: Float[Array, ""]  # s
    start: Float[Array, ""]  # s, time at which the feet begin to move
    ramp: Float[Array, ""]  # s, over which the motion grows to its full size

    def __call__(self, state: State) -> Control:
        position, velocity = self.reference(state.time)
        dtype = state.q.dtype
        return Control(
            position=jnp.asarray(position, dtype),
            velocity=jnp.asarray(velocity, dtype),
            kp=jnp.asarray(self.kp, dtype),
            kd=jnp.asarray(self.kd, dtype),
        )

    def reference(self, time: Array) -> tuple[Array, Array]:
        """Position (rad) and velocity (rad/s) of the actuators at a time (s)."""
        elapsed = jnp.maximum(time - self.start, 0.0)
        place = elapsed / self.period * len(self.position)
        row = jnp.floor(place)
        share, row = place - row, row.astype(jnp.int32)
        position, velocity = (_between(table, row, share) for table in (self.position, self.velocity))
        grown = elapsed / self.ramp
        size, rate = smooth_step(grown), smooth_step_rate(grown) / self.ramp
        away = position - self.stand
        return self.stand + size * away, size * velocity + rate * away


def trot(
    robot: Robot,
    *,
    period: float = 1.0,
    duty: float = 0.6,
    step_length: float = 0.2,
    lift: float = 0.1,
    start: float = 0.5,
    ramp: float | None = None,
    posture: Float[np.ndarray, " nq"] | None = None,
    phases: Float[np.ndarray, " F"] | None = None,
    **gains,
) -> Trot:
    """Trot of a robot with four feet about a posture (by default the robot's own).

    Args:
        period: of the gait (s).
        duty: share of the period that a foot is on the ground; above 0.5 all four are for a while.
        step_length: way of the base while a foot is on the ground (m); speed = step_length / (duty period).
        lift: height of the swing (m). In sand it must exceed the sinkage.
        start: time at which the feet begin to move (s), so that the robot can settle first.
        ramp: time over which the motion grows to its full size (s), by default one period.
        phases: of the feet, as shares of the period; by default diagonal pairs take turns, which makes it a trot.
        gains: frequency and damping ratio of the joint PD controllers, see `pd_gains`.

    >>> import softground as sg
    >>> gait = sg.trot(sg.Robot.load("anymal"), period=1.0, step_length=0.1)
    >>> float(gait.period)  # s; run it with Simulator.run(gait, seconds=...)
    1.0
    """
    ramp = period if ramp is None else ramp
    _check(robot, duty, phases, {"period": period, "lift": lift, "ramp": ramp})
    posture = np.asarray(robot.posture if posture is None else posture, dtype=float)
    home = np.asarray(feet_in_base(robot, jnp.asarray(posture)))
    phases = diagonal_phase(home) if phases is None else np.asarray(phases)
    offsets = foot_path((np.arange(KNOTS)[:, None] / KNOTS + phases) % 1.0, duty, step_length, lift)
    targets = home[:, :3] + np.stack([offsets[..., 0], np.zeros_like(offsets[..., 0]), offsets[..., 1]], -1)
    flat = None if not robot.planar else np.broadcast_to(home[:, 3], targets.shape[:-1])
    joints = actuator_positions(robot, joints_for_feet(robot, targets, flat, posture))
    around = np.concatenate([joints[-1:], joints, joints[:1]])
    kp, kd = pd_gains(robot, posture, **gains)
    return Trot(
        position=joints,
        velocity=(around[2:] - around[:-2]) * KNOTS / (2 * period),
        stand=actuator_positions(robot, posture),
        kp=kp,
        kd=kd,
        period=np.asarray(period, dtype=float),
        start=np.asarray(start, dtype=float),
        ramp=np.asarray(ramp, dtype=float),
    )


def foot_path(phase: np.ndarray, duty: float, step_length: float, lift: float) -> np.ndarray:
    """Offsets (x, z) from home (m), in the base's frame, at phases in [0, 1): stance first, then swing."""
    stance = phase < duty
    swing = np.clip((phase - duty) / (1 - duty), 0.0, 1.0)
    speed = step_length / duty  # m a period
    on_ground = step_length / 2 - speed * phase
    in_air = on_ground + speed * smooth_step(swing, np)  # one stride forward over the ground
    return np.stack([np.where(stance, on_ground, in_air), np.where(stance, 0.0, lift * bump(swing))], -1)


def diagonal_phase(home: Float[np.ndarray, "F 4"]) -> np.ndarray:
    """Phase of every foot: 0 for one diagonal pair, 1/2 for the other, from where the feet are."""
    side = np.sign(home[:, :2] - home[:, :2].mean(axis=0))
    return np.where(side[:, 0] * side[:, 1] > 0, 0.0, 0.5)


def bump(s):
    """From 0 to 1 and back, with zero velocity and acceleration at both ends."""
    return 64 * s**3 * (1 - s) ** 3


def _between(table: Float[Array, "k nu"], row, share) -> jax.Array:
    table = jnp.asarray(table)
    count = len(table)
    return (1 - share) * table[row % count] + share * table[(row + 1) % count]


def _check(robot: Robot, duty: float, phases, positive: dict[str, float]) -> None:
    feet = len(robot.feet)
    if phases is None and feet != 4:
        raise OptionError(f"a trot needs four feet, {robot.name} has {feet}: give the phases of its feet")
    if phases is not None and np.shape(phases) != (feet,):
        raise OptionError(f"phases must be {feet} numbers, one for each foot of {robot.name}, got {phases}")
    for label, value in positive.items():
        if not (np.isfinite(value) and value > 0):
            raise OptionError(f"{label} of a trot must be positive, got {value}")
    if not 0.5 <= duty < 1:
        raise OptionError(f"duty of a trot must be at least 0.5 and below 1, got {duty}")
