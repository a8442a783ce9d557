"""IV.D.1: PPO and TRPO on flat sand, with the paper's reward, endings and number of steps.

Kept libraries with their default settings: stable-baselines3 and sb3-contrib where the authors took OpenAI's baselines,
on `softground/RoboSimian-v0` (`envs/tasks/robosimian.py` says what is the paper's and what is ours).
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from softground.bridges.side_pictures import blank
from softground.envs import Environment, Policy, controller_of, evaluate, make
from softground.errors import OptionError
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.table_one import STATED_VELOCITY_ERROR
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

STEPS, QUICK_STEPS = 1_000_000, 4096
SEEDS, QUICK_SEEDS = (0, 1, 2), (0,)
ALGORITHMS = {"PPO": "stable_baselines3", "TRPO": "sb3_contrib"}
EPISODES = 20
"""Roll-outs of every trained policy."""
STATED_STEPS = 50
"""Within which the paper's roll-outs ended."""
BIN = 20_000
"""Steps over which a learning curve is averaged."""


@dataclass(frozen=True)
class Trained:
    """What came of one training."""

    algorithm: str
    seed: int
    steps: np.ndarray  # at which episodes ended
    lengths: np.ndarray  # of these, actions
    rewards: np.ndarray  # of these, sums
    policy: Policy


def perform(options: Options) -> Findings:
    _check_installed()
    steps, seeds = (QUICK_STEPS, QUICK_SEEDS) if options.quick else (STEPS, SEEDS)
    jobs = [(algorithm, seed) for algorithm in ALGORITHMS for seed in seeds]
    if options.workers > 1:
        context = multiprocessing.get_context("spawn")  # threads of JAX and PyTorch do not survive a fork
        with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
            done = list(pool.map(partial(trained, steps=steps), *zip(*jobs, strict=True)))
    else:
        done = [trained(*job, steps=steps) for job in jobs]
    env = make("robosimian")
    runs = {f"{one.algorithm}, seed {one.seed}": rolled_out(one.policy, env) for one in done}
    rows = {label: measured(one.policy, env, runs[label]) for label, one in zip(runs, done, strict=True)}
    first = {algorithm: f"{algorithm}, seed {seeds[0]}" for algorithm in ALGORITHMS}
    return Findings(
        checks=checks(rows),
        metrics={"steps": steps, **rows},
        tables=[Table("reinforcement", "PPO and TRPO on flat sand", [{"": name} | row for name, row in rows.items()])],
        figures={"reinforcement": figure(done)},
        videos={}
        if options.quick
        else {name: Video(runs[label], f"{label}, 1 M steps") for name, label in first.items()},
        notes=[
            gaits.STRENGTH_NOTE,
            "stable-baselines3 and sb3-contrib with their default settings, in place of OpenAI's baselines, which are "
            "no longer kept; one robot, as there.",
            "Gains of the PD controller and the range of actions (+-0.5 rad about the stance) are ours: the paper does "
            "not give them.",
        ],
    )


def _check_installed() -> None:
    try:
        import sb3_contrib  # noqa: F401
        import stable_baselines3  # noqa: F401
    except ModuleNotFoundError as error:
        raise OptionError(f"this study needs the package {error.name}: pip install softground[baselines]") from error


def trained(algorithm: str, seed: int, steps: int) -> Trained:
    """Train one policy, and say on standard error how it goes."""
    import importlib

    import gymnasium
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    import softground.bridges.gymnasium  # noqa: F401 - registers the environment

    torch.set_num_threads(1)  # the networks are small
    ended: list[tuple[int, float, float]] = []
    console = Console(stderr=True, highlight=False)

    class Diary(BaseCallback):
        """Writes down the episodes that end."""

        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    ended.append((self.num_timesteps, info["episode"]["l"], info["episode"]["r"]))
            if self.num_timesteps % BIN == 0 and ended:
                lengths = [length for at, length, _ in ended if at > self.num_timesteps - BIN]
                console.print(
                    f"{algorithm}, seed {seed}: {self.num_timesteps:,} of {steps:,} steps, episodes of "
                    f"{np.mean(lengths or [0]):.0f} steps",
                    soft_wrap=True,
                )
            return True

    env = gymnasium.make("softground/RoboSimian-v0")
    made = getattr(importlib.import_module(ALGORITHMS[algorithm]), algorithm)
    model = made("MlpPolicy", env, seed=seed, device="cpu")
    model.learn(steps, callback=Diary())
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


def rolled_out(policy: Policy, env: Environment) -> Run:
    """What the policy does for the horizon of the planner, from the stance; the endings do not stop it."""
    low, high = env.grounds.ranges["strength"]
    simulator = env.on({"strength": np.asarray((low + high) / 2)})
    controller = controller_of(policy, env, (gaits.SPEED, 0.0, 0.0))
    return simulator.run(controller, env.task.seconds, period=env.dt, height=env.task.start.height)


def measured(policy: Policy, env: Environment, run: Run) -> Row:
    """Lengths of episodes, and Mv and Mc of the part of a roll-out that the endings leave."""
    episodes = evaluate(policy, env, EPISODES, seed=1)
    steps = episodes.seconds / env.dt
    end = max(1, int(np.median(steps)))
    q, v = run["configuration"].values[:end], run["velocity"].values[:end]
    power = np.abs(run["torque"].values[:end] * v[:, np.array(env.robot.actuated)]).sum()
    way = float(q[-1, 0] - q[0, 0])
    weight = float(env.robot.weight)
    return {
        "steps, median": float(np.median(steps)),
        "steps, longest": float(steps.max()),
        "survive 9 s": float(episodes.survived.mean()),
        "way (m)": way,
        "speed (m/s)": float(v[:, 0].mean()),
        "Mv (m/s)": float(np.abs(v[:, 0] - gaits.SPEED).mean()),
        "cost of transport": power * env.dt / (weight * way) if way > 0.01 else None,
        "reward, mean": float(episodes.reward.mean()),
    }


def checks(rows: dict[str, Row]) -> list[Check]:
    """What the paper says: no stable gait; within 50 steps it is over."""
    longest = max(row["steps, median"] for row in rows.values())
    best = min(row["Mv (m/s)"] for row in rows.values())
    walkers = [row for row in rows.values() if row["survive 9 s"] > 0.5 and row["Mv (m/s)"] < 0.1]
    return [
        Check(
            "roll-outs end early, as the paper says: longest median (steps)",
            bool(longest < STATED_STEPS),
            longest,
            f"< {STATED_STEPS}",
        ),
        Check("none walks: policies that last 9 s within 0.1 m/s of 0.4 m/s", not walkers, len(walkers), "0"),
        Check(
            "the best follows the speed worse than the planned gait: Mv (m/s)",
            bool(best > STATED_VELOCITY_ERROR),
            best,
            f"> {STATED_VELOCITY_ERROR:g}",
        ),
    ]


def figure(done: list[Trained]) -> Figure:
    """Lengths and rewards of episodes over the steps of training; a line a seed."""
    with matplotlib.rc_context(STYLE):
        result = blank(7.2, 2.5)
        panels = result.subplots(1, 2, sharex=True)
        for one in done:
            colour = COLOURS[list(ALGORITHMS).index(one.algorithm)]
            for axes, values in zip(panels, (one.lengths, one.rewards), strict=True):
                axes.plot(*_binned(one.steps, values), color=colour, lw=1, label=f"{one.algorithm} {one.seed}")
        panels[0].axhline(STATED_STEPS, color="#888888", lw=0.8, ls=":")
        panels[0].set(xlabel="steps", ylabel="steps of an episode", yscale="log")
        panels[1].set(xlabel="steps", ylabel="reward of an episode")
        panels[0].legend(fontsize=6)
    return result


def _binned(at: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over `BIN` steps each."""
    bins = (at // BIN).astype(int)
    found = np.unique(bins)
    return (found + 0.5) * BIN, np.array([values[bins == one].mean() for one in found])


STUDY = Study(
    "zhu2021",
    "reinforcement",
    "PPO and TRPO on flat sand (IV.D.1)",
    "after 1 M steps of 5 ms neither has a stable gait: roll-outs fall quickly, and end within 50 steps.",
    perform,
)
