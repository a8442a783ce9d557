"""Training by rsl_rl's PPO: a policy for a task on a ground, with progress, checkpoints and a way to go on."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import torch
from rsl_rl.algorithms import PPO

from softground.bridges.checkpoint import load_checkpoint, save_checkpoint
from softground.bridges.rsl_rl.vec_env import RslRlEnv
from softground.envs import AutoReset, Environment, Policy
from softground.errors import OptionError


@dataclass(frozen=True)
class Settings:
    """Of PPO, as rsl_rl names them; those of the published quadrupeds unless said otherwise.

    >>> from softground.bridges.rsl_rl import Settings
    >>> Settings(robots=1024).samples  # of an iteration
    24576
    """

    robots: int = 4096
    steps: int = 24  # of every robot in an iteration
    hidden: tuple[int, ...] = (256, 128, 64)  # numbers of the hidden layers, of actor and critic
    noise: float = 1.0  # of actions, at the start: a deviation in units of an action
    learning_rate: float = 1e-3  # at the start, dimensionless
    entropy: float = 0.01  # weight of the actions' entropy
    epochs: int = 5
    batches: int = 4
    discount: float = 0.99  # factor an action
    divergence: float = 0.01  # of Kullback and Leibler, dimensionless: the learning rate is adapted to it

    @property
    def samples(self) -> int:
        """Of an iteration."""
        return self.robots * self.steps

    def for_rsl_rl(self) -> dict[str, Any]:
        """As rsl_rl's runner wants it."""
        model = {
            "class_name": "MLPModel",
            "hidden_dims": list(self.hidden),
            "activation": "elu",
            "obs_normalization": True,
        }
        distribution = {"class_name": "GaussianDistribution", "init_std": self.noise}
        return {
            "num_steps_per_env": self.steps,
            "save_interval": 100,
            "multi_gpu": None,
            "obs_groups": {"actor": ["state"], "critic": ["privileged_state"]},
            "actor": model | {"distribution_cfg": distribution},
            "critic": dict(model),
            "algorithm": {
                "class_name": "PPO",
                "learning_rate": self.learning_rate,
                "entropy_coef": self.entropy,
                "num_learning_epochs": self.epochs,
                "num_mini_batches": self.batches,
                "gamma": self.discount,
                "desired_kl": self.divergence,
            },
        }


class Training:
    """A training that has been begun: iterations of collecting and learning, the policy so far, checkpoints.

    >>> import softground as sg
    >>> from softground.bridges.rsl_rl import Settings, Training
    >>> training = Training(sg.envs.make("robosimian"), Settings(robots=4, steps=2, hidden=(8,)))
    >>> sorted(training.iterate())[:3]
    ['collect_seconds', 'episode_actions', 'episode_reward']
    """

    def __init__(self, env: Environment, settings: Settings | None = None, seed: int = 0):
        self.settings = settings or Settings()
        torch.manual_seed(seed)
        self.seed, self.iterations, self.seconds = seed, 0, 0.0
        self.env = RslRlEnv(env, self.settings.robots, seed)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its networks
            device = str(self.env.device)
            self.ppo = PPO.construct_algorithm(
                self.env.get_observations(), self.env, self.settings.for_rsl_rl(), device
            )
        self.ppo.train_mode()
        self.env.episode_length_buf = torch.randint(0, self.env.env.actions, (self.settings.robots,))
        self._seen = self.env.get_observations()

    @property
    def actions(self) -> int:
        """Of all robots so far."""
        return self.iterations * self.settings.samples

    def iterate(self) -> dict[str, float]:
        """Collect and learn once: means of rewards and metrics over the iteration, and its times (s)."""
        began = time.perf_counter()
        rewards, logs = [], []
        with torch.inference_mode():
            for _ in range(self.settings.steps):
                actions = self.ppo.act(self._seen)
                self._seen, reward, done, extras = self.env.step(actions)
                self.ppo.process_env_step(self._seen, reward, done, extras)
                rewards.append(reward.mean())
                logs.append(torch.stack(list(extras["log"].values())))
            reward, means = float(torch.stack(rewards).mean()), torch.stack(logs).mean(0).tolist()  # waits for all
            collected = time.perf_counter()
            self.ppo.compute_returns(self._seen)
        losses = self.ppo.update()
        ended = time.perf_counter()
        self.iterations += 1
        self.seconds += ended - began
        last = self.env.state.info["last_episode"]
        return {
            "reward": reward / self.env.env.task.reward_scale,
            "episode_actions": float(last["length"].mean()),
            "episode_reward": float(last["reward"].mean()),
            "collect_seconds": collected - began,
            "learn_seconds": ended - collected,
            "noise": float(self.ppo.get_policy().output_std.detach().mean()),
            "learning_rate": float(self.ppo.learning_rate),
            **{f"loss/{name}": float(value) for name, value in losses.items()},
            **dict(zip(self.env.names, means, strict=True)),
        }

    def policy(self) -> Policy:
        """The policy so far."""
        env = self.env.env
        card = {
            **_about(self.env.env.env, self.settings),
            "observations": list(env.task.observations),
            "trainer": f"rsl-rl-lib {importlib.metadata.version('rsl-rl-lib')}",
            "softground": importlib.metadata.version("softground"),
            "device": jax.devices()[0].device_kind,
            "seed": self.seed,
            "actions": self.actions,
            "seconds": round(self.seconds, 1),
        }
        return policy_of(self.ppo.get_policy(), card)

    def save(self, path: str | Path) -> Path:
        """Write a checkpoint, from which `resume` goes on."""
        content = _about(self.env.env.env, self.settings) | {
            "iterations": self.iterations,
            "seconds": self.seconds,
            "seed": self.seed,
            "ppo": self.ppo.save(),
        }
        return save_checkpoint(Path(path), content)

    def resume(self, path: str | Path) -> None:
        """Go on from a checkpoint; robots begin new episodes."""
        content = _checkpoint_of(Path(path), self.env.env.env, self.settings)
        self.ppo.load(content["ppo"], None, True)
        self.iterations, self.seconds = content["iterations"], content["seconds"]
        torch.manual_seed(self.seed + self.iterations)  # not the same numbers once more
        keys = jax.random.split(jax.random.fold_in(jax.random.key(self.seed), self.iterations), self.settings.robots)
        self.env.state = jax.jit(jax.vmap(self.env.env.reset))(keys)
        self._seen = self.env.get_observations()


def train(
    env: Environment,
    folder: str | Path,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    iterations: int | None = None,
    seconds: float | None = None,
    every: int = 50,
    resume: bool = False,
    report: Callable[[int, dict[str, float]], None] | None = None,
) -> Path:
    """Train a policy, and write it with its checkpoints to a folder: path of the policy file.

    Until `iterations` are done, or `seconds` have been spent learning, whichever comes first; Ctrl-C ends it early and
    keeps what was learned. A checkpoint and the policy so far are written every so many iterations; `resume` goes on
    from there. report: called with the number of each iteration and what `Training.iterate` returned.

        train(sg.envs.make("go1", "sand"), "go1_on_sand", seconds=240)
    """
    if iterations is None and seconds is None:
        raise OptionError("say how long to train: iterations=..., or seconds=...")
    folder = Path(folder)
    checkpoint, result = folder / "checkpoint.npz", folder / "policy.npz"
    if resume:
        _checkpoint_of(checkpoint, env, settings or Settings())  # before minutes are spent on compiling
    elif checkpoint.exists():
        raise OptionError(f"{checkpoint} is there already: resume from it, or choose another folder")
    training = Training(env, settings, seed)
    if resume:
        training.resume(checkpoint)

    def keep() -> None:
        training.save(checkpoint)
        training.policy().save(result)

    try:
        while (iterations is None or training.iterations < iterations) and (
            seconds is None or training.seconds < seconds
        ):
            found = training.iterate()
            if not np.isfinite(found["reward"]):
                raise OptionError(
                    f"iteration {training.iterations} left numbers that are not finite; {checkpoint} is sound"
                )
            if report is not None:
                report(training.iterations, found)
            if training.iterations % every == 0:
                keep()
    except KeyboardInterrupt:
        pass
    keep()
    return result


def _about(env: Environment, settings: Settings) -> dict[str, Any]:
    """What a training that goes on must have in common with the one that was begun."""
    return {
        "task": env.task.name,
        "ground": env.grounds.name,
        "vary": {name: list(span) for name, span in env.grounds.ranges.items()},
        "settings": asdict(settings),
    }


def _checkpoint_of(path: Path, env: Environment, settings: Settings) -> dict[str, Any]:
    """What a checkpoint holds; OptionError for one of another training."""
    content = load_checkpoint(path)
    for name, mine in _about(env, settings).items():
        kept, value = _as_json(content.get(name)), _as_json(mine)
        if kept != value:
            raise OptionError(
                f"{path} is of a training with another {name} ({kept}, not {value}): go on with the same, or begin "
                "anew in another folder"
            )
    return content


def policy_of(model: torch.nn.Module, card: dict[str, Any]) -> Policy:
    """The mean of an actor of rsl_rl (`MLPModel`) as a policy."""
    state = {name: tensor.detach().cpu().numpy().copy() for name, tensor in model.state_dict().items()}
    numbers = sorted(int(name.split(".")[1]) for name in state if name.startswith("mlp.") and name.endswith(".weight"))
    layers = [(state[f"mlp.{k}.weight"], state[f"mlp.{k}.bias"]) for k in numbers]
    normaliser: Any = model.obs_normalizer
    mean, deviation = (state[f"obs_normalizer.{part}"][0] for part in ("_mean", "_std"))
    return Policy(mean, deviation + normaliser.eps, layers, "elu", card=card)


def physics_rate(env: Environment, robots: int, actions: int = 50, seed: int = 0) -> float:
    """Actions a second of all robots, without a policy or a trainer: random actions in one compiled loop."""
    looped = AutoReset(env)

    def loop(states, key):
        def advance(states, key):
            noise = jax.random.uniform(key, (robots, env.action_size), states.data.q.dtype, -1.0, 1.0)
            return jax.vmap(looped.step)(states, noise), None

        return jax.lax.scan(advance, states, jax.random.split(key, actions))[0]

    compiled = jax.jit(loop)
    states = jax.jit(jax.vmap(looped.reset))(jax.random.split(jax.random.key(seed), robots))
    states = jax.block_until_ready(compiled(states, jax.random.key(1)))
    began = time.perf_counter()
    jax.block_until_ready(compiled(states, jax.random.key(2)))
    return robots * actions / (time.perf_counter() - began)


def _as_json(part: Any) -> Any:
    return (
        list(map(_as_json, part))
        if isinstance(part, list | tuple)
        else ({key: _as_json(value) for key, value in part.items()} if isinstance(part, dict) else part)
    )
