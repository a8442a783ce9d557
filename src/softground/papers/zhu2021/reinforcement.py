"""IV.D.1: PPO and TRPO on flat sand, with the paper's reward, endings and number of steps.

Kept libraries with their default settings: stable-baselines3 and sb3-contrib where the authors took OpenAI's baselines,
on `softground/RoboSimian-v0` (`envs/tasks/robosimian.py` says what is the paper's and what is ours).
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.envs import Environment, Policy, controller_of, evaluate, make
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.policy_training import ALGORITHMS, Trained, check_installed, trained
from softground.papers.zhu2021.table_one import SLOPES
from softground.planning import library
from softground.planning.guesses import down_sampled
from softground.planning.trajectory import GaitMetrics, gait_metrics
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE
from softground.surfaces import Plane

STEPS, QUICK_STEPS = 1_000_000, 4096
SEEDS, QUICK_SEEDS = (0, 1, 2), (0,)
EPISODES = 20
"""Roll-outs of every trained policy."""
BIN = 20_000
"""Steps over which a learning curve is averaged."""
STANDS = 0.01
"""Way (m) below which a robot has not moved."""


def perform(options: Options) -> Findings:
    check_installed()
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
        tables=[
            Table(
                "reinforcement",
                "PPO and TRPO on flat sand, and the planner",
                [*({"": name} | row for name, row in rows.items()), *planned_rows()],
            )
        ],
        figures={"reinforcement": figure(done)},
        videos={}
        if options.quick
        else {name: Video(runs[label], f"{label}, 1 M steps") for name, label in first.items()},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            f"Lengths are of {EPISODES} roll-outs of the mean action, from stances that differ by 0.01 rad; Mv and Mc "
            "are of one from the stance, until the median length, at every tenth step, the 50 ms of a plan.",
            "stable-baselines3 and sb3-contrib with their default settings, in place of OpenAI's baselines, which are "
            "no longer kept; one robot, as there.",
            "Gains of the PD controller and the range of actions (+-0.5 rad about the stance) are ours: the paper does "
            "not give them. They are stiff, as RoboSimian's servos are: 0.02 to 0.12 rad from the reference "
            "they reach the limit of 390 N m.",
        ],
    )


def rolled_out(policy: Policy, env: Environment) -> Run:
    """What the policy does for the horizon of the planner, from the stance; the endings do not stop it."""
    low, high = env.grounds.ranges["strength"]
    simulator = env.on({"strength": np.asarray((low + high) / 2)})
    controller = controller_of(policy, env, (gaits.SPEED, 0.0, 0.0))
    return simulator.run(controller, env.task.seconds, period=env.dt, height=env.task.start.height)


def measured(policy: Policy, env: Environment, run: Run) -> Row:
    """Lengths of episodes, and Mv and Mc of the part of a roll-out that the endings leave, at the knots of a plan."""
    episodes = evaluate(policy, env, EPISODES, seed=1)
    steps = episodes.seconds / env.dt
    problem = gaits.problem_on(Plane())
    every = round(problem.dt / env.dt)
    knots = max(2, int(np.median(steps)) // every)
    return {
        "steps, median": float(np.median(steps)),
        "steps, longest": float(steps.max()),
        "survive 9 s": float(episodes.survived.mean()),
        **metrics_row(gait_metrics(problem, down_sampled(run, 0, every, knots))),
        "reward, mean": float(episodes.reward.mean()),
    }


def metrics_row(metrics: GaitMetrics) -> Row:
    """The paper's metrics of a motion; of one that goes nowhere there is no cost of the way."""
    moves = metrics.distance > STANDS
    return {
        "way (m)": metrics.distance,
        "speed (m/s)": metrics.speed,
        "Mv (m/s)": metrics.velocity_error,
        "Mc (1/s)": metrics.paper_cost if moves else None,
        "cost of transport": metrics.cost_of_transport if moves else None,
    }


def planned_rows() -> list[Row]:
    """The planner's gait on the same sand: the paper's, and the stride that is shipped."""
    printed, problem = SLOPES[0.0], gaits.problem_on(Plane())
    found = next(iter(library.near(problem, 0.0)), None)
    assert printed is not None
    assert found is not None
    paper = {"Mv (m/s)": printed.velocity_error, "Mc (1/s)": printed.cost, "cost of transport": printed.cost * 0.05}
    return [{"": "planned, paper"} | paper, {"": "planned, here"} | metrics_row(gait_metrics(problem, found[1]))]


def checks(rows: dict[str, Row]) -> list[Check]:
    """What the paper says: no stable gait; within 50 steps it is over."""
    longest = max(row["steps, median"] for row in rows.values())
    best = min(row["Mv (m/s)"] for row in rows.values())
    walkers = [row for row in rows.values() if row["survive 9 s"] > 0.5 and row["Mv (m/s)"] < bar.FOLLOWS_SPEED]
    return [
        Check(
            "roll-outs end early, as the paper says: longest median (steps)",
            bool(longest < bar.EARLY_END),
            longest,
            f"< {bar.EARLY_END:g}",
        ),
        Check(
            f"none walks: policies that last 9 s within {bar.FOLLOWS_SPEED:g} m/s of {gaits.SPEED:g} m/s",
            not walkers,
            len(walkers),
            "0",
        ),
        Check(
            "the best follows the speed worse than the planned gait: Mv (m/s)",
            bool(best > bar.STATED_VELOCITY_ERROR),
            best,
            f"> {bar.STATED_VELOCITY_ERROR:g}",
        ),
    ]


def figure(done: list[Trained]) -> Figure:
    """Lengths and rewards of episodes over the steps of training: the mean of the seeds, and from the least to the
    greatest."""
    with matplotlib.rc_context(STYLE):
        result = blank(7.2, 2.5)
        panels = result.subplots(1, 2, sharex=True)
        for algorithm, colour in zip(ALGORITHMS, COLOURS, strict=False):
            own = [one for one in done if one.algorithm == algorithm]
            for axes, what in zip(panels, ("lengths", "rewards"), strict=True):
                at, curves = curves_of([(one.steps, getattr(one, what)) for one in own])
                axes.plot(at, curves.mean(0), color=colour, lw=1.2, label=f"{algorithm}, {len(own)} seeds")
                axes.fill_between(at, curves.min(0), curves.max(0), color=colour, alpha=0.2, lw=0)
        panels[0].axhline(bar.EARLY_END, color="#888888", lw=0.8, ls=":")
        panels[0].set(xlabel="steps", ylabel="steps of an episode", yscale="log")
        panels[1].set(xlabel="steps", ylabel="reward of an episode")
        panels[0].legend(fontsize=6)
    return result


def curves_of(seeds: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and means over `BIN` of them (seeds, bins), where every seed has episodes that ended."""
    binned = [_binned(at, values) for at, values in seeds]
    common = sorted(set.intersection(*(set(middles) for middles, _ in binned)))
    rows = [values[np.isin(middles, common)] for middles, values in binned]
    return np.array(common), np.array(rows)


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
