"""Robots of a task, on the host's side: what single and vector environments of Gymnasium have in common."""

from __future__ import annotations

from collections.abc import Mapping

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils import seeding

from softground.bridges.graphics import find_backend
from softground.bridges.mujoco_video import MujocoPictures
from softground.bridges.playback import Playback, moments_of
from softground.bridges.side_view import side_view_frames
from softground.envs import AutoReset, Environment, State
from softground.envs.moment import base_of
from softground.errors import OptionError

PICTURE = 480, 320  # pixels, wide and high


class Robots:
    """Some robots of an environment, whose functions are compiled for all of them at once, also for one.

    That one robot is a batch of one makes it the same, bit for bit, as that robot among others.
    """

    def __init__(self, env: Environment, count: int, actions: int | None = None):
        """actions: after which an episode is cut short and followed by the next; None: others see to that."""
        self.env, self.count = env, count
        played: Environment | AutoReset = env if actions is None else AutoReset(env, actions)
        self._step = jax.jit(jax.vmap(played.step))
        self._reset = jax.jit(jax.vmap(played.reset))
        self._pictures: tuple[tuple[float, ...], MujocoPictures] | None = None  # with the ground that is in them

    def reset(self, seeds: list[int], ground: Mapping[str, float] | None = None) -> State:
        """Beginnings of episodes."""
        keys = jnp.stack([jax.random.key(seed) for seed in seeds])
        if not ground:
            return self._reset(keys)
        values = {name: jnp.full(len(seeds), value) for name, value in self.env.grounds.checked(ground).items()}
        return self._reset(keys, values)

    def step(self, state: State, actions: np.ndarray) -> State:
        """One action later; OptionError for actions of another shape, or that are not finite."""
        wanted = (self.count, self.env.action_size)
        if actions.shape != wanted:
            raise OptionError(f"actions must have shape {wanted}, one row a robot, got {actions.shape}")
        wrong = np.flatnonzero(~np.isfinite(actions).all(axis=1))
        if len(wrong):
            raise OptionError(f"actions must be finite numbers: those of robots {wrong.tolist()} are not")
        return self._step(state, actions.astype(state.reward.dtype))

    def picture(self, state: State, robot: int = 0) -> np.ndarray:
        """(height, width, 3) bytes: a robot on its ground, by MuJoCo's renderer; from the side where there is none."""
        one = jax.tree.map(lambda leaf: leaf[robot], state)
        play, backend = self._moment(one), find_backend()
        if backend is None:
            return next(side_view_frames(play, *PICTURE))
        ground = tuple(float(value) for value in one.info["ground"].values())
        if self._pictures is None or self._pictures[0] != ground:
            self.close()
            self._pictures = ground, MujocoPictures(play, backend, *PICTURE)
        return self._pictures[1].draw(play, 0, play.base[0])

    def close(self) -> None:
        """Free the renderer."""
        if self._pictures is not None:
            self._pictures[1].close()
            self._pictures = None

    def _moment(self, state: State) -> Playback:
        """What is drawn of a robot, on the surface that it stands on."""
        env, feet = self.env, len(self.env.robot.feet)
        surface = env.grounds.with_parameters({name: np.asarray(v) for name, v in state.info["ground"].items()}).surface
        q = np.asarray(state.data.q, float)
        base = np.asarray(base_of(env.robot, state.data)[0], float)
        return moments_of(
            env.robot,
            surface,
            np.asarray(state.data.time, float)[None],
            q[None],
            base[None],
            np.zeros((1, feet, 3)),
            np.zeros((1, feet)),
            env.task.name,
        )


def spaces_of(env: Environment) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Of observations and of actions, of one robot."""
    bound = np.full(env.action_size, env.task.action_bound, np.float32)
    size = env.observation_size["state"]
    return gymnasium.spaces.Box(-np.inf, np.inf, size, np.float32), gymnasium.spaces.Box(-bound, bound)


def seed_of(generator: np.random.Generator) -> int:
    """The next seed of an episode."""
    return int(generator.integers(2**31))


def generator_of(seed: int | None) -> np.random.Generator:
    """As Gymnasium makes one."""
    return seeding.np_random(seed)[0]
