"""PPO and TRPO on `softground/RoboSimian-v0`, by kept libraries with their default settings; resumable.

A training that is stopped goes on from its last checkpoint: weights, optimiser, steps, and how its episodes ended. It
begins with another episode and draws other random numbers than it would have without the stop.
"""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from softground.cache import cache_folder
from softground.envs import Environment, Policy, make
from softground.envs.tasks.robosimian import ROBOSIMIAN
from softground.errors import OptionError

ALGORITHMS = {"PPO": "stable_baselines3", "TRPO": "sb3_contrib"}
EVERY = 50_000
"""Steps between two checkpoints."""


@dataclass(frozen=True)
class Trained:
    """What came of one training."""

    algorithm: str
    seed: int
    steps: np.ndarray  # at which episodes ended
    lengths: np.ndarray  # of these, actions
    rewards: np.ndarray  # of these, sums
    policy: Policy


def check_installed() -> None:
    """OptionError where the libraries are missing."""
    for name in ALGORITHMS.values():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            text = f"this study needs the package {error.name}: pip install softground[baselines]"
            raise OptionError(text) from error


def checkpoint_of(algorithm: str, seed: int, steps: int) -> Path:
    """File in the cache of a training, named after what it depends on."""
    parts = version("softground"), version(ALGORITHMS[algorithm]), ROBOSIMIAN, steps
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
    return cache_folder() / f"policies-{digest}" / f"{algorithm}-{seed}.npz"


def trained(algorithm: str, seed: int, steps: int) -> Trained:
    """Train one policy, from where its checkpoint is, and say on standard error how it goes."""
    import gymnasium
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    import softground.bridges.gymnasium  # noqa: F401 - registers the environment
    from softground.bridges.checkpoint import load_checkpoint, save_checkpoint

    torch.set_num_threads(1)  # the networks are small
    console = Console(stderr=True, highlight=False)
    path = checkpoint_of(algorithm, seed, steps)
    kept = load_checkpoint(path) if path.exists() else None
    done = 0 if kept is None else kept["steps"]
    ended: list[list[float]] = [] if kept is None else kept["episodes"].tolist()

    class Diary(BaseCallback):
        """Writes down the episodes that end, and checkpoints between updates."""

        saved = done

        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    ended.append([self.num_timesteps, info["episode"]["l"], info["episode"]["r"]])
            return True

        def _on_rollout_start(self) -> None:
            if self.num_timesteps >= self.saved + EVERY:
                self.save()

        def save(self) -> None:
            """Write a checkpoint, and say how long the last episodes were."""
            save_checkpoint(
                path,
                {
                    "steps": int(self.model.num_timesteps),
                    "episodes": torch.tensor(ended, dtype=torch.float32).reshape(-1, 3),
                    "policy": dict(self.model.policy.state_dict()),
                    "optimizer": self.model.policy.optimizer.state_dict(),
                },
            )
            lengths = [length for at, length, _ in ended if at > self.saved] or [0]
            self.saved = int(self.model.num_timesteps)
            console.print(
                f"{algorithm}, seed {seed}: {self.saved:,} of {steps:,} steps, episodes of {np.mean(lengths):.0f}",
                soft_wrap=True,
            )

    env = gymnasium.make("softground/RoboSimian-v0")
    made = getattr(importlib.import_module(ALGORITHMS[algorithm]), algorithm)
    drawn = seed if not done else int(np.random.SeedSequence([seed, done]).generate_state(1)[0])
    model = made("MlpPolicy", env, seed=drawn, device="cpu")
    if kept is not None:
        model.policy.load_state_dict(kept["policy"])
        model.policy.optimizer.load_state_dict(kept["optimizer"])
        model.num_timesteps = done
    if done < steps:
        diary = Diary()
        model.learn(steps - done, callback=diary, reset_num_timesteps=not done)
        diary.save()
    env.close()
    at, lengths, rewards = np.array(ended).reshape(-1, 3).T
    return Trained(algorithm, seed, at, lengths, rewards, policy_of(model, make("robosimian")))


def policy_of(model: Any, env: Environment) -> Policy:
    """The mean action of a model of stable-baselines3 with its default network."""
    state = {name: tensor.detach().cpu().numpy() for name, tensor in model.policy.state_dict().items()}
    names = [f"mlp_extractor.policy_net.{k}" for k in (0, 2)] + ["action_net"]
    layers = [(state[f"{name}.weight"], state[f"{name}.bias"]) for name in names]
    size = env.observation_size["state"][0]
    card = {"task": env.task.name, "observations": list(env.task.observations), "trainer": type(model).__name__}
    return Policy(np.zeros(size), np.ones(size), layers, "tanh", card=card)
