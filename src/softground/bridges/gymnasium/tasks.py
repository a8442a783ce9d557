"""Softground's own tasks as environments of Gymnasium, single and vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from softground.bridges.gymnasium.robots import Robots, generator_of, seed_of, spaces_of
from softground.envs import State, Task, make
from softground.errors import OptionError, unknown_name
from softground.media.base import Medium
from softground.simulation import Ground
from softground.simulation.simulator import Backend

MODES = ("rgb_array",)


class TaskEnv(gymnasium.Env):
    """A task of `sg.envs` for Gymnasium.

    ground, vary: as of `sg.envs.make`; what varies is drawn for every episode, or chosen for the next one by
    `reset(options={"ground": {"strength": 2.0}})`. Observations are those of the policy; what a critic may see is
    `info["privileged_state"]`, and the parameters of the ground are `info["ground"]`.

    >>> import gymnasium
    >>> import softground.bridges.gymnasium
    >>> env = gymnasium.make("softground/RoboSimian-v0", ground="sand", vary={"strength": (1.5, 3.0)})
    >>> env.action_space.shape
    (12,)
    """

    metadata: dict[str, Any] = {"render_modes": list(MODES)}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        task: str | Task,
        ground: str | Medium | Ground | None = None,
        vary: Mapping[str, Any] | None = None,
        backend: Backend = "auto",
        render_mode: str | None = None,
    ):
        self.robots = Robots(make(task, ground, vary, backend), 1)
        self.observation_space, self.action_space = spaces_of(self.robots.env)
        self.render_mode = _checked_mode(render_mode)
        self.metadata = self.metadata | {"render_fps": round(1 / self.robots.env.dt)}
        self._state: State | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """An episode's beginning."""
        super().reset(seed=seed)
        self._state = self.robots.reset([seed_of(self.np_random)], (options or {}).get("ground"))
        return _observed(self._state)[0], _told(self._state)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        """One action; time is up by the wrapper that `gymnasium.make` puts around."""
        if self._state is None:
            raise OptionError("reset the environment before its first step")
        action = np.asarray(action)
        if action.shape != self.action_space.shape:
            raise OptionError(
                f"an action must have shape {self.action_space.shape}, one number for every actuator, got "
                f"{action.shape}: for several robots use gymnasium.make_vec"
            )
        self._state = self.robots.step(self._state, action[None])
        ended = bool(self._state.done[0])
        return _observed(self._state)[0], float(self._state.reward[0]), ended, False, _told(self._state)

    def render(self) -> np.ndarray | None:
        """The robot on its ground as it is now, if the render mode is "rgb_array"."""
        if self.render_mode is None or self._state is None:
            return None
        return self.robots.picture(self._state)

    def close(self) -> None:
        """Free the renderer."""
        self.robots.close()


class TaskVectorEnv(VectorEnv):
    """Many robots of a task for Gymnasium, computed together; an episode that has ended is followed by the next.

    Arguments as of `TaskEnv`. Robots are reset in the step in which they end (`AutoresetMode.SAME_STEP`): then
    `info["final_obs"]` has the last observation of the episode.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": list(MODES),
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        task: str | Task,
        num_envs: int = 1,
        ground: str | Medium | Ground | None = None,
        vary: Mapping[str, Any] | None = None,
        backend: Backend = "auto",
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ):
        self.num_envs = num_envs
        env = make(task, ground, vary, backend)
        self.robots = Robots(env, num_envs, actions=max_episode_steps or env.task.actions)
        self.single_observation_space, self.single_action_space = spaces_of(self.robots.env)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = _checked_mode(render_mode)
        self.metadata = self.metadata | {"render_fps": round(1 / self.robots.env.dt)}
        self._generators = [generator_of(None) for _ in range(num_envs)]
        self._state: State | None = None

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict]:
        """Beginnings of episodes; one seed stands for itself and those that follow it."""
        if options:
            raise OptionError("robots of a vector environment draw their grounds: narrow the ranges of vary instead")
        seeds = [None] * self.num_envs if seed is None else seed
        seeds = [seeds + k for k in range(self.num_envs)] if isinstance(seeds, int) else seeds
        if len(seeds) != self.num_envs:
            raise OptionError(f"there must be a seed for each of {self.num_envs} robots, got {len(seeds)}")
        for k, one in enumerate(seeds):
            if one is not None:
                self._generators[k] = generator_of(one)
        self._state = self.robots.reset([seed_of(generator) for generator in self._generators])
        return _observed(self._state), _told_all(self._state)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        """One action of every robot."""
        if self._state is None:
            raise OptionError("reset the environment before its first step")
        self._state = self.robots.step(self._state, np.asarray(actions))
        late = np.asarray(self._state.info["truncation"]) > 0
        done = np.asarray(self._state.done) > 0
        info = _told_all(self._state)
        if done.any():
            final = np.asarray(self._state.info["final_obs"]["state"])
            found = np.full(self.num_envs, None, object)
            for k in np.flatnonzero(done):
                found[k] = final[k]
            info |= {"final_obs": found, "_final_obs": done}
        return _observed(self._state), np.asarray(self._state.reward, np.float64), done & ~late, late, info

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Every robot on its ground."""
        if self.render_mode is None or self._state is None:
            return None
        return tuple(self.robots.picture(self._state, k) for k in range(self.num_envs))

    def close_extras(self, **_: Any) -> None:
        """Free the renderer."""
        self.robots.close()


def _checked_mode(mode: str | None) -> str | None:
    if mode is not None and mode not in MODES:
        raise OptionError(unknown_name("render mode", mode, MODES))
    return mode


def _observed(state: State) -> np.ndarray:
    return np.asarray(state.obs["state"], np.float32)


def _told_all(state: State) -> dict[str, Any]:
    ground = {name: np.asarray(values) for name, values in state.info["ground"].items()}
    return {"ground": ground, "privileged_state": np.asarray(state.obs["privileged_state"], np.float32)}


def _told(state: State) -> dict[str, Any]:
    told = _told_all(state)
    ground = {name: float(values[0]) for name, values in told["ground"].items()}
    return {"ground": ground, "privileged_state": told["privileged_state"][0]}
