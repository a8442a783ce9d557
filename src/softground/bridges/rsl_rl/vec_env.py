"""A batch of robots as rsl_rl wants it: tensors of PyTorch in, tensors out, the numbers shared, not copied."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from softground.envs import AutoReset, Environment
from softground.errors import OptionError


class RslRlEnv(VecEnv):
    """Robots in an environment, for `rsl_rl.runners.OnPolicyRunner`.

    Observations are "state" (for the actor) and "privileged_state" (for the critic); `extras` have "time_outs" and,
    under "log", the means of the environment's metrics. Computed where JAX computes, in single precision.

    >>> import softground as sg
    >>> from softground.bridges.rsl_rl import RslRlEnv
    >>> robots = RslRlEnv(sg.envs.make("robosimian"), 4)
    >>> robots.get_observations()["state"].shape[0]
    4
    """

    def __init__(self, env: Environment, num_envs: int, seed: int = 0, actions: int | None = None):
        """actions: of an episode, by default the task's."""
        if num_envs < 1:
            raise OptionError(f"there must be at least one robot, got {num_envs}")
        self.env = AutoReset(env, actions)
        self.num_envs, self.num_actions, self.max_episode_length = num_envs, env.action_size, self.env.actions
        self.device = torch.device("cuda" if jax.default_backend() == "gpu" else "cpu")
        self.cfg: dict[str, Any] = {"task": env.task.name}
        self._step = jax.jit(self._stepped)
        self.state = jax.jit(jax.vmap(self.env.reset))(jax.random.split(jax.random.key(seed), num_envs))
        self.names = tuple(sorted(self.state.metrics))

    def _stepped(self, state, actions):
        after = jax.vmap(self.env.step)(state, actions)
        means = jnp.stack([after.metrics[name].mean() for name in self.names])
        numbers = (after.obs, after.reward, after.done, after.info["truncation"], means)
        return after, jax.tree.map(lambda leaf: leaf.astype(jnp.float32), numbers)

    def get_observations(self) -> TensorDict:
        """Of all robots, now."""
        return self._tensors(jax.tree.map(lambda leaf: leaf.astype(jnp.float32), self.state.obs))

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """One action of every robot."""
        if tuple(actions.shape) != (self.num_envs, self.num_actions):
            wanted = (self.num_envs, self.num_actions)
            raise OptionError(f"actions must have shape {wanted}, one row a robot, got {tuple(actions.shape)}")
        told = jnp.from_dlpack(actions.detach().contiguous())
        self.state, (obs, reward, done, late, means) = self._step(self.state, told)
        reward, done, late, means = (torch.from_dlpack(leaf) for leaf in (reward, done, late, means))
        extras = {"time_outs": late, "log": {f"/{name}": means[k] for k, name in enumerate(self.names)}}
        return self._tensors(obs), reward, done.long(), extras

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Actions since the episodes of the robots began."""
        return torch.from_dlpack(self.state.info["steps"]).long()

    @episode_length_buf.setter
    def episode_length_buf(self, lengths: torch.Tensor) -> None:
        steps = jnp.asarray(np.asarray(lengths.cpu()), jnp.int32)
        self.state = self.state.replace(info=self.state.info | {"steps": steps})

    def _tensors(self, obs: dict[str, jax.Array]) -> TensorDict:
        found: Any = {name: torch.from_dlpack(value) for name, value in obs.items()}
        return TensorDict(found, batch_size=[self.num_envs], device=self.device)
