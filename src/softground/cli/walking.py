"""walk: a biped on ground that yields; on flat feet by a plan and a QP, on round feet by where they are put."""

from __future__ import annotations

import json
import math
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from softground.cli.application import (
    Damping,
    Json,
    Quiet,
    RobotName,
    RunOut,
    Seed,
    Stiffness,
    Strength,
    Video,
    app,
    check_outputs,
    check_positive,
    check_seed,
    configure_jax,
)
from softground.errors import OptionError
from softground.tables import print_pairs


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground walk icub --stiffness 8e5 --damping 1e4 --out run.nc[/]   then   "
    "[bold]softground view run.nc[/]\n\n"
    "[bold]softground walk icub --stiffness 8e5 --controller rigid[/]   which falls\n\n"
    "[bold]softground walk icub --estimate --guess-stiffness 3.2e6 --noise 5 --seed 1[/]\n\n"
    "[bold]softground walk biped --ground sand --speed 0.2[/]   then   [bold]softground cost run.nc --start 4[/]\n\n"
    "[bold]softground walk biped --ground wedge --speed 0.3 --turn 0.5[/]"
)
def walk(
    robot: RobotName,
    ground: Annotated[
        str | None,
        typer.Option(
            help="Medium (softground media), or a learned one (.json). Flat feet walk on springy ground only: foam, "
            "firm.",
            show_default="foam under flat feet, sand under round ones",
        ),
    ] = None,
    strength: Strength = None,
    stiffness: Stiffness = None,
    damping: Damping = None,
    speed: Annotated[
        float | None,
        typer.Option(
            help="Mean speed, m/s; negative: backwards.", show_default="0.085 on flat feet, 0.2 on round ones"
        ),
    ] = None,
    turn: Annotated[float, typer.Option(help="Turning rate, rad/s; positive: to the left.")] = 0.0,
    seconds: Annotated[float, typer.Option(help="Duration, s.")] = 10.0,
    noise: Annotated[
        float, typer.Option(help="Standard deviation of noise on the wrenches of the feet, every step, N and N m.")
    ] = 0.0,
    seed: Seed = None,
    controller: Annotated[
        str | None,
        typer.Option(
            help="On flat feet: compliant (knows how the ground yields), cautious or rigid.", show_default="compliant"
        ),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="On flat feet: estimate stiffness and damping under way.")
    ] = False,
    guess_stiffness: Annotated[
        float | None, typer.Option(help="On flat feet: the stiffness that the controller assumes at first.")
    ] = None,
    guess_damping: Annotated[
        float | None, typer.Option(help="On flat feet: the damping that the controller assumes at first.")
    ] = None,
    out: RunOut = Path("run.nc"),
    video: Video = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Walk on yielding ground. A walk that falls is written and reported as a fall.

    On flat feet (icub, talos, g1), on springs and dampers: DCM walking, a planned gait and torques from a QP every
    millisecond. On round feet (biped), on any ground: capture-point stepping, steps of 0.2 s that balance by where they
    are put, and torques from a linear system every 2 ms.
    """
    check_positive(
        stiffness=stiffness,
        damping=damping,
        guess_stiffness=guess_stiffness,
        guess_damping=guess_damping,
        strength=strength,
        seconds=seconds,
    )
    for name, value in {"speed": speed, "turn": turn}.items():
        if value is not None and not math.isfinite(value):
            raise OptionError(f"--{name} must be finite, got {value}")
    seed_used = check_seed(seed, noise=noise)
    configure_jax()
    check_outputs(out, video)
    from softground.control import has_round_feet, usual_speed, walk_summary
    from softground.control import walk as walk_biped
    from softground.media import Noisy, medium_of
    from softground.robots import Robot

    model = Robot.load(robot)
    progress = not (quiet or as_json)
    ground = ground or ("sand" if has_round_feet(model) else "foam")
    speed = usual_speed(model) if speed is None else speed
    medium = medium_of(ground, model, strength=strength, stiffness=stiffness, damping=damping)
    title = f"{model.name} walks on {ground} at {speed:g} m/s"
    run = walk_biped(
        model,
        Noisy(medium, noise, seed=seed_used) if noise else medium,
        speed,
        turn=turn,
        seconds=seconds,
        controller=controller,
        guess_stiffness=guess_stiffness,
        guess_damping=guess_damping,
        estimate=estimate,
        progress=progress,
        title=title,
        command=shlex.join(sys.argv),
    )
    run.save(out)
    if video is not None:
        run.video(video, progress=progress)
    summary = walk_summary(run) | {"run_file": str(out)}
    if as_json:
        print(json.dumps(summary))
    elif not quiet:
        print_pairs(title, {name: "none" if value is None else value for name, value in summary.items()})
