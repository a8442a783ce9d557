"""bench: speed and robustness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softground.cli.application import Json, app, configure_jax, report

bench = typer.Typer(no_args_is_help=True, help="Measure speed and robustness, each beside a peer in the same run.")
app.add_typer(bench, name="bench")


@bench.command("step", epilog="Example: [bold]softground bench step --robot robosimian --json[/]")
def bench_step(
    robot: Annotated[list[str] | None, typer.Option(help="Robot of the catalogue; given again, one more.")] = None,
    motion: Annotated[
        list[str] | None, typer.Option(help="walking, swaying, standing or falling; given again, one more.")
    ] = None,
    ground: Annotated[
        list[str] | None,
        typer.Option(help="By name (softground media), or a learned medium's file; given again, one more."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time of a repetition, s.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Repetitions; their median counts.")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step, s.")] = None,
    contacts: Annotated[
        str | None, typer.Option(help="all: also the robot all of whose bodies meet the ground, over its feet alone.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Time of one step in a loop on one core, beside MuJoCo C on a rigid plane."""
    configure_jax()
    from softground.bench.step import measure

    chosen = {"robots": robot, "motions": motion, "grounds": ground}
    options = {"seconds": seconds, "repeats": repeats, "dt": dt, "contacts": contacts}
    report("one step", measure, "steps", as_json, {**chosen, **options})


@bench.command("mujoco", epilog="Example: [bold]softground bench mujoco --robot ant --ground sand --json[/]")
def bench_mujoco(
    robot: Annotated[list[str] | None, typer.Option(help="Robot of the catalogue; given again, one more.")] = None,
    ground: Annotated[list[str] | None, typer.Option(help="sand, pebbles, foam, firm; given again, one more.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time of a repetition, s.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Repetitions; their median counts.")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step, s.")] = None,
    as_json: Json = False,
) -> None:
    """Time of one step in MuJoCo with soft ground (`sg.mujoco.Ground`), beside plain mj_step on a rigid plane."""
    configure_jax()
    from softground.bench.in_mujoco import measure

    options = {"robots": robot, "grounds": ground, "seconds": seconds, "repeats": repeats, "dt": dt}
    report("soft ground in MuJoCo", measure, "steps", as_json, options)


@bench.command("mjx", epilog="Example: [bold]softground bench mjx --size 4096 --ground sand --json[/]")
def bench_mjx(
    size: Annotated[list[int] | None, typer.Option(min=1, help="Robots at once; given again, one more size.")] = None,
    robot: Annotated[list[str] | None, typer.Option(help="Robot of the catalogue; given again, one more.")] = None,
    ground: Annotated[list[str] | None, typer.Option(help="sand, pebbles, foam, firm; given again, one more.")] = None,
    backend: Annotated[list[str] | None, typer.Option(help="native or xla; given again, the other. Both.")] = None,
    steps: Annotated[int | None, typer.Option(help="Of a repetition.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Repetitions; their median counts.")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step, s.")] = None,
    as_json: Json = False,
) -> None:
    """Steps a second in MJX with soft ground (`sg.mjx.Ground`), beside plain mjx.step on a rigid plane, float32."""
    configure_jax(for_batches=True)
    from softground.bench.in_mjx import measure

    options = {"sizes": size, "robots": robot, "grounds": ground, "backends": backend}
    report("soft ground in MJX", measure, "batches", as_json, options | {"steps": steps, "repeats": repeats, "dt": dt})


@bench.command("plan", epilog="Example: [bold]softground bench plan --starts 12 --out starts.json[/]")
def bench_plan(
    starts: Annotated[int | None, typer.Option(help="Starts, each with noise of its own.")] = None,
    noise: Annotated[float | None, typer.Option(help="On all joints at all knots, rad.")] = None,
    robot: Annotated[str | None, typer.Option(help="Robot of the catalogue.")] = None,
    drawn: Annotated[bool, typer.Option("--drawn", help="From nothing: a search by drawn walks.")] = False,
    rounds: Annotated[int | None, typer.Option(help="Most rounds of the search.")] = None,
    stride: Annotated[bool, typer.Option("--stride", help="The stride alone, without the gait of 181 knots.")] = False,
    processes: Annotated[int | None, typer.Option(help="That run starts side by side, one core each.")] = None,
    out: Annotated[Path | None, typer.Option(help="File for the rows as they come (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Whether plans arrive, and at the same gait: from other starts, and by the rounding of other XLA_FLAGS."""
    configure_jax()
    from softground.bench.plan import measure

    options = {"starts": starts, "noise": noise, "robot": robot, "rounds": rounds, "processes": processes, "out": out}
    report("plans", measure, "starts", as_json, {**options, "drawn": drawn or None, "stride": stride or None})


@bench.command("batch", epilog="Example: [bold]softground bench batch --size 4096 --size 32768 --json[/]")
def bench_batch(
    size: Annotated[list[int] | None, typer.Option(min=1, help="Robots at once; given again, one more size.")] = None,
    robot: Annotated[str | None, typer.Option(help="Robot of the catalogue.")] = None,
    motion: Annotated[str | None, typer.Option(help="walking, swaying, standing or falling.")] = None,
    height: Annotated[
        float | None, typer.Option(help="Height of the lowest foot at the start, m: 0.1 is a drop.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="xla, mjx or warp (MuJoCo Warp); given again, one more; or none. By default all."),
    ] = None,
    footprints: Annotated[
        bool, typer.Option("--footprints", help="Also on ground that keeps the robots' prints: what that costs.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Converged steps a second of many robots at once in float32, beside rigid contact in MJX and MuJoCo Warp."""
    configure_jax(for_batches=True)
    from softground.bench.batch import measure

    options = {"sizes": size, "robot": robot, "motion": motion, "height": height, "against": against}
    options["footprints"] = footprints or None
    report("batches", measure, "batches", as_json, options)


@bench.command("answers", epilog="Example: [bold]softground bench answers --commands 50 --seed 2 --json[/]")
def bench_answers(
    commands: Annotated[int | None, typer.Option(min=1, help="Random commands inside the library's range.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the commands.")] = None,
    robot: Annotated[str | None, typer.Option(help="Robot with a shipped library.")] = None,
    open_loop: Annotated[bool, typer.Option("--open-loop", help="Replays without feedback.")] = False,
    out: Annotated[Path | None, typer.Option(help="File for rows as they come (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Gaits from the library for commands that it does not hold: the share solved, and replayed without a fall."""
    configure_jax(steps=10_000)
    from softground.bench.answers import measure

    options = {"commands": commands, "seed": seed, "robot": robot, "open_loop": open_loop or None, "out": out}
    report("answers", measure, "commands", as_json, options)


@bench.command(
    "commands", epilog="Example: [bold]softground bench commands --robot go1 --ground foam --out rows.json --json[/]"
)
def bench_commands(
    robot: Annotated[
        list[str] | None, typer.Option(help="What is written behind softground plan; given again, one more.")
    ] = None,
    ground: Annotated[list[str] | None, typer.Option(help="By name (softground media); given again, one more.")] = None,
    speed: Annotated[list[float] | None, typer.Option(help="m/s; given again, one more.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for rows as they come (JSON); given again, it goes on.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Plain commands of softground plan, each a process: the share that is solved and replays, and processor time."""
    from softground.bench.commands import measure

    options = {"robots": robot, "grounds": ground, "speeds": speed, "out": out}
    report("commands", measure, "commands", as_json, options)


@bench.command("robustness", epilog="Example: [bold]softground bench robustness --states 256 --steps 200[/]")
def bench_robustness(
    states: Annotated[int | None, typer.Option(help="Random initial states.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps from each, with random torques and pushes.")] = None,
    robot: Annotated[str | None, typer.Option(help="Robot of the catalogue.")] = None,
    ground: Annotated[list[str] | None, typer.Option(help="By name (softground media); given again, one more.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the ten hardest steps (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Random states, torques and pushes: counts steps that do not converge and states that are not finite."""
    configure_jax()
    from softground.bench.robustness import measure

    options = {"states": states, "steps": steps, "robot": robot, "grounds": ground, "out": out}
    report("robustness", measure, "grounds", as_json, options, own_progress=True)


@bench.command("equality", epilog="Example: [bold]softground bench equality --robot anymal --ground sand --json[/]")
def bench_equality(
    robot: Annotated[list[str] | None, typer.Option(help="Robot of the catalogue; given again, one more.")] = None,
    ground: Annotated[list[str] | None, typer.Option(help="By name (softground media); given again, one more.")] = None,
    states: Annotated[int | None, typer.Option(help="Random states.")] = None,
    as_json: Json = False,
) -> None:
    """Native steps beside those of XLA from random states, in double and single precision."""
    configure_jax()
    from softground.bench.equality import measure

    report("native and XLA", measure, "pairs", as_json, {"robots": robot, "grounds": ground, "states": states})


@bench.command("scaling", epilog="Example: [bold]softground bench scaling --out scaling.png[/]")
def bench_scaling(
    steps: Annotated[int | None, typer.Option(help="Steps of a repetition.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Repetitions; their median counts.")] = None,
    out: Annotated[Path | None, typer.Option(help="File of a figure (png, pdf, svg).")] = None,
    as_json: Json = False,
) -> None:
    """Time of a step over the number of feet, degrees of freedom, vertices and robots, on one core."""
    configure_jax()
    from softground.bench.scaling import measure

    report("scaling", measure, "scaling", as_json, {"steps": steps, "repeats": repeats, "out": out})


@bench.command("control", epilog="Example: [bold]softground bench control --robot icub --json[/]")
def bench_control(
    robot: Annotated[str | None, typer.Option(help="A biped of the catalogue.")] = None,
    controller: Annotated[str | None, typer.Option(help="compliant, cautious or rigid.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time of the walk, s.")] = None,
    as_json: Json = False,
) -> None:
    """Time of a tick of whole-body control in a walk on foam, and of QP solvers on the problems that it met."""
    configure_jax()
    from softground.bench.control import measure

    report("QP solvers", measure, "solvers", as_json, {"robot": robot, "controller": controller, "seconds": seconds})


@bench.command(
    "drops", epilog="Example: [bold]softground bench drops --robots go1 --grounds firm --count 100 --json[/]"
)
def bench_drops(
    robots: Annotated[list[str] | None, typer.Option(help="Robot of the catalogue; given again, one more.")] = None,
    grounds: Annotated[
        list[str] | None, typer.Option(help="By name (softground media); given again, one more.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Drops of each robot on each ground.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time of a drop, s.")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step, s.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the random starts.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results as they come, and the worst drops (JSON).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Drop robots in random orientations, all bodies in contact: energy, depth, rest and convergence."""
    configure_jax()
    from softground.bench.drops import measure
    from softground.cli.application import names

    options = {"robots": names(robots), "grounds": names(grounds), "count": count, "seconds": seconds, "dt": dt}
    options["seed"] = seed
    report("drops", measure, "cases", as_json, options | {"out": out}, own_progress=True)
