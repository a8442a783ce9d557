"""Brax's PPO on softground's environments: what its `train` takes, and its result as a policy (extra [rl]).

from brax.training.agents.ppo import networks, train
from softground.bridges.brax import network_factory, policy_of, wrap

env = sg.envs.make("go1", "sand")
_, params, _ = train.train(env, num_timesteps=..., episode_length=env.task.actions, wrap_env_fn=wrap,
                           network_factory=network_factory())
policy_of(params, env).save("go1.npz")
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.envs import AutoReset, Environment, Policy, State
from softground.errors import OptionError


class BraxBatch:
    """A batch of robots with the two functions that Brax calls: keys (n,) -> State, (State, actions (n, nu)) -> State.

    Brax's policies end in a tanh: actions of 1 are the task's greatest ones.
    """

    def __init__(self, env: Environment, actions: int):
        self.env, self.unwrapped = AutoReset(env, actions), env
        self.action_size, self.observation_size = env.action_size, env.observation_size

    def reset(self, rng: Array) -> State:
        """Beginnings of episodes, one for each key."""
        return _with_brax_names(jax.vmap(self.env.reset)(rng))

    def step(self, state: State, action: Float[Array, "n nu"]) -> State:
        """One action later."""
        return _with_brax_names(jax.vmap(self.env.step)(state, self.unwrapped.task.action_bound * action))


def _with_brax_names(state: State) -> State:
    """The state with what Brax's PPO looks for beside `truncation`: of the last episode that ended."""
    last = state.info["last_episode"]
    lengths = {"sum_reward": last["reward"], "length": last["length"].astype(last["reward"].dtype)}
    return state.replace(info=state.info | {"episode_metrics": lengths, "episode_done": state.done})


def wrap(env: Environment, episode_length: int, action_repeat: int = 1, randomization_fn: Any = None) -> BraxBatch:
    """For `wrap_env_fn` of Brax's `train`: episodes that follow one another, each on a ground of its own."""
    if action_repeat != 1 or randomization_fn is not None:
        raise OptionError("an action is held for the task's period, and what varies is given to make(..., vary=...)")
    return BraxBatch(env, episode_length)


def network_factory(hidden: tuple[int, ...] = (128, 128, 128, 128)) -> Callable[..., Any]:
    """For `network_factory` of Brax's `train`: the actor sees "state", the critic "privileged_state"."""
    from brax.training.agents.ppo import networks

    return partial(
        networks.make_ppo_networks,
        policy_hidden_layer_sizes=hidden,
        value_hidden_layer_sizes=hidden,
        policy_obs_key="state",
        value_obs_key="privileged_state",
    )


def policy_of(params: Any, env: Environment) -> Policy:
    """What Brax's `train` returned, its observations normalised, as a policy."""
    normaliser, network = params[0], params[1]["params"]
    layers = [network[f"hidden_{k}"] for k in range(len(network))]
    pairs = [(np.asarray(layer["kernel"]).T, np.asarray(layer["bias"])) for layer in layers]
    weights, biases = pairs[-1]
    pairs[-1] = weights[: env.action_size], biases[: env.action_size]  # the rest is the deviation of the actions
    card = {"task": env.task.name, "observations": list(env.task.observations), "trainer": "brax"}
    mean, deviation = np.asarray(normaliser.mean["state"]), np.asarray(normaliser.std["state"])
    return Policy(mean, deviation, pairs, "swish", env.task.action_bound, card)
