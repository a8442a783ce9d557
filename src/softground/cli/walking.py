"""walk: a biped on soft ground, under whole-body control."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from softground.cli.application import Json, Quiet, app, configure_jax
from softground.cli.options import check_positive, medium_of
from softground.errors import OptionError
from softground.tables import print_pairs


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground walk icub --k 8e5 --b 1e4 --out run.nc[/]   then   [bold]softground view run.nc[/]\n\n"
    "[bold]softground walk icub --k 8e5 --controller rigid[/]   which falls\n\n"
    "[bold]softground walk icub --estimate --guess-k 3.2e6 --noise 5 --seed 1[/]"
)
def walk(
    robot: Annotated[str, typer.Argument(help="A biped with flat feet: icub, talos, g1, or a file.")],
    ground: Annotated[str, typer.Option(help="foam or firm.")] = "foam",
    k: Annotated[float | None, typer.Option(help="Stiffness of the ground, N/m per m2 of sole.")] = None,
    b: Annotated[float | None, typer.Option(help="Damping of the ground, N s/m per m2 of sole.")] = None,
    controller: Annotated[str, typer.Option(help="compliant (knows how the ground yields) or rigid.")] = "compliant",
    speed: Annotated[float, typer.Option(help="Mean speed of full steps, m/s; negative: backwards.")] = 0.085,
    turn: Annotated[float, typer.Option(help="Turning rate, rad/s; positive: to the left.")] = 0.0,
    seconds: Annotated[float, typer.Option(help="Duration, s.")] = 10.0,
    estimate: Annotated[bool, typer.Option(help="Estimate k and b under way.")] = False,
    guess_k: Annotated[float | None, typer.Option(help="What the controller takes k for at first.")] = None,
    guess_b: Annotated[float | None, typer.Option(help="What the controller takes b for at first.")] = None,
    noise: Annotated[float, typer.Option(help="Sigma of noise on the wrenches, drawn every ms, N and N m.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = 0,
    out: Annotated[Path, typer.Option(help="Run file to write (netCDF).")] = Path("run.nc"),
    video: Annotated[Path | None, typer.Option(help="Also make a film (.mp4, .gif).")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Walk on ground of springs and dampers: a planned gait, and torques from a QP every millisecond."""
    given = {"k": k, "b": b, "guess-k": guess_k, "guess-b": guess_b, "seconds": seconds}
    check_positive(**{name: value for name, value in given.items() if value is not None})
    configure_jax()
    from dataclasses import replace

    import numpy as np

    from softground.control.estimation import Estimator
    from softground.control.walking.controllers import check_controller, walking_controller
    from softground.control.walking.gait import gait_for
    from softground.control.walking.walk import Belief, Command, verdict
    from softground.control.walking.walk import walk as walk_over
    from softground.media import Noisy, ViscoElastic
    from softground.robots import Robot
    from softground.simulation import Simulator, save_run

    check_controller(controller)
    medium = medium_of(ground)
    if not isinstance(medium, ViscoElastic):
        raise OptionError(f"walking needs ground of springs and dampers, foam or firm, got --ground {ground}")
    stiffness, damping = (float(np.asarray(own)) for own in (medium.stiffness, medium.damping))
    stiffness, damping = (stiffness if k is None else k), (damping if b is None else b)
    medium = replace(medium, stiffness=stiffness, damping=damping)
    model = Robot.load(robot)
    gait = gait_for(model)
    belief = Belief(
        stiffness if guess_k is None else guess_k,
        damping if guess_b is None else guess_b,
        Estimator(max(noise, 1.0)) if estimate else None,
    )
    progress = not (quiet or as_json)
    title = f"{model.name} walks on {ground}, k = {stiffness:g}, b = {damping:g}, {controller}"
    dataset = walk_over(
        Simulator(model, Noisy(medium, noise, seed=seed) if noise else medium, 1e-3),
        walking_controller(model, controller),
        gait,
        Command(speed, turn, seconds),
        belief,
        progress=progress,
        title=title,
        invocation=shlex.join(sys.argv),
    )
    save_run(out, dataset)
    if video is not None:
        from softground.bridges.animation import animate

        animate(dataset, video, progress=progress)
    summary = verdict(dataset).as_dict() | {"run_file": str(out)}
    if as_json:
        print(json.dumps(summary))
    elif not quiet:
        print_pairs(title, summary)
