"""The gait of a biped that balances by where it steps: its feet carry in turn."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from softground.arrays import Array


class SteppingGait(eqx.Module):
    """Timing and size of the steps. Stance, swing height and height of the centre of mass are chen2026's."""

    stance: float | Array = 0.2  # s, from one touch-down to the next
    double_support: float | Array = 0.0  # share of a stance in which the other foot has not left yet; below 1
    push_off: float | Array = (
        0.0  # of a foot that leaves: its force over the weight when the other touches down, less 1
    )
    swing_height: float | Array = 0.1  # m
    width: float | Array = 0.12  # m, between the feet
    com_height: float | Array = 0.408  # m, over the sole that carries
    landing: float | Array = 0.0  # depth at which a swing ends, as a share of how deep feet sink; 0: at the surface
    odometry: float | Array = 0.0  # share
    """1: the robot takes its own motion from the leg that carries, whose foot it believes to stand still, and that foot
    for as high as the ground is; 0: it knows its place over the ground."""
    learning: float | Array = 0.2  # share of the error of speed of a step that corrects the next
    turn: float | Array = 0.0  # rad/s, desired; to the left
    pitch_acceleration: float | Array = 0.0
    """rad/s2, of the trunk, forwards over the left foot and backwards over the right: it turns (`pitching_trunk`)."""
    steering: float | Array = 3.0
    """rad/s2 of trunk pitch per rad/s of turn that a stride lacks, learned from step to step."""
    most_pitch_acceleration: float | Array = 60.0  # rad/s2, that is learned
    settle: float | Array = 0.8  # s, in place at first
    ramp: float | Array = 0.8  # s, over which the speed then grows to its full size

    def omega(self, gravity: float | Array):
        """Rate at which a pendulum of this height tips under gravity (m/s2), 1/s."""
        return jnp.sqrt(gravity / self.com_height)

    def growth(self, time):
        """Share of the full speed desired at a time (s)."""
        return jnp.clip((time - self.settle) / self.ramp, 0.0, 1.0)
