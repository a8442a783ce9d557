"""demo, simulate, robots, media: run a simulation, and what there is to run."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from softground.cli.application import (
    Contacts,
    Damping,
    Feet,
    Floor,
    GroundName,
    Ignore,
    Json,
    Lock,
    MapCell,
    MapFile,
    Planar,
    Quiet,
    RobotName,
    RunOut,
    Seed,
    Slope,
    Spacing,
    Stiffness,
    Strength,
    Terrain,
    TimeStep,
    Video,
    app,
    check_outputs,
    check_positive,
    check_seed,
    configure_jax,
    load_robot,
    place_in_words,
    surface_of,
)
from softground.tables import print_pairs, print_rows


@app.command(epilog="Example: [bold]softground demo --out out/demo[/]")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for runs, figures and videos.")] = Path("out/demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs and videos.")] = False,
    as_json: Json = False,
) -> None:
    """Drop RoboSimian on a slope of sand, trot it on flat sand: run files, figures, videos and a table."""
    configure_jax(steps=0)
    from rich.console import Console

    from softground.demo import run_demo

    summaries = run_demo(out, quick, Console(quiet=as_json))
    if as_json:
        print(
            json.dumps({name: summary | {"run_file": str(out / f"{name}.nc")} for name, summary in summaries.items()})
        )


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground simulate robosimian --slope 5 --seconds 3 --out run.nc[/]   then   "
    "[bold]softground view run.nc[/]\n\n"
    "[bold]softground simulate anymal --ground pebbles --video anymal.mp4[/]\n\n"
    "[bold]softground simulate go1 --contacts all --ground foam[/]\n\n"
    "[bold]softground simulate g1 --ground foam --stiffness 8e5 --damping 1e4[/]\n\n"
    "[bold]softground simulate anymal --ground 'firm, sand*2: x>0' --floor 0.05[/]\n\n"
    "[bold]softground simulate my_robot.xml --feet left_sole,right_sole --lock 'arm_*' --strength 2[/]"
)
def simulate(
    robot: RobotName,
    ground: GroundName = "sand",
    strength: Strength = None,
    stiffness: Stiffness = None,
    damping: Damping = None,
    eps: Annotated[float | None, typer.Option(help="Temperature of granular ground, W.")] = None,
    slope: Slope = 0.0,
    terrain: Terrain = None,
    spacing: Spacing = None,
    floor: Floor = None,
    map_file: MapFile = None,
    map_cell: MapCell = 0.1,
    seconds: Annotated[float, typer.Option(help="Duration, s.")] = 3.0,
    out: RunOut = Path("run.nc"),
    feet: Feet = None,
    lock: Lock = None,
    ignore: Ignore = None,
    planar: Planar = False,
    contacts: Contacts = None,
    dt: TimeStep = 0.002,
    every: Annotated[int, typer.Option(help="Keep one sample per this many steps.")] = 1,
    height: Annotated[float, typer.Option(help="Height of the lowest foot or body at the start, m.")] = 0.05,
    perturb: Annotated[
        float, typer.Option(help="Standard deviation of random velocities at the start, m/s and rad/s.")
    ] = 0.0,
    seed: Seed = None,
    members: Annotated[
        int | None,
        typer.Option(help="Runs on so many members of the ensemble of learned ground: intervals, and no file."),
    ] = None,
    video: Video = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Drop a robot on a ground and let it hold its posture; report how deep it stands, or that and why it fell."""
    check_positive(
        dt=dt,
        seconds=seconds,
        strength=strength,
        stiffness=stiffness,
        damping=damping,
        eps=eps,
        spacing=spacing,
        floor=floor,
        map_cell=map_cell,
    )
    check_positive(every=every)
    seed_used = check_seed(seed, perturb=perturb)
    configure_jax(steps=seconds / dt)
    check_outputs(out, video)
    import numpy as np

    from softground.control.posture import hold_posture
    from softground.runs import run
    from softground.simulation import Ground, Simulator
    from softground.terrain import terrain_of

    surface = surface_of(slope, terrain, spacing)
    model = load_robot(robot, feet, lock, ignore, planar, contacts)
    springs = {"stiffness": stiffness, "damping": damping}
    medium = terrain_of(
        ground, model, map_file=map_file, cell=map_cell, floor=floor, strength=strength, eps=eps, **springs
    )
    if members is not None:
        options = {"strength": strength, "eps": eps}
        _print_spreads(model, ground, surface, members, seconds, dt, height, options, as_json)
        return
    simulator = Simulator(model, Ground(medium, surface), dt)
    v = perturb * np.random.default_rng(seed_used).normal(size=model.nv) if perturb else None
    progress = not (quiet or as_json)
    title = f"{model.name} on {ground}{place_in_words(slope, terrain)}"
    result = run(
        simulator,
        simulator.initial_state(v=v, height=height),
        hold_posture(model) if model.nu else None,
        seconds,
        every=every,
        progress=progress,
        seed=seed_used if perturb else None,
        command=shlex.join(sys.argv),
        title=title,
    )
    result.save(out)
    if video is not None:
        result.video(video, progress=progress)
    summary = result.summary() | {"run_file": str(out)}
    if as_json:
        print(json.dumps(summary))
    elif not quiet:
        print_pairs(title, summary)


def _print_spreads(model, ground, surface, members, seconds, dt, height, options, as_json) -> None:
    """The summary of a run on every member of an ensemble, as intervals."""
    from softground.control.posture import hold_posture
    from softground.media import ensemble_of
    from softground.runs.members import runs_on
    from softground.runs.spread import spreads
    from softground.simulation import Ground, Simulator

    ensemble = ensemble_of(ground, **{name: value for name, value in options.items() if value is not None})
    simulator = Simulator(model, Ground(ensemble.medium, surface), dt)
    controller = hold_posture(model) if model.nu else None
    start = simulator.initial_state(height=height)
    found = spreads(
        [run.summary() for run in runs_on(simulator, ensemble.members(members), start, controller, seconds)]
    )
    if as_json:
        print(json.dumps({"members": members} | {name: one.as_dict() for name, one in found.items()}))
    else:
        title = f"{model.name} on {members} members of {ground}: median, and 90 % interval"
        print_pairs(title, {name: str(one) for name, one in found.items()})


@app.command(epilog="Example: [bold]softground robots[/]")
def robots(as_json: Json = False) -> None:
    """List the robots of the catalogue."""
    configure_jax(steps=0)
    from softground.robots import available

    listings = [vars(listing) for listing in available()]
    if as_json:
        print(json.dumps(listings))
        return
    rows = {row["name"]: {"dofs": row["dofs"], "mass (kg)": row["mass"], "": row["description"]} for row in listings}
    print_rows("robots", rows)


@app.command(epilog="Example: [bold]softground simulate robosimian --ground pebbles[/]")
def media(as_json: Json = False) -> None:
    """List the media that --ground takes."""
    configure_jax(steps=0)
    from softground.media.named import NAMED, WEDGE, describe

    described = {name: describe(name) for name in (*NAMED, WEDGE)}
    if as_json:
        print(json.dumps(described))
        return
    print_rows("media", {name: {"": text} for name, text in described.items()})
