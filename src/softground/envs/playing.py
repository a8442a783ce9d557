"""Policies at work: over many episodes at once, with what became of each, and as controllers of a simulator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.envs.environment import Environment, State
from softground.envs.moment import Driven, base_of
from softground.envs.observations import OBSERVATIONS
from softground.envs.policy import Policy
from softground.envs.task import Task
from softground.errors import OptionError
from softground.runs.verdict import wilson
from softground.simulation import Control
from softground.simulation.simulator import State as Physics
from softground.surfaces import Surface

#: s: velocities are averaged over about a stride before they are compared with a command, and a command is given a
#: second to be followed.
STRIDE, RESPONSE = 0.5, 1.0
#: Of a normal distribution: 95 % lie within so many deviations.
TWO_SIDED = 1.96


class PolicyController(eqx.Module):
    """A policy that drives a robot of a simulator under one command, once a `period`: `Simulator.run` takes it."""

    policy: Policy
    command: Float[Array, "3"]  # m/s, m/s, rad/s
    surface: Surface
    driven: Driven = eqx.field(static=True)
    observations: tuple[str, ...] = eqx.field(static=True)
    bound: float = eqx.field(static=True)  # of actions

    def init(self, state: Physics) -> Float[Array, " nu"]:
        return jnp.zeros(self.driven.robot.nu, state.q.dtype)

    def __call__(self, action: Array, state: Physics) -> tuple[Array, Control]:
        command = jnp.asarray(self.command, state.q.dtype)
        moment = self.driven.seen(state, self.surface, action, command)
        seen = jnp.concatenate([OBSERVATIONS[name](moment) for name in self.observations])
        action = jnp.clip(self.policy(seen).astype(state.q.dtype), -self.bound, self.bound)
        return action, self.driven.control(action)


def controller_of(policy: Policy, env: Environment, command: Any = (0.5, 0.0, 0.0)) -> PolicyController:
    """The policy as a controller: `env.simulator.run(controller_of(policy, env), 5.0, period=env.dt)`.

    command: m/s forwards, m/s to the left, rad/s. Without the noise of training.
    """
    policy.check_fits(env)
    command = np.asarray(command, float)
    if command.shape != (3,) or not np.isfinite(command).all():
        raise OptionError(f"a command is three finite numbers (m/s, m/s, rad/s), got {command.tolist()}")
    surface = env.grounds.ground.surface
    return PolicyController(policy, command, surface, env.driven, tuple(env.task.observations), env.task.action_bound)


class Episodes(NamedTuple):
    """What became of episodes, along the first axis."""

    survived: np.ndarray  # whether nothing but time ended it
    seconds: np.ndarray  # s, that it lasted
    error: np.ndarray  # m/s, mean distance of the velocity, averaged over a stride, from the command; NaN: too short
    turn_error: np.ndarray  # rad/s, likewise
    reward: np.ndarray  # sum
    ground: dict[str, np.ndarray]  # parameters of the ground

    def summary(self) -> dict[str, float | None]:
        """Shares and means with 95 % intervals (Wilson's for the share that survived).

        None: no episode was long enough to tell.
        """
        low, high = wilson(int(self.survived.sum()), len(self.survived))
        found: dict[str, float | None] = {
            "episodes": len(self.survived),
            "survived": float(self.survived.mean()),
            "survived_low": low,
            "survived_high": high,
            "seconds": float(self.seconds.mean()),
            "reward": float(self.reward.mean()),
        }
        for name, values in {"error": self.error, "turn_error": self.turn_error}.items():
            values = values[np.isfinite(values)]
            half = TWO_SIDED * values.std() / np.sqrt(len(values)) if len(values) else None
            found[name] = float(values.mean()) if len(values) else None
            found[f"{name}_half_width"] = None if half is None else float(half)
        return found


def evaluate(
    policy: Policy,
    env: Environment,
    episodes: int = 100,
    seed: int = 0,
    seconds: float | None = None,
    ground: Mapping[str, float] | None = None,
) -> Episodes:
    """Let a policy run so many episodes side by side, with the task's commands, noise and pushes.

    seconds: of an episode, by default the task's. Every robot has a ground of its own, where parameters vary; ground:
    values of some of them, for all robots, in place of drawn ones. Compiled once for an environment.
    """
    policy.check_fits(env)
    if episodes < 1:
        raise OptionError(f"there must be at least one episode, got {episodes}")
    actions = env.task.actions if seconds is None else max(1, round(seconds / env.dt))
    keys = jax.random.split(jax.random.key(seed), episodes)
    values = {name: jnp.asarray(value) for name, value in env.grounds.checked(ground or {}).items()}
    tallies, ground_of = _played(env, actions, policy.without_card(), keys, values)
    told = np.where(np.asarray(tallies.counted) > 0, np.asarray(tallies.counted), np.nan)
    return Episodes(
        survived=np.asarray(tallies.alive),
        seconds=np.asarray(tallies.steps) * env.dt,
        error=np.asarray(tallies.error) / told,
        turn_error=np.asarray(tallies.turn_error) / told,
        reward=np.asarray(tallies.reward),
        ground={name: np.asarray(of_all) for name, of_all in ground_of.items()},
    )


class _Tally(NamedTuple):
    """Sums over an episode so far; velocities are running averages."""

    alive: Array
    steps: Array
    reward: Array
    velocity: Array  # (3,) m/s, m/s, rad/s
    since: Array  # actions since the command changed
    error: Array
    turn_error: Array
    counted: Array


@partial(jax.jit, static_argnums=(0, 1))
def _played(
    env: Environment, actions: int, policy: Policy, keys: Array, ground: Mapping[str, Array]
) -> tuple[_Tally, Mapping[str, Array]]:
    def one(key: Array):
        state = env.reset(key, dict(ground))
        zero = jnp.zeros_like(state.reward)
        tally = _Tally(
            jnp.ones((), bool), zero, zero, jnp.zeros(3, zero.dtype), jnp.zeros((), jnp.int32), zero, zero, zero
        )
        (end, tally), _ = jax.lax.scan(advance, (state, tally), None, length=actions)
        return tally, end.info["ground"]

    def advance(carry: tuple[State, _Tally], _):
        state, tally = carry
        after = env.step(state, policy(state.obs["state"]).astype(state.data.q.dtype))
        return (after, _tallied(env.task, env, tally, state, after)), None

    return jax.vmap(one)(keys)


def _tallied(task: Task, env: Environment, tally: _Tally, before: State, after: State) -> _Tally:
    command = before.info["command"]
    changed = jnp.any(after.info["command"] != command)
    _, rotation, linear, angular = base_of(env.robot, after.data)
    now = jnp.stack([*(rotation.T @ linear)[:2], angular[2]])
    share = min(1.0, task.period / STRIDE)
    velocity = tally.velocity + share * (now - tally.velocity)
    alive = tally.alive & (after.done == 0)
    counts = alive & (tally.since * task.period >= RESPONSE)
    off = velocity - command
    return _Tally(
        alive=alive,
        steps=tally.steps + tally.alive,
        reward=tally.reward + jnp.where(tally.alive, after.reward, 0.0),
        velocity=velocity,
        since=jnp.where(changed, 0, tally.since + 1),
        error=tally.error + jnp.where(counts, jnp.sqrt(off[0] ** 2 + off[1] ** 2), 0.0),
        turn_error=tally.turn_error + jnp.where(counts, jnp.abs(off[2]), 0.0),
        counted=tally.counted + counts,
    )
