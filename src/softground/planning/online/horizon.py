"""A short horizon ahead of the measured state, improved by Gauss-Newton steps with a Riccati recursion inside.

Sought are states x_k = (q_k, v_k) after each of K steps, torques u_k beyond the joints' PD control and the feet's
scaled twists s_k, from x_0 as measured, under the rows of a plan, F(x_k, s_k, torque_k, x_k+1) = 0 (`ClosedForm`), with
the least

    sum_{k<K} (x_k - r_k)'Q(x_k - r_k) + u_k'R u_k  +  (x_K - r_K)'P(x_K - r_K).

r is the plan; Q and R are those of its feedback (`planning.feedback`) and P is the value of that feedback where the
horizon ends, so that it can end before the consequences do. One iteration linearises the rows about a guess. What is
solved for the change ds of the twists and dx_k+1 of the next state,

    ds = S (dx, du) + e,      dx_k+1 = A dx_k + B du_k + c,

leaves a linear-quadratic problem whose stages follow each other: a sweep backwards gives gains and feedforward, one
forwards the step.

*How far to go along the step* is what makes it converge. Full steps do not, since ground sets in and lets go: from a
push of 0.3 m/s they end nowhere. Of the lengths 1, 1/2, 1/4 ... that one is taken for which

    cost + PENALTY sum |F|

is least, all evaluated side by side (rows cost a tenth of their derivatives).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.planning.dynamics.base import Dynamics
from softground.planning.layout import TORQUE_UNIT, Layout

PENALTY = 15.0
"""Price of a row that is violated by one; tolerable deviations (`Tolerances`) cost one each."""
ENOUGH = 1e-3
"""Share of cost and penalty that an iteration must gain for there to be another."""
LENGTHS = 0.5 ** np.arange(7)
"""Of steps."""


class Goal(NamedTuple):
    """What a horizon is to be like."""

    state: Float[Array, "N x"]
    torque: Float[Array, "K u"]  # N m
    live: Float[Array, " K"]  # 0 for steps behind the plan's end: there nothing happens, and nothing is asked
    value: Float[Array, "x x"]  # P at its end


class Guess(NamedTuple):
    """A trajectory over the horizon, and how its torques answer to states that differ from it."""

    state: Float[Array, "N x"]  # N = K + 1
    twist: Float[Array, "K s"]  # scaled, of the feet
    push: Float[Array, "K u"]  # N m, beyond PD control about the goal
    gain: Float[Array, "K u x"]  # N m


class Stage(NamedTuple):
    """A step to first order: the changes of twists and next state, y = (s, x), by those of state and torque."""

    by_state: Float[Array, "*K y x"]
    by_push: Float[Array, "*K y u"]
    off: Float[Array, "*K y"]


class Horizon(eqx.Module):
    """The problem of a horizon, for any strength of the ground (a factor on the dynamics' own)."""

    dynamics: Dynamics
    kp: Float[Array, " u"]  # N m/rad, of the joints' PD control
    kd: Float[Array, " u"]  # N m s/rad
    state_cost: Float[Array, " x"]  # 1/m^2, 1/rad^2, s^2/m^2, s^2/rad^2
    push_cost: Float[Array, " u"]  # 1/(N m)^2
    eps: Float[Array, ""]  # W

    def solved(self, strength, goal: Goal, guess: Guess, start: Float[Array, " x"], most: int):
        """After so many iterations, or fewer where one gains little; and how many."""
        guess = guess._replace(state=jnp.asarray(guess.state).at[0].set(start))

        def once(now):
            guess, before, _, count = now
            guess = self.improved(strength, goal, guess, start)
            merit = self.merit(strength, goal, guess)
            return guess, merit, merit < (1 - ENOUGH) * before, count + 1

        first = guess, self.merit(strength, goal, guess), jnp.ones((), bool), jnp.zeros((), int)
        found = jax.lax.while_loop(lambda now: now[2] & (now[3] < most), once, first)
        return found[0], found[3]

    def improved(self, strength, goal: Goal, guess: Guess, start: Float[Array, " x"]) -> Guess:
        """The guess after one iteration, from a state that was measured."""
        guess = guess._replace(state=jnp.asarray(guess.state).at[0].set(start))
        step = self.step(goal, guess, self.stages(strength, goal, guess))

        def along(length):
            state, twist, push = (one + length * change for one, change in zip(guess[:3], step[:3], strict=True))
            there = Guess(state, twist, push, step.gain)
            return self.merit(strength, goal, there), there

        merit, there = jax.vmap(along)(LENGTHS)
        return jax.tree.map(lambda part: part[jnp.nanargmin(merit)], there)

    def merit(self, strength, goal: Goal, guess: Guess) -> Float[Array, ""]:
        """The cost, and what violated rows are charged."""
        return self.cost(goal, guess) + PENALTY * jnp.abs(self.rows(strength, goal, guess)).sum()

    def cost(self, goal: Goal, guess: Guess) -> Float[Array, ""]:
        away = guess.state - goal.state
        running = goal.live @ (away[:-1] ** 2 @ self.state_cost + guess.push**2 @ self.push_cost)
        return running + away[-1] @ goal.value @ away[-1]

    def rows(self, strength, goal: Goal, guess: Guess) -> Float[Array, "K rows"]:
        """F of all steps."""
        block = self._block(strength)
        return goal.live[:, None] * jax.vmap(lambda local: block.rows(local, None, self.eps))(self._locals(goal, guess))

    def stages(self, strength, goal: Goal, guess: Guess) -> Stage:
        """All steps to first order."""
        block, sizes = self._block(strength), (guess.state.shape[1], guess.twist.shape[1], guess.push.shape[1])
        pd = self._pd / TORQUE_UNIT

        nothing = jnp.eye(sizes[1] + sizes[0], sizes[0], -sizes[1])

        def one(local, live):
            rows, by = block.rows(local, None, self.eps), block.jacobian(local, None, self.eps)
            by_state, by_twist, by_torque, by_next = jnp.split(by, np.cumsum(sizes), axis=1)
            unknown = jnp.concatenate([by_twist, by_next - by_torque @ pd], axis=1)
            known = jnp.concatenate([by_state, by_torque / TORQUE_UNIT, rows[:, None]], axis=1)
            answer = -jnp.linalg.solve(unknown, known)
            by_state = jnp.where(live, answer[:, : sizes[0]], nothing)
            return Stage(by_state, live * answer[:, sizes[0] : -1], live * answer[:, -1])

        return jax.vmap(one)(self._locals(goal, guess), goal.live)

    def step(self, goal: Goal, guess: Guess, stages: Stage) -> Guess:
        """The changes that solve the linear-quadratic problem, and its gains; the first state does not change."""
        twists, away = guess.twist.shape[1], guess.state - goal.state

        def back(after, now):
            value, slope = after
            (by_state, by_push, off), away, push, live = now
            a, b = by_state[twists:], by_push[twists:]
            slope = slope + value @ off[twists:]
            mixed, by_push = b.T @ value @ a, self.push_cost * push + b.T @ slope
            root = jnp.linalg.cholesky(jnp.diag(self.push_cost) + b.T @ value @ b), True
            answer = jax.scipy.linalg.cho_solve(root, jnp.concatenate([mixed, by_push[:, None]], axis=1))
            gain, first = answer[:, :-1], answer[:, -1]
            slope = live * self.state_cost * away + a.T @ slope - mixed.T @ first
            value = live * jnp.diag(self.state_cost) + a.T @ value @ a - mixed.T @ gain
            return ((value + value.T) / 2, slope), (gain, first)

        end = goal.value, goal.value @ away[-1]
        _, (gain, first) = jax.lax.scan(back, end, (stages, away[:-1], guess.push, goal.live), reverse=True)

        def ahead(change, now):
            stage, gain, first = now
            push = -first - gain @ change
            both = stage.by_state @ change + stage.by_push @ push + stage.off
            return both[twists:], (both, push)

        none = jnp.zeros_like(guess.state[0])
        _, (both, push) = jax.lax.scan(ahead, none, (stages, gain, first))
        return Guess(jnp.concatenate([none[None], both[:, twists:]]), both[:, :twists], push, gain)

    def _block(self, strength):
        dynamics: Any = self.dynamics
        stronger = strength * dynamics.feet_medium.strength
        there = eqx.tree_at(lambda one: one.feet_medium.strength, dynamics, stronger)
        return there.block(Layout.of(there.robot, 2, there.lifted))

    def _locals(self, goal: Goal, guess: Guess):
        """Unknowns of each step, as blocks want them."""
        torque = goal.torque + guess.push - (guess.state[1:] - goal.state[1:]) @ self._pd.T
        return jnp.concatenate([guess.state[:-1], guess.twist, torque / TORQUE_UNIT, guess.state[1:]], axis=1)

    @property
    def _pd(self) -> Array:
        """(u, x) what PD control takes away for a deviation at the end of a step, N m."""
        robot = self.dynamics.robot
        joints, columns = np.arange(robot.nu), np.array(robot.actuated)
        pd = jnp.zeros((robot.nu, 2 * robot.nv))
        return pd.at[joints, columns].set(self.kp).at[joints, robot.nv + columns].set(self.kd)
