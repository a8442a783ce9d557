"""tasks, train, play: policies that learn to walk on ground that yields."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from softground.cli.application import (
    Json,
    Quiet,
    Slope,
    Video,
    app,
    check_outputs,
    check_positive,
    configure_jax,
    names,
)
from softground.errors import OptionError
from softground.tables import print_pairs, print_rows

Varied = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        help="Parameter of the ground and its range, strength=1.5:8, or one value; with commas, or given again.",
        show_default="the task's on its own ground, else none",
    ),
]


@app.command(epilog="Example: [bold]softground tasks[/]   then   [bold]softground train go1 --ground sand[/]")
def tasks(as_json: Json = False) -> None:
    """List the tasks that policies can be trained for."""
    configure_jax(steps=0)
    from softground.envs import TASKS

    rows = {
        name: {"robot": task.robot, "period_s": task.period, "seconds": task.seconds, "description": task.description}
        for name, task in TASKS.items()
    }
    if as_json:
        print(json.dumps(rows))
    else:
        print_rows("tasks", rows)


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground train go1 --ground sand --out go1_sand[/]   then   "
    "[bold]softground play go1_sand/policy.npz[/]\n\n"
    "[bold]softground train go1 --ground sand --vary strength=2:4 --minutes 10 --out soft[/]\n\n"
    "[bold]softground train go1 --ground sand --out go1_sand --iterations 2000 --resume[/]"
)
def train(
    task: Annotated[str, typer.Argument(help="Name of a task (softground tasks).")],
    ground: Annotated[str | None, typer.Option(help="Medium (softground media).", show_default="the task's")] = None,
    vary: Varied = None,
    out: Annotated[Path, typer.Option(help="Folder for the policy and its checkpoints.")] = Path("policy"),
    iterations: Annotated[int | None, typer.Option(help="Iterations of PPO.", show_default="1500")] = None,
    minutes: Annotated[float | None, typer.Option(help="Time to learn for, at most.")] = None,
    robots: Annotated[int | None, typer.Option(help="Robots side by side.", show_default="4096, 256 on a CPU")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything that is random.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a policy for a task on a ground that differs from robot to robot, by rsl_rl's PPO (the extra `rl`).

    On the ground that the task names (sand) its own ranges are drawn from; another is taken as it is unless --vary says
    what differs. Ctrl-C ends the training and keeps what was learned.
    """
    check_positive(minutes=minutes, iterations=iterations, robots=robots)
    check_outputs(out / "policy.npz")
    configure_jax(for_batches=True)
    import jax

    from softground.envs import Policy, make

    env = make(task, ground, _ranges(vary))
    if not (quiet or as_json):
        _say_ground(env)
    try:
        from softground.bridges import rsl_rl
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("torch", "rsl_rl", "tensordict"):
            raise
        raise OptionError(f"training needs the package {error.name}: pip install softground[rl]") from error
    settings = rsl_rl.Settings(robots=robots or (256 if jax.default_backend() == "cpu" else 4096))
    total = iterations or (None if minutes else 1500)
    with _progress(task, total, quiet or as_json) as report:
        path = rsl_rl.train(
            env,
            out,
            settings,
            seed=seed,
            iterations=total,
            seconds=None if minutes is None else 60 * minutes,
            resume=resume,
            report=report,
        )
    card = dict(Policy.load(path).card) | {"policy": str(path), "command": shlex.join(sys.argv)}
    if as_json:
        print(json.dumps(card))
    elif not quiet:
        told = ("task", "ground", "vary", "actions", "seconds", "device", "policy")
        print_pairs("trained", {name: card[name] for name in told})


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground play go1_sand/policy.npz[/]   over a grid of grounds\n\n"
    "[bold]softground play go1_sand/policy.npz --ground sand --vary strength=2 --episodes 500[/]\n\n"
    "[bold]softground play go1_sand/policy.npz --ground sand --command 0.6,0,0.3 --out walk.nc --video walk.mp4[/]   "
    "then   [bold]softground view walk.nc[/]"
)
def play(
    policy: Annotated[
        Path,
        typer.Argument(
            help="Policy file (.npz), written by softground train; or go1_sand, go1_firm, which are shipped."
        ),
    ],
    ground: Annotated[
        list[str] | None,
        typer.Option(
            help="Media to judge it on; with commas, or given again.", show_default="sand, pebbles, foam, firm"
        ),
    ] = None,
    vary: Varied = None,
    slope: Slope = 0.0,
    episodes: Annotated[int, typer.Option(help="Episodes on every ground.")] = 50,
    seconds: Annotated[
        float | None, typer.Option(help="Of an episode, or of the run.", show_default="the task's")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of commands, noise, pushes and grounds.")] = 0,
    command: Annotated[
        str | None, typer.Option(help="One run under one command, m/s,m/s,rad/s, in place of many episodes.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Run file to write, with --command (netCDF).")] = Path("run.nc"),
    video: Video = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Judge a policy on grounds, or let it walk once under a command, for the viewer and for a video.

    Without --vary the ranges of the task are drawn from on its own ground (one run is in their middle), and other
    grounds are taken as they are. Needs neither the trainer nor a GPU.
    """
    check_positive(episodes=episodes, seconds=seconds)
    if video is not None and command is None:
        raise OptionError("--video is of one run: give --command, too")
    configure_jax(for_batches=command is None)
    from softground.envs import Policy

    loaded = Policy.load(policy)
    media, ranges = names(ground) or ["sand", "pebbles", "foam", "firm"], _ranges(vary)
    if command is not None:
        if len(media) != 1 and ground is not None:
            raise OptionError(f"one run is on one ground, got {', '.join(media)}")
        check_outputs(out, video)
        _walked(loaded, media[0], ranges, slope, command, seconds or 10.0, out, video, quiet, as_json)
        return
    rows = {name: _judged(loaded, name, ranges, slope, episodes, seconds, seed) for name in media}
    if as_json:
        print(json.dumps({"policy": str(policy), "card": dict(loaded.card), "grounds": rows}))
    elif not quiet:
        labels = {name: f"{name} {_told(row['vary'])}".strip() for name, row in rows.items()}
        title = f"{loaded.card['task']}, {episodes} episodes a ground, 95 % intervals"
        print_rows(title, {labels[name]: _shown(row) for name, row in rows.items()})


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """What a table has room for."""
    shares = [100 * row[name] for name in ("survived", "survived_low", "survived_high")]
    off = {f"off_by_{unit}": _within(row, name) for name, unit in (("error", "m/s"), ("turn_error", "rad/s"))}
    return {"survived_%": "{:.1f} ({:.1f}-{:.1f})".format(*shares), "s": row["seconds"], **off}


def _within(row: dict[str, Any], name: str) -> str:
    """A mean and half of its 95 % interval."""
    return "none" if row[name] is None else f"{row[name]:.3f} +- {row[f'{name}_half_width']:.3f}"


def _told(ranges: dict[str, Any]) -> str:
    """Ranges as --vary takes them."""
    texts = [f"{name}={low:g}" if low == high else f"{name}={low:g}:{high:g}" for name, (low, high) in ranges.items()]
    return ",".join(texts)


def _say_ground(env: Any) -> None:
    """What differs from robot to robot, on standard error."""
    from rich.console import Console

    told = _told(env.grounds.ranges)
    how = f"with {told}" if env.grounds.ranges else "as it is, the same for all robots: --vary makes it differ"
    Console(stderr=True, highlight=False).print(f"ground: {env.grounds.name}, {how}", soft_wrap=True)


def _judged(policy: Any, ground: str, ranges: Any, slope: float, episodes: int, seconds, seed: int) -> dict:
    from softground.envs import evaluate

    env = _environment(policy, ground, ranges, slope)
    varied = {name: list(span) for name, span in env.grounds.ranges.items()}
    return {"vary": varied} | evaluate(policy, env, episodes, seed, seconds).summary()


def _walked(
    policy, ground: str, ranges, slope: float, command: str, seconds: float, out, video, quiet, as_json
) -> None:
    import numpy as np

    from softground.envs import controller_of

    try:
        told = np.array([float(part) for part in command.split(",")])
    except ValueError as error:
        raise OptionError(f"--command is three numbers with commas, m/s,m/s,rad/s, got {command!r}") from error
    env = _environment(policy, ground, ranges, slope)
    middle = {name: np.asarray((low + high) / 2) for name, (low, high) in env.grounds.ranges.items()}
    simulator = env.on(middle)
    controller = controller_of(policy, env, told)
    run = simulator.run(
        controller,
        seconds,
        period=env.dt,
        height=env.task.start.height,
        progress=not (quiet or as_json),
        title=f"{env.task.name} on {ground} under {command}",
        command=shlex.join(sys.argv),
    )
    run.save(out)
    if video is not None:
        run.video(video, progress=not (quiet or as_json))
    summary = run.summary() | {"run_file": str(out)}
    if as_json:
        print(json.dumps(summary))
    elif not quiet:
        print_pairs(run.attrs["title"], summary)


def _environment(policy: Any, ground: str, ranges: Any, slope: float) -> Any:
    import numpy as np

    from softground.envs import TASKS, make

    task = policy.card.get("task", "")
    if ranges is None and task in TASKS:
        ranges = TASKS[task].ranges_on(ground)
    inclined = {"slope": np.deg2rad(slope)} if slope else {}
    return make(task, ground, (ranges or {}) | inclined)


def _ranges(given: list[str] | None) -> dict[str, Any] | None:
    """strength=1.5:8 -> {"strength": (1.5, 8.0)}."""
    if not given:
        return None
    found: dict[str, Any] = {}
    for word in names(given) or ():
        name, _, numbers = word.partition("=")
        try:
            values = [float(part) for part in numbers.split(":")]
        except ValueError as error:
            raise OptionError(f"--vary is NAME=LOW:HIGH or NAME=VALUE, got {word!r}") from error
        found[name] = values[0] if len(values) == 1 else tuple(values)
    return found


@contextmanager
def _progress(task: str, total: int | None, hidden: bool) -> Iterator[Any]:
    """A bar that moves with the iterations, and says what they reach."""
    from rich.console import Console

    from softground.runs.compiled_loop import progress_bar

    with progress_bar(Console(stderr=True, quiet=hidden)) as bar:
        shown = bar.add_task(f"training {task}", total=total, note="compiling")

        def report(iteration: int, found: dict[str, float]) -> None:
            note = f"reward {found['reward']:.2f}/s, episodes of {found['episode_actions']:.0f} actions"
            bar.update(shown, completed=iteration, note=note)

        yield report
