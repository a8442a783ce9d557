"""Go1 learns to walk on sand, and on firm ground; both policies are then judged on what they know and what they do not.

    python scripts/train_go1.py FOLDER --seconds 240            # trains both, then judges
    python scripts/train_go1.py FOLDER --only sand              # one of them
    python scripts/train_go1.py FOLDER --only judge             # policies that are in FOLDER

Prints, and writes to FOLDER/report.json: actions a second of all robots with physics alone and with PPO, the course of
the training, survival and tracking with 95 % intervals. FOLDER/sand.npz and FOLDER/firm.npz are the policies.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import jax

from softground.bridges.rsl_rl.training import Settings, Training, physics_rate
from softground.envs import Environment, Policy, evaluate, make
from softground.whole_file import write_whole

#: What each policy is trained on: friction of the firm ground as is usual, strength of the sand from loose to wet.
TRAINED_ON = {"sand": {"strength": (1.5, 8.0)}, "firm": {"friction": (0.5, 1.25)}}
#: What they are judged on: media with what varies, and values of it; first those inside what one of them knows.
JUDGED_ON = (
    ("firm", {"friction": (0.4, 1.25)}, ({"friction": 0.8}, {"friction": 0.4})),
    ("sand", {"strength": (1.0, 12.0), "slope": (-0.15, 0.15)}, (
        {"strength": 6.0, "slope": 0.0},
        {"strength": 3.0, "slope": 0.0},
        {"strength": 2.0, "slope": 0.0},
        {"strength": 1.3, "slope": 0.0},
        {"strength": 12.0, "slope": 0.0},
        {"strength": 4.0, "slope": 0.1},
    )),
    ("pebbles", {"strength": (1.0, 8.0)}, ({"strength": 2.0},)),
    ("grains", {"strength": (1.0, 8.0)}, ({"strength": 3.0},)),
    ("foam", {"strength": (0.3, 3.0)}, ({"strength": 1.0},)),
)  # fmt: skip


def trained(name: str, arguments: argparse.Namespace, report: dict) -> None:
    """Train on one ground for as long as was said, and keep the policy."""
    env = make("go1", name, TRAINED_ON[name])
    rate = physics_rate(env, arguments.robots, arguments.timed)
    print(
        f"{name}: physics alone {rate:,.0f} actions/s ({rate * env.steps:,.0f} steps/s), {arguments.robots} robots",
        flush=True,
    )
    began = time.perf_counter()
    training = Training(env, Settings(robots=arguments.robots, steps=arguments.steps), seed=arguments.seed)
    course, collected, total = [], 0.0, 0.0
    while time.perf_counter() - began < arguments.seconds and training.iterations < arguments.iterations:
        found = training.iterate()
        if training.iterations > 1:  # the first one compiles
            collected += found["collect_seconds"]
            total += found["collect_seconds"] + found["learn_seconds"]
        if training.iterations % arguments.every == 0 or training.iterations == 1:
            course.append({"iteration": training.iterations, "seconds": time.perf_counter() - began, **found})
            print(_line(name, course[-1]), flush=True)
            training.policy().save(arguments.folder / f"{name}.npz")
    training.policy().save(arguments.folder / f"{name}.npz")
    counted = max(training.iterations - 1, 1) * training.settings.samples
    report[name] = {
        "physics_actions_per_second": rate,
        "steps_per_action": env.steps,
        "training_actions_per_second": counted / max(total, 1e-9),
        "collecting_share": collected / max(total, 1e-9),
        "physics_share": counted / rate / max(total, 1e-9),
        "iterations": training.iterations,
        "actions": training.actions,
        "seconds": time.perf_counter() - began,
        "course": course,
    }
    print({key: value for key, value in report[name].items() if key != "course"}, flush=True)


def _line(name: str, found: dict) -> str:
    terms = {key.removeprefix("reward/"): round(value, 3) for key, value in found.items() if key.startswith("reward/")}
    return (
        f"{name} {found['iteration']:5d} {found['seconds']:6.0f} s  reward {found['reward']:.3f}/s  "
        f"episode {found['episode_actions']:.0f}  noise {found['noise']:.2f}  rate {found['learning_rate']:.1e}  "
        f"invalid {found['invalid']:.1e}  not converged {found['not_converged']:.1e}  {terms}"
    )


def judged(arguments: argparse.Namespace) -> list[dict]:
    """Both policies on all grounds."""
    policies = {name: Policy.load(arguments.folder / f"{name}.npz") for name in TRAINED_ON}
    rows = []
    for ground, ranges, values in JUDGED_ON:
        env: Environment = make("go1", ground, ranges)
        for chosen in values:
            for name, policy in policies.items():
                found = evaluate(policy, env, arguments.episodes, seed=2026, seconds=arguments.judged, ground=chosen)
                row = {"policy": name, "ground": ground, **chosen, **found.summary()}
                rows.append(row)
                print(f"trained on {name:5s} judged on {ground} {chosen}: {found.summary()}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=("sand", "firm", "train", "judge"))
    parser.add_argument("--seconds", type=float, default=240.0, help="of a training")
    parser.add_argument("--iterations", type=int, default=10**9, help="of a training, at most")
    parser.add_argument("--robots", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=24, help="of every robot in an iteration")
    parser.add_argument("--timed", type=int, default=100, help="actions over which physics is timed")
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--judged", type=float, default=None, help="seconds of a judged episode; default: the task's")
    parser.add_argument("--every", type=int, default=25, help="iterations between two lines, and two files")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(jax.devices(), flush=True)
    file = arguments.folder / "report.json"
    report = json.loads(file.read_text()) if file.exists() else {}
    for name in TRAINED_ON:
        if arguments.only in (None, "train", name):
            trained(name, arguments, report)
            write_whole(file, lambda path: path.write_text(json.dumps(report, indent=1)))
    if arguments.only in (None, "judge"):
        report["judged"] = judged(arguments)
        write_whole(file, lambda path: path.write_text(json.dumps(report, indent=1)))


if __name__ == "__main__":
    main()
