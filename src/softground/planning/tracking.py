"""Following a planned trajectory: its torques, and PD control that holds the joints on it."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.posture import actuator_positions, pd_gains
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.simulation.simulator import Control, State


class TrackJoints(eqx.Module):
    """Policy state -> Control: the plan's torque as feedforward, joint references by linear interpolation in time."""

    position: Float[Array, "N nu"]  # rad, at the knots
    velocity: Float[Array, "n nu"]  # rad/s, n = N - 1, between knots
    torque: Float[Array, "n nu"]  # N m, between knots
    kp: Float[Array, " nu"]  # N m/rad
    kd: Float[Array, " nu"]  # N m s/rad
    dt: Float[Array, ""]  # s, between knots
    ahead: Float[Array, ""]  # s: PD control acts on the end of a step, so the reference is that of a step later

    @classmethod
    def of(cls, robot: Robot, plan: Trajectory, time_step: float, *, feedforward: bool = True, **gains) -> TrackJoints:
        """Track a plan in steps of `time_step` (s); `gains`: frequency and damping ratio, see `pd_gains`."""
        position = actuator_positions(robot, plan.q)
        kp, kd = pd_gains(robot, plan.q[0], **gains)
        torque = plan.torque if feedforward else np.zeros_like(plan.torque)
        rate = np.diff(position, axis=0) / plan.dt
        return cls(position, rate, torque, kp, kd, np.asarray(plan.dt), np.asarray(time_step, dtype=float))

    def __call__(self, state: State) -> Control:
        dtype = state.q.dtype
        table = lambda values: jnp.asarray(values, dtype)  # noqa: E731
        dt = table(self.dt)
        # The small share keeps a time at a knot, rounded below it, in the step that starts there.
        step = jnp.clip(jnp.floor(state.time / dt + 1e-6).astype(int), 0, len(self.torque) - 1)
        passed = state.time + table(self.ahead) - step * dt
        velocity = table(self.velocity)[step]
        return Control(
            torque=table(self.torque)[step],
            position=table(self.position)[step] + passed * velocity,
            velocity=velocity,
            kp=table(self.kp),
            kd=table(self.kd),
        )
