"""The application: its errors, its version, how JAX is set up, and the options that commands share.

Each option has one meaning; functions lead from their words to objects, and from results to tables.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from softground.errors import OptionError, SoftgroundError
from softground.lazy import import_when_used
from softground.tables import print_pairs, print_rows

if TYPE_CHECKING:
    from softground.robots import Robot
    from softground.surfaces import Surface


class Group(TyperGroup):
    """Prints errors of ours as one line, exit code 2; others show their traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except SoftgroundError as error:
            from rich.console import Console
            from rich.markup import escape

            Console(stderr=True).print(
                f"[bold red]error:[/] [red]{escape(str(error))}", soft_wrap=True, highlight=False
            )
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no table.")]


LEVELS = {3_000: 0, 100_000: 1}
"""Steps below which a program serves best that XLA has optimised at this level only.

At level 0 the step of a robot compiles in a third of the time and takes 1.4 to 6 times as long, which pays up to 5,000
steps of G1 and 20,000 of a quadruped (and half as many where the program is there already); at level 1 it compiles in
half the time and takes 7 to 25 % longer.
"""


def configure_jax(for_batches: bool = False, steps: float = float("inf")) -> None:
    """Settings that JAX reads when it starts. One robot: double precision on one thread; batches: neither.

    PJRT_NPROC=1 keeps XLA's executor sequential: small steps in a loop run 1.5 times as fast. Without asynchronous
    dispatch a controller that calls a compiled function every millisecond waits a third less. `ynn` keeps small
    products away from a matrix library (10 % faster). steps: for how many what is compiled will run (`LEVELS`). XLA
    stops at flags it does not know, hence the check. Compiled programs are kept for the next call, apart for every kind
    of processor. What is imported and traced stays: looking through it for garbage every 700 objects, and once more as
    Python ends, would take a fifth of a short command.
    """
    import atexit
    import gc
    import importlib.metadata

    from softground.cache import programs_folder

    gc.set_threshold(500_000)
    atexit.register(gc.freeze)

    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(programs_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none")

    flags = ["--xla_cpu_multi_thread_eigen=false"]
    if not for_batches:
        os.environ.setdefault("PJRT_NPROC", "1")
        level = next((level for limit, level in LEVELS.items() if steps < limit), None)
        if level is not None:  # threads of NumPy's matrix library cost small products more than they give
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "0")
        os.environ.setdefault("JAX_ENABLE_X64", "1")
        if importlib.metadata.version("jaxlib").startswith("0.10."):
            flags.append("--xla_cpu_experimental_ynn_fusion_type=")
            if level is not None:
                flags += ["--xla_cpu_use_fusion_emitters=false", f"--xla_backend_optimization_level={level}"]
    given = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = " ".join([given, *(f for f in flags if f.split("=")[0] not in given)]).strip()
    _import_mujoco_without_windows()
    _import_jax_without_search()
    import_when_used("numpy.f2py")  # SciPy takes all names of NumPy, so also its compiler of Fortran


def _import_mujoco_without_windows() -> None:
    """Import MuJoCo as it is where nothing draws to a screen: `bridges.graphics` makes the contexts of our pictures.

    Otherwise it would start another Python to look for a library of windows, three quarters of what its import takes.
    """
    if "MUJOCO_GL" in os.environ:
        return
    os.environ["MUJOCO_GL"] = "off"
    import mujoco  # noqa: F401

    del os.environ["MUJOCO_GL"]


def _import_jax_without_search() -> None:
    """Import JAX without its search for AMD's plugin where there is none: it would read what every package that is
    installed says of itself, a tenth of what its import takes where they are 170.
    """
    import importlib.metadata as metadata

    every = metadata.distributions
    if not any(next(Path(folder).glob("jax_rocm*"), None) for folder in sys.path):
        metadata.distributions = lambda: ()
    try:
        import jax.numpy  # noqa: F401
    finally:
        metadata.distributions = every


def _show_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        print(importlib.metadata.version("softground"))
        raise typer.Exit()


@app.callback(epilog="First steps: [bold]softground demo[/]   then   [bold]softground simulate robosimian --slope 5[/]")
def main(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")] = False,
) -> None:
    """Legged robots on ground that yields: sand, pebbles, foam.

    Simulate, walk and plan; measure grains and learn a medium from them; look at runs, and repeat published results.
    Every command that writes a run takes --out, every one that prints takes --json, and COMMAND --help has examples.
    """


RobotName = Annotated[
    str, typer.Argument(metavar="ROBOT", help="Name in the catalogue (softground robots), or an MJCF or URDF file.")
]
RunFile = Annotated[Path, typer.Argument(help="Run file, written by softground simulate, walk, plan, replay or demo.")]
GroundName = Annotated[
    str,
    typer.Option(
        help="Medium (softground media lists them), or a learned one (.json); several in simulate: 'firm, sand*2: x>1'."
    ),
]
Floor = Annotated[float | None, typer.Option(help="Depth of a firm floor below the surface, m.")]
MapFile = Annotated[
    Path | None, typer.Option("--map", help="Where the media of --ground lie: indices 0, 1, ... (.npy, .csv), x by y.")
]
MapCell = Annotated[float, typer.Option(help="Side of a square of --map, m.")]
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
Contacts = Annotated[
    list[str] | None,
    typer.Option(help="What meets the ground: feet, all, or bodies and geoms beside the feet.", show_default="feet"),
]
Planar = Annotated[bool, typer.Option("--planar", help="Keep the robot to the x-z plane.")]
TimeStep = Annotated[float, typer.Option(help="Time step of the simulator, s.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the random numbers that other options ask for.")]
RunOut = Annotated[Path, typer.Option(help="Run file to write (netCDF).")]
Video = Annotated[Path | None, typer.Option(help="Also make a video (.mp4, .gif).")]


def load_robot(
    robot: str,
    feet: list[str] | None,
    lock: list[str] | None,
    ignore: list[str] | None,
    planar: bool,
    contacts: list[str] | None = None,
) -> Robot:
    """The robot that these options describe."""
    from softground.robots import Robot

    touching = names(contacts) or ["feet"]
    return Robot.load(
        robot,
        feet=names(feet),
        lock=names(lock) or (),
        planar=planar,
        ignore=names(ignore) or (),
        contacts=touching[0] if touching in (["feet"], ["all"]) else touching,
    )


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


def check_outputs(out: Path, video: Path | None = None) -> None:
    """OptionError, before any time is spent, where a result could not be written when it is there."""
    for path in (out, video):
        if path is None:
            continue
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if path.is_dir():
            raise OptionError(f"cannot write {path}: it is a folder; give the name of a file")
        if not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise OptionError(f"cannot write {path}: {folder} is no folder that you may write to; choose another place")
    if video is not None:
        from softground.bridges.animation import check_format

        check_format(video)


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
