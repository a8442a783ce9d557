"""A plan as a horizon sees it from any moment: tables in the steps of the simulator.

A plan's velocity v_k is the mean over the step that ends at knot k (q_k = q_k-1 + dt v_k), a measured one is of the
moment. What is added to a plan's state is therefore how the measured state differs from the smooth motion through the
plan, not the measured state itself: on the plan that is nothing.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.planning.dynamics.base import Dynamics
from softground.planning.feedback import deviation
from softground.planning.online.horizon import Goal, Guess
from softground.planning.trajectory import Trajectory


class Reference(eqx.Module):
    """A planned trajectory in M rows, one for each step of the simulator."""

    q: Float[Array, "M nq"]
    v: Float[Array, "M nv"]  # of the moment
    mean_v: Float[Array, "M nv"]  # over the plan's step that ends there
    torque: Float[Array, "M nu"]  # N m, over the plan's step that begins there
    twist: Float[Array, "M s"]  # scaled, of the feet, likewise
    value: Float[Array, "n x x"]  # of the feedback at the plan's knots

    @classmethod
    def of(cls, trajectory: Trajectory, every: int, dynamics: Dynamics, eps: float, value) -> Reference:
        """Of a trajectory with `every` rows a step. value: at its knots."""
        fine, dt = trajectory.refined(every), trajectory.dt
        rows = np.arange(len(fine.q))
        share, knots = rows / every, np.arange(trajectory.knots)
        mean_v = _between(share, knots, trajectory.v)
        mean_v[every:] = (fine.q[every:] - fine.q[:-every]) / dt
        following = mean_v[np.minimum(rows + every, rows[-1])]
        return cls(
            fine.q,
            fine.v,
            mean_v,
            _between(share, knots[:-1], trajectory.torque),
            _scaled_twists(dynamics, fine.q, following, eps),
            np.asarray(value),
        )

    def goal(self, row, every: int, steps: int) -> Goal:
        """What a horizon of so many steps from a row on is to be like; behind the plan's end nothing is asked."""
        rows = row + every * np.arange(steps + 1)
        knot, share = jnp.divmod(jnp.clip(rows[-1], 0, len(self.q) - 1), every)
        here, there = (_row(self.value, knot + k) for k in (0, 1))
        return Goal(
            state=jax.vmap(self.state)(rows),
            torque=_row(self.torque, rows[:-1]),
            live=(rows[:-1] < len(self.q) - 1).astype(float),
            value=here + share / every * (there - here),
        )

    def guess(self, row, every: int, steps: int) -> Guess:
        """The plan itself."""
        goal = self.goal(row, every, steps)
        twist = _row(self.twist, row + every * np.arange(steps))
        push = jnp.zeros_like(goal.torque)
        return Guess(goal.state, twist, push, jnp.zeros((*push.shape, goal.state.shape[1])))

    def state(self, row) -> Float[Array, " x"]:
        """(q, mean velocity) of the plan."""
        return jnp.concatenate([_row(self.q, row), _row(self.mean_v, row)])

    def away(self, row, q, v) -> Float[Array, " x"]:
        """How a measured state differs from the plan's motion."""
        return deviation(_row(self.q, row), _row(self.v, row), q, v)


def _row(table, row) -> Array:
    """Rows of a table, the first and the last where there are none."""
    return jnp.asarray(table)[jnp.clip(row, 0, len(table) - 1)]


def _between(at: np.ndarray, knots: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(at, knots, column) for column in values.T], axis=1)


def _scaled_twists(dynamics: Dynamics, q: np.ndarray, v_next: np.ndarray, eps: float) -> np.ndarray:
    """(M, s) of steps that begin at q and end with v_next."""
    twists = jax.jit(jax.vmap(lambda q, v: dynamics.foot_twists(dynamics.met_pose(q, v), v)))(q, v_next)
    return np.asarray(twists * dynamics.wrench_unit / dynamics.smoothing(eps)).reshape(len(q), -1)
