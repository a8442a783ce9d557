"""The options that commands share, each with one meaning; from words to objects, and from results to tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softground.errors import OptionError
from softground.tables import print_pairs, print_rows

if TYPE_CHECKING:
    from softground.robots import Robot
    from softground.surfaces import Surface

RobotName = Annotated[
    str, typer.Argument(metavar="ROBOT", help="Name in the catalogue (softground robots), or an MJCF or URDF file.")
]
RunFile = Annotated[Path, typer.Argument(help="Run file, written by softground simulate, walk, plan, replay or demo.")]
GroundName = Annotated[str, typer.Option(help="Medium (softground media lists them), or a learned one (.json).")]
Strength = Annotated[float | None, typer.Option(help="Factor on all forces of the ground.", show_default="1")]
Stiffness = Annotated[float | None, typer.Option(help="Stiffness of springy ground (foam, firm), N/m per m2 of sole.")]
Damping = Annotated[float | None, typer.Option(help="Damping of springy ground, N s/m per m2 of sole.")]
Slope = Annotated[float, typer.Option(help="Inclination of the ground in degrees, rising towards +x.")]
Terrain = Annotated[
    Path | None, typer.Option(help="Watertight mesh in place of a plane (STL, OBJ, PLY; metres, z up).")
]
Spacing = Annotated[
    float | None,
    typer.Option(help="Spacing at which --terrain is sampled, m; by default fine enough for its features."),
]
Feet = Annotated[
    list[str] | None, typer.Option(help="Bodies, geoms or sites that are feet; with commas, or given again.")
]
Lock = Annotated[list[str] | None, typer.Option(help="Joints to weld, * allowed; with commas, or given again.")]
Ignore = Annotated[
    list[str] | None, typer.Option(help="Features of the model file to do without: equality, tendon, ...")
]
Planar = Annotated[bool, typer.Option("--planar", help="Keep the robot to the x-z plane.")]
TimeStep = Annotated[float, typer.Option(help="Time step of the simulator, s.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the random numbers that other options ask for.")]
RunOut = Annotated[Path, typer.Option(help="Run file to write (netCDF).")]
Video = Annotated[Path | None, typer.Option(help="Also make a video (.mp4, .gif).")]


def load_robot(
    robot: str, feet: list[str] | None, lock: list[str] | None, ignore: list[str] | None, planar: bool
) -> Robot:
    """The robot that these options describe."""
    from softground.robots import Robot

    return Robot.load(robot, feet=names(feet), lock=names(lock) or (), planar=planar, ignore=names(ignore) or ())


def surface_of(slope: float, terrain: Path | None, spacing: float | None = None) -> Surface:
    """A plane of this slope (degrees), or the terrain in a mesh file, sampled at a spacing (m)."""
    import numpy as np

    from softground.surfaces import MeshSurface, Plane

    if not -90 < slope < 90:
        raise OptionError(f"--slope must lie between -90 and 90 degrees, got {slope:g}")
    if terrain is None:
        if spacing is not None:
            raise OptionError("--spacing is of a terrain: give --terrain, too")
        return Plane(slope=np.deg2rad(slope))
    if slope:
        raise OptionError("--slope and --terrain cannot be given together: turn the mesh")
    return MeshSurface(terrain, spacing)


def check_seed(seed: int | None, **random: float) -> int:
    """The seed, 0 unless given; OptionError where nothing random is asked for that it could be of."""
    if seed is not None and not any(random.values()):
        raise OptionError(f"--seed needs something random to be the seed of: give --{' or --'.join(random)}, too")
    return seed or 0


def place_in_words(slope: float, terrain: Path | None) -> str:
    """What a title says of the surface."""
    return f", {terrain.name}" if terrain else f", {slope:g} deg slope" if slope else ""


def check_positive(**options: float | None) -> None:
    """OptionError unless the numbers that were given are positive."""
    for name, value in options.items():
        if value is not None and not 0 < value < float("inf"):
            raise OptionError(f"--{name.replace('_', '-')} must be positive, got {value:g}")


def names(given: list[str] | None) -> list[str] | None:
    """Names from options that may be repeated and may hold commas."""
    return [name.strip() for item in given for name in item.split(",") if name.strip()] if given else None


def report(
    title: str,
    measure: Callable[..., dict],
    rows: str,
    as_json: bool,
    options: dict[str, Any],
    *,
    own_progress: bool = False,
) -> None:
    """Measure; print the result as JSON only, or as a table of its entry `rows` and the rest as lines.

    Options that were not given (None, or an empty list) are left to `measure`; numbers must be positive.
    own_progress: whether `measure` shows its progress itself.
    """
    from rich.console import Console

    given = {name: value for name, value in options.items() if value not in (None, [])}
    check_positive(**{name: value for name, value in given.items() if isinstance(value, int | float)})
    with Console(stderr=True, quiet=own_progress).status(f"measuring {title}"):
        result = measure(**given)
    if as_json:
        print(json.dumps(result))
        return
    if rows:
        print_rows(title, result[rows])
    print_pairs("" if rows else title, {key: value for key, value in result.items() if key != rows})
