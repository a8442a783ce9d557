"""walk: a biped on ground that yields; on flat feet by a plan and a QP, on round feet by where they are put."""

from __future__ import annotations

import json
import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softground.cli.application import Json, Quiet, app, configure_jax
from softground.cli.options import check_positive, medium_of
from softground.errors import OptionError
from softground.tables import print_pairs

if TYPE_CHECKING:
    from softground.media import Medium, ViscoElastic
    from softground.robots import Robot


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground walk icub --k 8e5 --b 1e4 --out run.nc[/]   then   [bold]softground view run.nc[/]\n\n"
    "[bold]softground walk icub --k 8e5 --controller rigid[/]   which falls\n\n"
    "[bold]softground walk icub --estimate --guess-k 3.2e6 --noise 5 --seed 1[/]\n\n"
    "[bold]softground walk biped --ground sand --speed 0.2[/]   then   [bold]softground cost run.nc --start 4[/]\n\n"
    "[bold]softground walk biped --ground wedge --speed 0.3 --turn 0.5[/]"
)
def walk(
    robot: Annotated[str, typer.Argument(help="On flat feet: icub, talos, g1. On round feet: biped. Or a file.")],
    ground: Annotated[
        str | None,
        typer.Option(
            help="Flat feet: foam or firm; by default foam. Round feet: sand, pebbles, firm, or wedge (the law of "
            "chen2026, calibrated); by default sand."
        ),
    ] = None,
    strength: Annotated[float | None, typer.Option(help="Round feet: factor on the forces of the ground.")] = None,
    k: Annotated[float | None, typer.Option(help="Stiffness of springy ground, N/m per m2 of sole.")] = None,
    b: Annotated[float | None, typer.Option(help="Damping of springy ground, N s/m per m2 of sole.")] = None,
    controller: Annotated[
        str | None,
        typer.Option(help="Flat feet: compliant (knows how the ground yields; by default), cautious or rigid."),
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="Mean speed, m/s; negative: backwards. By default 0.085, on round feet 0.2.")
    ] = None,
    turn: Annotated[
        float,
        typer.Option(
            help="Turning rate, rad/s; positive: to the left. On round feet it is learned, slowly on firm ground."
        ),
    ] = 0.0,
    seconds: Annotated[float, typer.Option(help="Duration, s.")] = 10.0,
    estimate: Annotated[bool, typer.Option(help="Flat feet: estimate k and b under way.")] = False,
    guess_k: Annotated[float | None, typer.Option(help="Flat feet: what the controller takes k for at first.")] = None,
    guess_b: Annotated[float | None, typer.Option(help="Flat feet: what the controller takes b for at first.")] = None,
    noise: Annotated[
        float, typer.Option(help="Flat feet: sigma of noise on the wrenches, drawn every ms, N and N m.")
    ] = 0.0,
    seed: Annotated[int | None, typer.Option(help="Flat feet: of the noise.")] = None,
    out: Annotated[Path, typer.Option(help="Run file to write (netCDF).")] = Path("run.nc"),
    video: Annotated[Path | None, typer.Option(help="Also make a video (.mp4, .gif).")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Walk on yielding ground. A walk that falls is written and reported as a fall.

    Flat feet, on springs and dampers: a planned gait, and torques from a QP every millisecond. Round feet, on sand too:
    steps of 0.2 s that balance by where they are put, and torques from a linear system every 2 ms.
    """
    given = {"k": k, "b": b, "guess-k": guess_k, "guess-b": guess_b, "strength": strength, "seconds": seconds}
    check_positive(**{name: value for name, value in given.items() if value is not None})
    for name, value in {"speed": speed, "turn": turn}.items():
        if value is not None and not math.isfinite(value):
            raise OptionError(f"--{name} must be finite, got {value}")
    configure_jax()
    from softground.control import has_round_feet, usual_speed, walk_summary
    from softground.control import walk as walk_biped
    from softground.robots import Robot

    model = Robot.load(robot)
    progress = not (quiet or as_json)
    speed = usual_speed(model) if speed is None else speed
    options: dict[str, Any] = {}
    if has_round_feet(model):
        flat_only = {"estimate": estimate, "guess-k": guess_k, "guess-b": guess_b, "noise": noise}
        flat_only |= {"controller": controller, "seed": seed}
        for name, value in flat_only.items():
            if value not in (None, False, 0.0):
                raise OptionError(f"--{name} is for robots on flat feet, {model.name} has round ones")
        medium = _ground_of_round_feet(model, ground or "sand", strength, k, b)
        title = f"{model.name} walks on {ground or 'sand'}"
        run_title = f"{title} at {speed:g} m/s"
    else:
        if strength is not None:
            raise OptionError("--strength is for robots on round feet: give --k and --b instead")
        springs = _springs(ground or "foam", k, b)
        told = f"k = {springs.stiffness:g}, b = {springs.damping:g}, {controller or 'compliant'}"
        run_title = title = f"{model.name} walks on {ground or 'foam'}, {told}"
        medium = _noisy(springs, noise, seed or 0)
        options = {"controller": controller, "stiffness": guess_k, "damping": guess_b, "estimate": estimate}
    run = walk_biped(
        model,
        medium,
        speed,
        turn=turn,
        seconds=seconds,
        progress=progress,
        title=run_title,
        command=shlex.join(sys.argv),
        **options,
    )
    run.save(out)
    if video is not None:
        run.video(video, progress=progress)
    summary = walk_summary(run) | {"run_file": str(out)}
    if as_json:
        print(json.dumps(summary))
    elif not quiet:
        print_pairs(title, {name: "none" if value is None else value for name, value in summary.items()})


def _springs(ground: str, k: float | None, b: float | None) -> ViscoElastic:
    """Springy ground, with this stiffness and damping where they are given."""
    from dataclasses import replace

    import numpy as np

    from softground.media import ViscoElastic

    medium = medium_of(ground)
    if not isinstance(medium, ViscoElastic):
        raise OptionError(f"walking needs ground of springs and dampers, foam or firm, got --ground {ground}")
    stiffness, damping = (float(np.asarray(own)) for own in (medium.stiffness, medium.damping))
    return replace(medium, stiffness=stiffness if k is None else k, damping=damping if b is None else b)


def _noisy(medium: ViscoElastic, sigma: float, seed: int) -> Medium:
    from softground.media import Noisy

    return Noisy(medium, sigma, seed=seed) if sigma else medium


def _ground_of_round_feet(
    model: Robot, ground: str, strength: float | None, k: float | None, b: float | None
) -> Medium:
    """What a biped on round feet walks on."""
    factor = 1.0 if strength is None else strength
    if ground in ("foam", "firm"):
        if strength is not None:
            raise OptionError("--strength is for grains: give --k and --b instead")
        return _springs(ground, k, b)
    if k is not None or b is not None:
        raise OptionError(f"--k and --b are for springy ground, foam or firm, got --ground {ground}")
    if ground != "wedge":
        return _grains(ground, factor)
    from dataclasses import replace

    from softground.media.wedge import calibrated

    shape = model.feet[0].shape
    if shape.is_ball or not shape.rolls:
        raise OptionError(f"--ground wedge needs feet that are half-cylinders, got {type(shape).__name__}")
    law = calibrated(shape)
    return replace(law, zeta=factor * law.zeta)


def _grains(ground: str, strength: float) -> Medium:
    from softground.errors import unknown_name
    from softground.media import NAMED

    if not ground.endswith(".json") and ground not in NAMED:
        raise OptionError(unknown_name("ground", ground, [*NAMED, "wedge"]))
    return medium_of(ground, strength=strength)
