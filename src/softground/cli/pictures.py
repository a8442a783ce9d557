"""plot, cost, view: look at a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from softground.cli.application import Json, app, configure_jax
from softground.cli.options import check_positive, names
from softground.errors import OptionError
from softground.tables import print_pairs


@app.command(epilog="Example: [bold]softground plot run.nc --out run.png --video run.mp4[/]")
def plot(
    run_file: Annotated[Path, typer.Argument(help="Written by softground simulate, walk, plan, replay, demo.")],
    out: Annotated[Path | None, typer.Option(help="Figure (.png, .pdf, .svg); by default beside the run.")] = None,
    video: Annotated[Path | None, typer.Option(help="Also make a video (.mp4, .gif).")] = None,
    speed: Annotated[float, typer.Option(help="Of the video: 0.5 is slow motion.")] = 1.0,
) -> None:
    """Draw forces, sinkage, the base's motion and motor power of a run or a planned gait."""
    configure_jax()
    from softground.planning.plan import load_motion

    shown = load_motion(run_file)
    figure = run_file.with_suffix(".png") if out is None else out
    shown.plot(figure)
    print(figure)
    if video is not None:
        print(shown.video(video, speed=speed))


@app.command(epilog="Example: [bold]softground cost run.nc --start 2[/]")
def cost(
    run_file: Annotated[Path, typer.Argument(help="Written by softground simulate, walk, plan, replay, demo.")],
    start: Annotated[float | None, typer.Option(help="Count from here, s; by default all of the run.")] = None,
    end: Annotated[float | None, typer.Option(help="Count up to here, s.")] = None,
    as_json: Json = False,
) -> None:
    """Cost of transport of a walk, and of its stances; a walk that falls is reported as a fall."""
    configure_jax()
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
        Path | None, typer.Argument(help="Written by softground simulate, walk, plan, replay, demo.")
    ] = None,
    live: Annotated[str | None, typer.Option(help="Simulate this robot (name or file) instead.")] = None,
    ground: Annotated[str, typer.Option(help="Live: medium, see softground media; or a learned one (.json).")] = "sand",
    strength: Annotated[float, typer.Option(help="Live: factor on the forces of the ground.")] = 1.0,
    slope: Annotated[float, typer.Option(help="Live: inclination in degrees, rising towards +x.")] = 0.0,
    feet: Annotated[list[str] | None, typer.Option(help="Live: bodies, geoms or sites, as in simulate.")] = None,
    planar: Annotated[bool, typer.Option("--planar", help="Live: keep to the x-z plane.")] = False,
    dt: Annotated[float, typer.Option(help="Live: time step, s.")] = 0.002,
    host: Annotated[str, typer.Option(help="Address to serve on; by default this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free one.")] = 8080,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
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
    if run_file is not None:
        viewer.view_run(run_file, **serving)
        return
    from softground.robots import Robot

    assert live is not None
    settings = viewer.LiveSettings(medium=ground, strength=strength, slope=slope)
    viewer.view_live(Robot.load(live, feet=names(feet), planar=planar), settings, dt=dt, **serving)
