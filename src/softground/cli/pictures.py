"""plot, cost, view: look at a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from softground.cli.application import (
    Feet,
    GroundName,
    Ignore,
    Json,
    Lock,
    Planar,
    Quiet,
    RunFile,
    Slope,
    Strength,
    TimeStep,
    Video,
    app,
    check_positive,
    configure_jax,
    load_robot,
)
from softground.errors import OptionError
from softground.tables import print_pairs


@app.command(epilog="Example: [bold]softground plot run.nc --out run.png --video run.mp4[/]")
def plot(
    run_file: RunFile,
    out: Annotated[Path | None, typer.Option(help="Figure (.png, .pdf, .svg); by default beside the run.")] = None,
    video: Video = None,
    playback: Annotated[float, typer.Option(help="Speed of the video: 0.5 is slow motion.")] = 1.0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw forces, sinkage, the base's motion and actuator power of a run or a planned gait."""
    check_positive(playback=playback)
    configure_jax(steps=0)
    from softground.planning.plan import load_motion

    shown, figure = load_motion(run_file), run_file.with_suffix(".png") if out is None else out
    shown.plot(figure)
    made = {"figure": str(figure)}
    if video is not None:
        made["video"] = str(shown.video(video, speed=playback, progress=not (quiet or as_json)))
    if as_json:
        print(json.dumps(made))
    elif not quiet:
        print(*made.values(), sep="\n")


@app.command(epilog="Example: [bold]softground cost run.nc --start 2[/]")
def cost(
    run_file: RunFile,
    start: Annotated[float | None, typer.Option(help="Count from here, s; by default all of the run.")] = None,
    end: Annotated[float | None, typer.Option(help="Count up to here, s.")] = None,
    as_json: Json = False,
) -> None:
    """Cost of transport of a walk, and of its stances; a walk that falls is reported as a fall."""
    configure_jax(steps=0)
    from softground.planning import Plan
    from softground.planning.plan import load_motion
    from softground.runs.cost_of_transport import describe_cost, stance_rows

    loaded = load_motion(run_file)
    dataset = loaded.motion if isinstance(loaded, Plan) else loaded
    found = dataset.cost(start, end)
    result = {"robot": dataset.attrs["robot"]} | describe_cost(found)
    if as_json:
        print(json.dumps(result | {"per_stance": stance_rows(found)}))
        return
    print_pairs(dataset.attrs["title"], {name: "none" if value is None else value for name, value in result.items()})


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground view run.nc[/]\n\n"
    "[bold]softground view --live robosimian --ground sand --strength 3[/]"
)
def view(
    run_file: Annotated[
        Path | None, typer.Argument(help="Run file, written by softground simulate, walk, plan, replay or demo.")
    ] = None,
    live: Annotated[
        str | None, typer.Option(help="Simulate this robot (name or file) instead, as the options below say.")
    ] = None,
    ground: GroundName = "sand",
    strength: Strength = None,
    slope: Slope = 0.0,
    feet: Feet = None,
    lock: Lock = None,
    ignore: Ignore = None,
    planar: Planar = False,
    dt: TimeStep = 0.002,
    host: Annotated[str, typer.Option(help="Address to serve on; by default this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to serve on; 0 takes any free one.")] = 8080,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Show a run, a planned gait, or a live simulation, in a web page."""
    if (run_file is None) == (live is None):
        raise OptionError("give either a run file or --live ROBOT")
    check_positive(dt=dt)
    configure_jax()
    try:
        from softground.bridges import viewer
    except ModuleNotFoundError as error:
        if error.name != "viser":
            raise
        raise OptionError("the viewer needs the package viser: pip install softground[view]") from error
    serving: dict[str, Any] = {"host": host, "port": port, "open_browser": open_browser}
    if as_json:
        serving["announce"] = lambda text: print(json.dumps({"address": text.split()[0]}), flush=True)
    if run_file is not None:
        viewer.view_run(run_file, **serving)
        return
    assert live is not None
    settings = viewer.LiveSettings(medium=ground, strength=1.0 if strength is None else strength, slope=slope)
    viewer.view_live(load_robot(live, feet, lock, ignore, planar), settings, dt=dt, **serving)
