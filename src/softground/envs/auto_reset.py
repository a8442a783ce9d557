"""Episodes one after another: a robot whose episode has ended, or whose time is up, begins anew in the same step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from softground.arrays import Array
from softground.envs.environment import Environment, State


class AutoReset:
    """An environment in which episodes follow one another, with the same two functions.

    In a state with `done` the reward and the metrics are of the episode that has ended, everything else of the next;
    `info["truncation"]` is 1 where only time was up, `info["final_obs"]` holds the last observations of the episode,
    and `info["episode"]` its number of actions and sum of rewards so far. Every episode has a ground of its own.

    >>> import jax, softground as sg
    >>> env = sg.envs.AutoReset(sg.envs.make("robosimian"))
    >>> states = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 3))
    >>> states.done.shape
    (3,)
    """

    def __init__(self, env: Environment, actions: int | None = None):
        """actions: after which an episode is cut short, by default the task's."""
        self.env = env
        self.actions = env.task.actions if actions is None else actions

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, rng: Array) -> State:
        """The first episode's beginning."""
        return self._counted(self.env.reset(rng))

    def step(self, state: State, action: Array) -> State:
        """One action later, perhaps in the next episode."""
        after = self.env.step(state, action)
        zero = jnp.zeros_like(after.reward)
        late = after.info["steps"] >= self.actions
        over = (after.done > 0) | late
        length, total = state.info["episode"]["length"] + 1, state.info["episode"]["reward"] + after.reward
        truncation = jnp.where(late & ~(after.done > 0), 1.0, 0.0).astype(zero.dtype)
        fresh = self.env.reset(jax.random.fold_in(after.info["rng"], 1))  # an episode that goes on draws as it would
        carried = after.replace(info={name: after.info[name] for name in fresh.info})
        chosen = jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, carried)
        info = chosen.info | {
            "truncation": truncation,
            "final_obs": after.obs,
            "episode": {"length": jnp.where(over, 0, length), "reward": jnp.where(over, zero, total)},
            "last_episode": {
                "length": jnp.where(over, length, state.info["last_episode"]["length"]),
                "reward": jnp.where(over, total, state.info["last_episode"]["reward"]),
            },
        }
        return State(chosen.data, chosen.obs, after.reward, over.astype(zero.dtype), after.metrics, info)

    def _counted(self, state: State) -> State:
        zero = jnp.zeros_like(state.reward)
        count = {"length": jnp.zeros((), jnp.int32), "reward": zero}
        info = {"truncation": zero, "final_obs": state.obs, "episode": count, "last_episode": count}
        return state.replace(info=state.info | info)
