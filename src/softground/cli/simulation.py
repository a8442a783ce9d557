"""demo, simulate, robots, media: run a simulation, and what there is to run."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from softground.cli.application import Json, Quiet, app, configure_jax
from softground.cli.options import check_positive, medium_of, names, place_in_words, surface_of
from softground.tables import print_pairs, print_rows


@app.command(epilog="Example: [bold]softground demo --out out/demo[/]")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for runs, figures and videos.")] = Path("out/demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs and videos.")] = False,
) -> None:
    """Drop RoboSimian on a slope of sand, trot it on flat sand: run files, figures, videos and a table."""
    configure_jax()
    from rich.console import Console

    from softground.demo import run_demo

    run_demo(out, quick, Console())


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground simulate robosimian --slope 5 --seconds 3 --out run.nc[/]\n\n"
    "[bold]softground simulate anymal --ground pebbles --video anymal.mp4[/]\n\n"
    "[bold]softground simulate my_robot.xml --feet left_sole,right_sole --lock 'arm_*' --strength 2[/]"
)
def simulate(
    robot: Annotated[str, typer.Argument(help="Name in the catalogue (softground robots), or an MJCF or URDF file.")],
    ground: Annotated[str, typer.Option(help="Medium: see softground media; or a learned one (.json).")] = "sand",
    slope: Annotated[float, typer.Option(help="Inclination in degrees, rising towards +x.")] = 0.0,
    terrain: Annotated[Path | None, typer.Option(help="Watertight mesh (STL, OBJ, PLY; metres, z up).")] = None,
    seconds: Annotated[float, typer.Option(help="Duration, s.")] = 3.0,
    out: Annotated[Path, typer.Option(help="Run file to write (netCDF).")] = Path("run.nc"),
    feet: Annotated[list[str] | None, typer.Option(help="Bodies, geoms or sites; commas, or give it again.")] = None,
    lock: Annotated[list[str] | None, typer.Option(help="Joints to weld, * allowed; commas, or again.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Features of the model file to do without: equality, tendon, ...")
    ] = None,
    planar: Annotated[bool, typer.Option("--planar", help="Keep to the x-z plane.")] = False,
    dt: Annotated[float, typer.Option(help="Time step, s.")] = 0.002,
    every: Annotated[int, typer.Option(help="Keep one sample per this many steps.")] = 1,
    height: Annotated[float, typer.Option(help="Of the lowest foot above the ground at the start, m.")] = 0.05,
    strength: Annotated[float, typer.Option(help="Factor on the forces of the ground.")] = 1.0,
    eps: Annotated[float | None, typer.Option(help="Temperature of granular ground, W.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Start with random velocities (0.1 m/s, rad/s) of this seed.")
    ] = None,
    video: Annotated[Path | None, typer.Option(help="Also make a video (.mp4, .gif).")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Drop a robot on a ground and let it hold its posture."""
    grains = {} if eps is None else {"eps": eps}  # only granular ground has a temperature
    check_positive(dt=dt, seconds=seconds, strength=strength, **grains)
    configure_jax()
    import numpy as np

    from softground.control.posture import hold_posture
    from softground.robots import Robot
    from softground.runs import run
    from softground.simulation import Ground, Simulator

    surface = surface_of(slope, terrain)
    medium = medium_of(ground, strength=strength, **grains)
    model = Robot.load(robot, feet=names(feet), lock=names(lock) or (), planar=planar, ignore=names(ignore) or ())
    simulator = Simulator(model, Ground(medium, surface), dt)
    v = None if seed is None else 0.1 * np.random.default_rng(seed).normal(size=model.nv)
    state = simulator.initial_state(v=v, height=height)
    control = hold_posture(model) if model.nu else None
    progress = not (quiet or as_json)
    title = f"{model.name} on {ground}{place_in_words(slope, terrain)}"
    dataset = run(
        simulator,
        state,
        control,
        seconds,
        every=every,
        progress=progress,
        seed=seed,
        command=shlex.join(sys.argv),
        title=title,
    )
    dataset.save(out)
    if video is not None:
        from softground.bridges.animation import animate

        animate(dataset, video, progress=progress)
    summary = dataset.summary() | {"run_file": str(out)}
    if as_json:
        print(json.dumps(summary))
    elif not quiet:
        print_pairs(title, summary)


@app.command(epilog="Example: [bold]softground robots[/]")
def robots(as_json: Json = False) -> None:
    """List the robots of the catalogue."""
    configure_jax()
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
    configure_jax()
    from softground.media.named import NAMED, describe

    described = {name: describe(name) for name in NAMED}
    if as_json:
        print(json.dumps(described))
        return
    print_rows("media", {name: {"": text} for name, text in described.items()})
