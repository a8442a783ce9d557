"""plan, replay: find a gait on yielding ground, and check it in the simulator."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from softground.cli.application import (
    Feet,
    Ignore,
    Json,
    Lock,
    Planar,
    Quiet,
    RobotName,
    RunOut,
    Seed,
    Slope,
    Spacing,
    Strength,
    Terrain,
    TimeStep,
    app,
    check_outputs,
    check_positive,
    configure_jax,
    load_robot,
    place_in_words,
    surface_of,
)
from softground.errors import OptionError, unknown_name
from softground.tables import print_pairs, print_rows

if TYPE_CHECKING:
    from softground.experiments.rigs.dem import Grains
    from softground.planning import Plan
    from softground.runs import Run
    from softground.validation.walk_in_grains import WalkedInGrains


A_PLAN = 10_000
"""Calls, about, of what is compiled for a plan: with a little less optimisation it compiles in three quarters of the
time and runs as fast."""
A_REPLAY = 2_000
"""Steps after which compiling a replay with less optimisation takes as long as it saves: a gait of 9 s has 4,500, which
run in half a second."""


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground plan robosimian --ground sand --strength 2 --speed 0.4 --out gait.nc[/]\n\n"
    "[bold]softground plan robosimian --strength 2 --slope 5 --guess gait.nc --out uphill.nc[/]\n\n"
    "[bold]softground plan robosimian --strength 2 --objective work --guess gait.nc --out cheap.nc[/]\n\n"
    "[bold]softground replay gait.nc[/]   then   [bold]softground view gait.nc[/]"
)
def plan(
    robot: RobotName,
    ground: Annotated[str, typer.Option(help="Medium: sand, pebbles, beads, foam; or a learned one (.json).")] = "sand",
    strength: Strength = None,
    slope: Slope = 0.0,
    terrain: Terrain = None,
    spacing: Spacing = None,
    speed: Annotated[float, typer.Option(help="Speed of the base along x, m/s.")] = 0.4,
    out: Annotated[Path, typer.Option(help="Planned gait to write (netCDF).")] = Path("gait.nc"),
    objective: Annotated[str, typer.Option(help="What to make small: effort (torque squared), or work.")] = "effort",
    guess: Annotated[
        str, typer.Option(help="Where to start: stride (one, repeated), walk, trot (in place), gallop, a gait (.nc).")
    ] = "stride",
    knots: Annotated[int, typer.Option(help="Moments at which the state is unknown.")] = 181,
    dt: Annotated[float | None, typer.Option(help="Time between knots, s; by default by the robot's size.")] = None,
    period: Annotated[
        float | None, typer.Option(help="Period after which the limbs repeat their motion, s; by default 60 steps.")
    ] = None,
    eps: Annotated[
        float | None, typer.Option(help="Temperature at which the gait is planned, W; by default by the robot's power.")
    ] = None,
    dynamics: Annotated[
        str,
        typer.Option(
            help="closed-form; or bilevel, as in zhu2021: the ground's wrench by a problem of its own in every step."
        ),
    ] = "closed-form",
    seconds: Annotated[float, typer.Option(help="Time limit of the optimiser, s.")] = 600.0,
    state: Annotated[Path | None, typer.Option(help="Save the solve here as it goes; given again, it goes on.")] = None,
    feet: Feet = None,
    lock: Lock = None,
    ignore: Ignore = None,
    planar: Planar = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Plan a gait on yielding ground: no contact schedule, only a speed. Ctrl-C keeps the best so far."""
    check_positive(strength=strength, speed=speed, dt=dt, period=period, eps=eps, seconds=seconds, spacing=spacing)
    configure_jax(steps=A_PLAN)
    check_outputs(out)
    from softground.media import medium_of
    from softground.planning import plan as plan_gait
    from softground.simulation import Ground

    model = load_robot(robot, feet, lock, ignore, planar)
    found = plan_gait(
        model,
        Ground(medium_of(ground, model, strength=strength), surface_of(slope, terrain, spacing)),
        speed,
        objective=objective,
        guess=guess,
        knots=knots,
        dt=dt,
        period=period,
        eps=eps,
        dynamics=dynamics,
        seconds=seconds,
        state=state,
        progress=not (quiet or as_json),
    )
    place = f"{ground}{place_in_words(slope, terrain)}"
    if found.report.status == "failed":  # what breaks the laws of motion is no gait, and is not kept as one
        if as_json:
            print(json.dumps(found.summary() | {"gait_file": None}))
        elif not quiet:
            print_pairs(f"no gait of {model.name} on {place}", _first_numbers(found) | {"gait file": "none written"})
        for line in found.troubles():
            Console(stderr=True).print(f"[red]{line}", soft_wrap=True, highlight=False)
        raise typer.Exit(1)
    title = f"{model.name} walks on {place}"
    found = replace(found, title=title, command=shlex.join(sys.argv))
    found.save(out)
    if as_json:
        print(json.dumps(found.summary() | {"gait_file": str(out)}))
    elif not quiet:
        print_pairs(title, _first_numbers(found) | {"gait file": str(out)})


def _first_numbers(plan: Plan) -> dict[str, Any]:
    """The few numbers of a plan that a reader wants first."""
    metrics, report = plan.metrics, plan.report
    return {
        "status": f"{report.status} ({report.reason})",
        "velocity error Mv (m/s)": metrics.velocity_error,
        "paper's cost Mc (1/s)": metrics.paper_cost,
        "cost of transport": metrics.cost_of_transport,
        "speed (m/s)": metrics.speed,
        "lifts of each foot": " ".join(map(str, metrics.lifts)),
        "deepest foot (m)": metrics.deepest,
        "violation": report.violation,
        "optimality": report.optimality,
        "iterations": report.iterations,
        "seconds": f"{report.seconds:.1f}, and {report.compile_seconds:.1f} to compile",
    }


@app.command(
    epilog="Examples:\n\n[bold]softground replay gait.nc --out replay.nc[/]\n\n"
    "[bold]softground replay gait.nc --push 0.3 --strength 0.7 --seeds 20[/]   how many of 20 pushed robots stay up\n\n"
    "[bold]softground replay gait.nc --mpc --push 0.3 --strength 2[/]   planned anew, strength found out\n\n"
    "[bold]softground replay gait.nc --ensemble sand.json[/]   how far it spreads as the ground is not known better\n\n"
    "[bold]softground replay gait.nc --through dem --grains beads[/]   its feet's wrenches beside those of grains\n\n"
    "[bold]softground replay gait.nc --through dem --walking[/]   the robot walks on grains"
)
def replay(
    gait: Annotated[Path, typer.Argument(help="Planned gait, written by softground plan.")],
    out: RunOut = Path("replay.nc"),
    feedback: Annotated[
        bool,
        typer.Option("--feedback/--open-loop", help="Feedback of the whole state, or joint PD control alone."),
    ] = True,
    mpc: Annotated[
        bool,
        typer.Option(
            "--mpc/--as-planned",
            help="Model-predictive control: at every knot plan the next 15 steps anew from the measured state (planar "
            "robots on granular ground), or follow the plan. With --seeds: how many stay up so, too.",
        ),
    ] = False,
    identify: Annotated[
        bool,
        typer.Option(
            "--identify/--assume",
            help="With --mpc: find out how strong the ground is, from torques and motion, or take it to be as planned.",
        ),
    ] = True,
    push: Annotated[
        float, typer.Option(help="Change of the base's velocity, m/s, at a moment that the seed says.")
    ] = 0.0,
    strength: Annotated[float, typer.Option(help="Strength of the ground, in that of the plan's.")] = 1.0,
    seed: Seed = None,
    seeds: Annotated[
        int, typer.Option(help="Replays, from this seed on: how many stay up, with and without feedback.")
    ] = 1,
    ensemble: Annotated[
        str | None, typer.Option(help="beads, or a learned medium (.json): intervals over the members of its ensemble.")
    ] = None,
    members: Annotated[int, typer.Option(help="How many members of the ensemble.")] = 20,
    through: Annotated[
        str | None, typer.Option(help="dem: drive the feet of the replay through grains, and compare the wrenches.")
    ] = None,
    grains: Annotated[str, typer.Option(help="Of what kind (beads, gravel).")] = "beads",
    beds: Annotated[str, typer.Option(help="Seeds of the beds of grains, with commas; learning used 1 to 3.")] = "11",
    each: Annotated[int, typer.Option(help="Stances of every foot that are driven through grains.")] = 1,
    feet: Annotated[
        str | None, typer.Option(help="Which feet go through grains, with commas: all of the robot's.")
    ] = None,
    walking: Annotated[
        bool,
        typer.Option(
            "--walking/--driven", help="With --through dem: the robot walks on grains, or its feet are driven."
        ),
    ] = False,
    loaded: Annotated[
        bool, typer.Option(help="With --through dem: feet carry their loads on grains, instead of going as deep.")
    ] = False,
    walk_seconds: Annotated[float, typer.Option(help="Of a walk on grains, s, from a third of the gait on.")] = 3.0,
    dt: TimeStep = 0.002,
    eps: Annotated[float, typer.Option(help="Temperature of the ground, W.")] = 1e-3,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Check a planned gait in the simulator: small steps, sharp contact, pushes, ground of another strength.

    It is followed by feedback along the plan, open loop, or, with --mpc, by planning anew while it walks.
    """
    check_positive(dt=dt, eps=eps, strength=strength, seeds=seeds)
    once = seeds == 1 and ensemble is None and through is None
    configure_jax(steps=A_REPLAY if once else float("inf"))
    from softground.planning import Plan
    from softground.planning.online import Replanning, answers
    from softground.planning.replay import follower_of, replayed
    from softground.planning.survival import survival

    if loaded and (through is None or walking):
        raise OptionError("--loaded goes with --through dem, and not with --walking")
    if mpc and (ensemble is not None or walking):
        raise OptionError("--mpc goes with pushes, another strength and driven feet, not with --ensemble or --walking")
    plan, seed = Plan.load(gait), seed or 0
    if through is not None and walking:
        walked = _walk_in_grains(plan, through, grains, beds, walk_seconds, feedback, strength, eps)
        walked.grains.save(out)
        _print_walk(gait, walked, out, as_json)
        return
    if seeds > 1:
        rates = survival(
            plan,
            push=push,
            strength=strength,
            online=mpc,
            identify=identify,
            seeds=range(seed, seed + seeds),
            dt=dt,
            eps=eps,
        )
        if as_json:
            print(json.dumps([rate.as_dict() for rate in rates]))
        elif not quiet:
            print_pairs(f"{gait}: share of {seeds} replays without a fall", {rate.label: str(rate) for rate in rates})
        return
    if ensemble is not None:
        from softground.media import ensemble_of
        from softground.planning.replay import replays_on
        from softground.runs.spread import spreads

        strong = float(getattr(plan.problem.ground.medium, "strength", 1.0))
        media = ensemble_of(ensemble, strength=strong).members(members)
        found = [one.as_dict() for one in replays_on(plan, media, feedback=feedback, dt=dt, eps=eps)]
        fell, rows = sum(one["fell"] for one in found), spreads(found)
        if as_json:
            print(json.dumps({"members": members, "fell": fell} | {name: one.as_dict() for name, one in rows.items()}))
        elif not quiet:
            title = f"{gait} on {members} members of {ensemble}: median, and 90 % interval"
            print_pairs(title, {"fell": fell} | {name: str(one) for name, one in rows.items()})
        return
    follower = follower_of(plan, feedback=feedback, online=mpc, identify=identify, dt=dt)
    report, again = replayed(
        plan, follower, push=push, strength=strength, seed=seed, eps=eps, progress=not (quiet or as_json)
    )
    again.save(out)
    if through is not None:
        judge = _print_loaded if loaded else _print_judgement
        chosen = feet.split(",") if feet else None
        judge(gait, again, through, grains, beds, chosen, each, as_json)
        return
    asked = answers(follower, again).as_dict() if isinstance(follower, Replanning) else {}
    summary = report.as_dict() | asked | {"run_file": str(out)}
    if as_json:
        print(json.dumps(summary))
    elif not quiet:
        units = {"speed": "m/s", "speed_planned": "m/s", "base_difference": "m", "joint_difference": "rad"}
        units["distance"] = "m"
        shown = {f"{name} ({units[name]})" if name in units else name: value for name, value in summary.items()}
        print_pairs(f"{gait} in the simulator", shown)


def _print_judgement(
    gait: Path, again: Run, through: str, grains: str, beds: str, feet: list[str] | None, each: int, as_json: bool
) -> None:
    """The feet's wrenches beside those of grains, stance by stance."""
    from softground.validation.through_grains import (
        error_between_beds,
        errors_by_phase,
        overall_error,
        through_grains,
    )

    material, seeds = _grains_and_beds(through, grains, beds)
    with Console(stderr=True).status("grains") as status:
        found = through_grains(again, material, seeds, feet, each, on_step=lambda label: status.update(label))
    rows, error, phases = [one.row() for one in found], overall_error(found), errors_by_phase(found)
    between = error_between_beds(found) if len(seeds) > 1 else None
    if as_json:
        noise = {} if between is None else {"error between beds": between}
        print(json.dumps({"grains": grains, "error": error} | noise | {"phases": phases, "stances": rows}))
        return
    print_rows(
        f"{gait} in {grains}: means of wrenches while in the ground, and normalised errors",
        {str(number): row for number, row in enumerate(rows, 1)},
    )
    print_rows("where the error comes from: shares of its square", phases)
    noise = {} if between is None else {"one bed beside another": f"{between:.3f}"}
    print_pairs("", {"error of all stances": f"{error:.3f}"} | noise)


def _print_loaded(
    gait: Path, again: Run, through: str, grains: str, beds: str, feet: list[str] | None, each: int, as_json: bool
) -> None:
    """How deep the feet stand in grains under their loads, stance by stance."""
    from softground.validation.loaded_in_grains import loaded_in_grains, overall_depths

    material, seeds = _grains_and_beds(through, grains, beds)
    with Console(stderr=True).status("grains") as status:
        found = loaded_in_grains(again, material, seeds, feet, each, on_step=lambda label: status.update(label))
    rows, (run, deep) = [one.row() for one in found], overall_depths(found)
    if as_json:
        depths = {"depth, run (m)": run, "depth, grains (m)": deep, "difference": deep / run - 1}
        print(json.dumps({"grains": grains} | depths | {"stances": rows}))
        return
    by_quantity = {name: {str(number): row[name] for number, row in enumerate(rows, 1)} for name in rows[0]}
    print_rows(f"{gait} in {grains}: means while feet carry their loads, and depths at the end of that", by_quantity)
    print_pairs("", {"depth of all stances differs by": f"{100 * (deep / run - 1):.0f} %"})


def _grains_and_beds(through: str, grains: str, beds: str) -> tuple[Grains, list[int]]:
    """What grains are made of, and the seeds of their beds."""
    from softground.experiments.rigs.dem import GRAINS

    if through != "dem":
        raise OptionError(f"--through must be dem, got {through!r}")
    if grains not in GRAINS:
        raise OptionError(unknown_name("--grains", grains, GRAINS))
    return GRAINS[grains], [int(seed) for seed in numbers_in(beds, "--beds")]


def _walk_in_grains(
    plan: Plan, through: str, grains: str, beds: str, seconds: float, feedback: bool, strength: float, eps: float
) -> WalkedInGrains:
    """The walk of a plan, by the law that it was planned on, at some strength, and in grains."""
    from softground.planning.replay import follower_of
    from softground.simulation import Simulator
    from softground.validation.walk_in_grains import PERIOD, walk_in_grains

    material, seeds = _grains_and_beds(through, grains, beds)
    check_positive(walk_seconds=seconds)
    ground = plan.problem.ground if strength == 1 else plan.problem.ground.stronger(strength)
    simulator = Simulator(plan.problem.robot, ground.sharpened(eps), PERIOD)
    first = (plan.trajectory.knots - 1) // 3  # a gait's beginning is unlike the rest of it
    rest = plan.trajectory.after(first)
    start = simulator.initial_state(rest.q[0], rest.v[0])
    start = replace(start, time=start.time + first * rest.dt)
    follower = follower_of(plan, feedback=feedback, dt=PERIOD)
    seconds = min(seconds, rest.seconds)
    with Console(stderr=True).status("laying beds") as status:
        show = lambda time: status.update(f"in grains: {time:.2f} of {seconds:.2f} s")  # noqa: E731
        return walk_in_grains(simulator, follower, start, seconds, material, seeds, on_turn=show)


def _print_walk(gait: Path, walked: WalkedInGrains, out: Path, as_json: bool) -> None:
    rows, apart = walked.row(), walked.differences()
    if as_json:
        print(json.dumps(rows | {"differences": apart, "ended": walked.ended, "run_file": str(out)}))
        return
    print_rows(f"{gait}: the walk on its own law, and in grains", rows)
    differs = {f"{name.split(' (')[0]} differs by": f"{100 * share:.0f} %" for name, share in apart.items()}
    print_pairs("", differs | {"in grains it": walked.ended})


strides = typer.Typer(help="Libraries of strides, from which plans start.", no_args_is_help=True)
app.add_typer(strides, name="library")


@strides.command(
    "build",
    epilog="Example: [bold]softground library build robosimian --strengths 2 --slopes=-5,0,5 --out strides.npz[/]",
)
def build_library(
    robot: RobotName,
    ground: Annotated[str, typer.Option(help="Granular medium: sand, pebbles.")] = "sand",
    speeds: Annotated[str, typer.Option(help="m/s, with commas.")] = "0.4",
    slopes: Annotated[
        str, typer.Option(help="Degrees, with commas; after an equals sign where one is negative.")
    ] = "0",
    strengths: Annotated[str, typer.Option(help="Of the ground, with commas.")] = "1",
    out: Annotated[Path, typer.Option(help="Library to write (npz); one that is there goes on.")] = Path("strides.npz"),
    processes: Annotated[
        int | None, typer.Option(min=1, help="Strides solved side by side; by default as many as there are cores.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Search for a stride, carry it to other speeds, slopes and strengths. Interrupted and given again, it goes on."""
    configure_jax()
    check_outputs(out)
    import itertools

    import numpy as np

    from softground.media import medium_of
    from softground.planning.library import Command, Library, build
    from softground.planning.strides import StrideFor
    from softground.simulation import Ground

    model = load_robot(robot, None, None, None, False)
    values = [
        numbers_in(given, label) for given, label in ((speeds, "speeds"), (slopes, "slopes"), (strengths, "strengths"))
    ]
    commands = [Command(v, float(np.deg2rad(angle)), s) for v, angle, s in itertools.product(*values)]
    console = Console(stderr=True, quiet=quiet)
    build(
        out,
        Library.empty(model, Ground(medium_of(ground, model, strength=1.0))),
        commands,
        StrideFor(model.recipe, ground),
        lambda line: console.print(line, highlight=False),
        processes or os.cpu_count() or 1,
    )


def numbers_in(given: str, label: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(part) for part in given.split(",")]
    except ValueError as error:
        raise OptionError(f"{label} must be numbers with commas between them, got {given!r}") from error
