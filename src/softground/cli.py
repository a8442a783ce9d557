"""The command line. Heavy parts are imported inside the commands, so that `softground --help` is quick."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from softground.errors import OptionError, SoftgroundError
from softground.tables import print_pairs, print_rows


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
bench = typer.Typer(no_args_is_help=True, help="Measure speed and robustness, each beside a peer in the same run.")
app.add_typer(bench, name="bench")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no table.")]


def configure_jax(for_batches: bool = False) -> None:
    """Settings that JAX reads when it starts. One robot: double precision on one thread; batches: neither.

    PJRT_NPROC=1 keeps XLA's executor sequential: small steps in a loop run 1.5 times as fast. The last flag keeps
    small products away from a matrix library (10 % faster); XLA stops at flags it does not know, hence the check.
    """
    import importlib.metadata

    flags = ["--xla_cpu_multi_thread_eigen=false"]
    if not for_batches:
        os.environ.setdefault("PJRT_NPROC", "1")
        os.environ.setdefault("JAX_ENABLE_X64", "1")
        if importlib.metadata.version("jaxlib").startswith("0.10."):
            flags.append("--xla_cpu_experimental_ynn_fusion_type=")
    given = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = " ".join([given, *(f for f in flags if f.split("=")[0] not in given)]).strip()


def _show_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        print(importlib.metadata.version("softground"))
        raise typer.Exit()


@app.callback(epilog="First steps: [bold]softground demo[/]   then   [bold]softground simulate robosimian --slope 5[/]")
def main(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")] = False,
) -> None:
    """Legged robots on ground that yields: sand, pebbles, foam."""


@app.command(epilog="Example: [bold]softground demo --out out/demo[/]")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for runs, figures and films.")] = Path("out/demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs and films.")] = False,
) -> None:
    """Drop RoboSimian on a slope of sand, trot it on flat sand: run files, figures, films and a table."""
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
    seconds: Annotated[float, typer.Option(help="Duration, s.")] = 3.0,
    out: Annotated[Path, typer.Option(help="Run file to write (netCDF).")] = Path("run.nc"),
    feet: Annotated[list[str] | None, typer.Option(help="Bodies, geoms or sites; commas, or give it again.")] = None,
    lock: Annotated[list[str] | None, typer.Option(help="Joints to weld, * allowed; commas, or again.")] = None,
    planar: Annotated[bool, typer.Option("--planar", help="Keep to the x-z plane.")] = False,
    dt: Annotated[float, typer.Option(help="Time step, s.")] = 0.002,
    every: Annotated[int, typer.Option(help="Keep one sample per this many steps.")] = 1,
    height: Annotated[float, typer.Option(help="Of the lowest foot above the ground at the start, m.")] = 0.05,
    strength: Annotated[float, typer.Option(help="Factor on the forces of the ground.")] = 1.0,
    eps: Annotated[float | None, typer.Option(help="Temperature of granular ground, W.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Start with random velocities (0.1 m/s, rad/s) of this seed.")
    ] = None,
    video: Annotated[Path | None, typer.Option(help="Also make a film (.mp4, .gif).")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Drop a robot on a ground and let it hold its posture."""
    grains = {} if eps is None else {"eps": eps}  # only granular ground has a temperature
    _check_positive(dt=dt, seconds=seconds, strength=strength, **grains)
    if not -90 < slope < 90:
        raise OptionError(f"--slope must lie between -90 and 90 degrees, got {slope:g}")
    configure_jax()
    import numpy as np

    from softground.control.posture import hold_posture
    from softground.robots import Robot
    from softground.simulation import Ground, Simulator, run, save_run
    from softground.simulation.summary import summarise
    from softground.surfaces import Plane

    medium = _medium(ground, strength=strength, **grains)
    model = Robot.load(robot, feet=_names(feet), lock=_names(lock) or (), planar=planar)
    simulator = Simulator(model, Ground(medium, Plane(slope=np.deg2rad(slope))), dt)
    v = None if seed is None else 0.1 * np.random.default_rng(seed).normal(size=model.nv)
    state = simulator.initial_state(v=v, height=height)
    control = hold_posture(model) if model.nu else None
    progress = not (quiet or as_json)
    title = f"{model.name} on {ground}" + (f", {slope:g} deg slope" if slope else "")
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
    save_run(out, dataset)
    if video is not None:
        from softground.bridges.animation import animate

        animate(dataset, video, progress=progress)
    summary = summarise(dataset) | {"run_file": str(out)}
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


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground acquire --rig rft --medium sand --grid sand --out out/sand[/]\n\n"
    "[bold]softground acquire --rig dem --medium beads --grid beads --workers 8 --out out/beads[/]\n\n"
    "[bold]softground acquire --foot foot.stl --depths 0.01,0.03 --tilts 0,0.3 --out out/foot[/]\n\n"
    "[bold]softground acquire --status out/beads[/]"
)
def acquire(
    out: Annotated[Path | None, typer.Option(help="Folder of the campaign; given again, it goes on.")] = None,
    rig: Annotated[str, typer.Option(help="rft (resistive force theory) or dem (LAMMPS).")] = "rft",
    medium: Annotated[str, typer.Option(help="Of rft: sand or pebbles; else a name for the database.")] = "sand",
    foot: Annotated[
        str | None, typer.Option(help="cylinder:R,L, sphere:R, box:L,W,H in m, or FILE.stl; else the rig's own.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option(help="sand, pebbles, beads (zhu2019), or DEPTHSxTILTS: 0.01,0.03x0,0.3.")
    ] = None,
    depths: Annotated[str | None, typer.Option(help="Of the sole's centre, m: 0.01,0.03.")] = None,
    tilts: Annotated[str | None, typer.Option(help="Of the foot's axis, rad: 0,0.3.")] = None,
    headings: Annotated[str, typer.Option(help="Of the lean, rad; in space only.")] = "0",
    directions: Annotated[str, typer.Option(help="26 or 58 (in the plane), point or spatial.")] = "26",
    speed: Annotated[float | None, typer.Option(help="Greatest linear speed, m/s.")] = None,
    spin: Annotated[float | None, typer.Option(help="Greatest turning rate, rad/s.")] = None,
    duration: Annotated[float | None, typer.Option(help="Of a run, s; by default 5 cm at full speed.")] = None,
    seeds: Annotated[str, typer.Option(help="Arrangements of the grains: 1,2,3.")] = "1",
    mirror: Annotated[bool, typer.Option(help="Leave out runs that mirror symmetry gives.")] = True,
    reference_height: Annotated[float, typer.Option(help="Where torques are taken, m up from the sole.")] = 0.0,
    setting: Annotated[list[str] | None, typer.Option("--set", help="Of the rig: grains.modulus=3e8.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes here; more than one need Ray.")] = None,
    ray_address: Annotated[str | None, typer.Option(help="Of a Ray cluster, HOST:PORT.")] = None,
    status: Annotated[Path | None, typer.Option(help="Say how far the campaign in this folder is.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure wrenches on a foot over a grid of poses and directions: run files and a wrench database."""
    configure_jax()
    from softground.experiments.campaign import acquiring, campaign_status, options

    if status is not None:
        _print_status(campaign_status(status), as_json)
        return
    if out is None:
        raise OptionError("--out is missing: the folder of the campaign")
    plan = options.read_grid(
        grid,
        depths=depths,
        tilts=tilts,
        headings=headings,
        directions=directions,
        speed=speed,
        spin=spin,
        duration=duration,
        seeds=seeds,
        mirror=mirror and options.may_mirror(foot),
    )
    try:
        result = acquiring.acquire(
            options.read_rig(rig, foot, medium, plan, setting),
            plan,
            out,
            medium=medium,
            workers=workers,
            ray_address=ray_address,
            reference_height=reference_height,
            progress=not (quiet or as_json),
        )
    except KeyboardInterrupt:
        print(f"stopped; finished runs are in {out}: give the same command to go on", file=sys.stderr)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(result))
    elif not quiet:
        print_pairs("campaign", result | {"failed": _first_of(result["failed"])})
    if result["failed"]:
        raise typer.Exit(1)


def _print_status(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
        return
    print_rows(result["folder"], result.pop("configurations"))
    left, reasons = result.pop("time_left_s"), result.pop("failures")
    shown = {"failed": _first_of(reasons), "time left": "unknown" if left is None else f"{left / 60:.1f} min"}
    print_pairs("", result | shown)


def _first_of(failures: dict[str, str]) -> str:
    """How many runs failed, and one of the reasons."""
    if not failures:
        return "0"
    name, reason = next(iter(failures.items()))
    return f"{len(failures)}; in the folder failed/, for example {name}: {reason}"


@app.command(epilog="Example: [bold]softground learn sand.csv --out sand.json[/]")
def learn(
    database: Annotated[Path, typer.Argument(help="Wrench database (CSV), or a plain table of zhu2019.")],
    out: Annotated[Path, typer.Option(help="Learned medium to write (JSON), for simulate --ground.")] = Path(
        "medium.json"
    ),
    method: Annotated[str, typer.Option(help="auto (the best), rbf, gp, svr or physics.")] = "auto",
    as_json: Json = False,
) -> None:
    """Learn a medium from measured wrenches, comparing methods by cross-validation."""
    configure_jax()
    from rich.console import Console

    from softground.experiments.converters import read_any
    from softground.experiments.learning import report
    from softground.media import save_medium

    rows = read_any(database)
    with Console(stderr=True).status("learning") as status:
        learned = report.learn(rows, method, on_method=lambda label: status.update(f"trying {label}"))
    summary = learned.summary()
    save_medium(out, learned.medium, {"name": rows.medium, "provenance": rows.provenance, "learning": summary})
    if as_json:
        print(json.dumps(summary | {"out": str(out)}))
        return
    print_rows(f"{rows.medium}: normalised errors (* kept)", report.error_rows(learned))
    print_pairs(
        "noise, from mirrored directions of an upright foot", learned.noise or {"": "not measured on both sides"}
    )
    print_rows("measure next, the most uncertain first", report.plan_rows(learned))
    print(out)


@app.command(epilog="Example: [bold]softground inspect sand.csv --out pictures --depth 0.05 --tilt 0.3[/]")
def inspect(
    database: Annotated[Path, typer.Argument(help="Wrench database (CSV), or a plain table of zhu2019.")],
    out: Annotated[Path | None, typer.Option(help="Folder for pictures of the wrench spaces.")] = None,
    depth: Annotated[float | None, typer.Option(help="Of the space to picture, m; by default the middle one.")] = None,
    tilt: Annotated[float, typer.Option(help="Of the space to picture, rad.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Report how convex measured wrench spaces are, and picture them."""
    configure_jax()
    import numpy as np

    from softground.experiments import convexity, figures
    from softground.experiments.converters import read_any
    from softground.simulation.figures import save_figure

    rows = read_any(database)
    rated = convexity.report(rows)
    if out is not None:
        pose = (float(np.median(rows.depth[rows.depth > 0])) if depth is None else depth, tilt)
        save_figure(figures.hull_figure(rows, *pose), out / "hull.png")
        save_figure(figures.slices_figure(rows, *pose), out / "slices.png")
        save_figure(figures.change_figure(rows), out / "change.png")
    if as_json:
        print(json.dumps(rated))
        return
    print_rows(f"{rows.medium}: concavity", rated["configurations"])
    print_pairs("", {name: value for name, value in rated.items() if name != "configurations"})


@app.command(epilog="Example: [bold]softground plot run.nc --out run.png --video run.mp4[/]")
def plot(
    run_file: Annotated[Path, typer.Argument(help="Written by softground simulate, demo or save_run.")],
    out: Annotated[Path | None, typer.Option(help="Figure (.png, .pdf, .svg); by default beside the run.")] = None,
    video: Annotated[Path | None, typer.Option(help="Also make a film (.mp4, .gif).")] = None,
    speed: Annotated[float, typer.Option(help="Of the film: 0.5 is slow motion.")] = 1.0,
) -> None:
    """Draw forces, sinkage, the base's motion and motor power of a run."""
    configure_jax()
    from softground.simulation.figures import run_figure, save_figure
    from softground.simulation.run_file import load_run

    dataset = load_run(run_file)
    print(save_figure(run_figure(dataset), run_file.with_suffix(".png") if out is None else out))
    if video is not None:
        from softground.bridges.animation import animate

        print(animate(dataset, video, speed=speed))


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground view run.nc[/]\n\n"
    "[bold]softground view --live robosimian --ground sand --strength 3[/]"
)
def view(
    run_file: Annotated[Path | None, typer.Argument(help="Written by softground simulate, demo or save_run.")] = None,
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
    """Show a run, or a live simulation, in a web page."""
    if (run_file is None) == (live is None):
        raise OptionError("give either a run file or --live ROBOT")
    _check_positive(dt=dt)
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
    viewer.view_live(Robot.load(live, feet=_names(feet), planar=planar), settings, dt=dt, **serving)


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground reproduce --list[/]\n\n"
    "[bold]softground reproduce zhu2019/drop --out out[/]\n\n"
    "[bold]softground reproduce zhu2019 --quick --json[/]"
)
def reproduce(
    study: Annotated[str | None, typer.Argument(help="PAPER/STUDY, or PAPER for all of its studies.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter and coarser; no films.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for reports: OUT/PAPER/STUDY.")] = Path("out"),
    strict: Annotated[bool, typer.Option("--strict", help="Fail (exit 1) when a check fails.")] = False,
    sand: Annotated[Path | None, typer.Option(help="Measured sand of zhu2019 (CSV).")] = None,
    rerun_dem: Annotated[bool, typer.Option("--rerun-dem", help="Simulate grains again: minutes.")] = False,
    as_json: Json = False,
) -> None:
    """Repeat the tables and figures of a paper: a report each, and claims that hold or fail."""
    configure_jax()
    from rich.console import Console

    from softground.papers import catalogue, reproducing
    from softground.papers.study import Options

    if listed:
        studies = catalogue.all_studies()
        if as_json:
            print(json.dumps([{"study": one.label, "title": one.title} for one in studies]))
        else:
            print_rows("studies", {one.label: {"": one.title} for one in studies})
        return
    if study is None:
        raise OptionError("name a study or a paper; softground reproduce --list shows what there is")
    options = Options(quick=quick, sand=sand, rerun_dem=rerun_dem)
    documents = reproducing.reproduce(catalogue.find(study), out, options, Console(stderr=True))
    if as_json:
        print(json.dumps(documents if len(documents) > 1 else documents[0]))
    failed = reproducing.failed(documents)
    if strict and failed:
        raise typer.Exit(1)


@bench.command("step", epilog="Example: [bold]softground bench step --robot robosimian --json[/]")
def bench_step(
    robot: Annotated[list[str] | None, typer.Option(help="Of the catalogue; give it again for more.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Simulated time of a repetition, s.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Repetitions; their median counts.")] = None,
    dt: Annotated[float | None, typer.Option(help="Time step, s.")] = None,
    as_json: Json = False,
) -> None:
    """Time of one step in a loop on one core, beside MuJoCo C on a rigid plane."""
    configure_jax()
    from softground.bench.step import measure

    options = {"robots": robot and tuple(robot), "seconds": seconds, "repeats": repeats, "dt": dt}
    _report("one step", measure, "robots", as_json, options)


@bench.command("batch", epilog="Example: [bold]softground bench batch --size 4096 --size 32768 --json[/]")
def bench_batch(
    size: Annotated[list[int] | None, typer.Option(help="Robots at once; give it again for more sizes.")] = None,
    as_json: Json = False,
) -> None:
    """Steps a second of many robots at once in float32, beside MJX with rigid contact; on a GPU if any."""
    configure_jax(for_batches=True)
    from softground.bench.batch import measure

    _report("batches", measure, "batches", as_json, {"sizes": size and tuple(size)})


@bench.command("robustness", epilog="Example: [bold]softground bench robustness --states 256 --steps 200[/]")
def bench_robustness(
    states: Annotated[int | None, typer.Option(help="Random initial states.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps from each, with random torques.")] = None,
    as_json: Json = False,
) -> None:
    """Random states and torques: counts steps that do not converge and states that are not finite."""
    configure_jax()
    from softground.bench.robustness import measure

    _report("robustness", measure, "", as_json, {"states": states, "steps": steps})


# -- options and reports --------------------------------------------------------------------------------


def _medium(ground: str, **options: float):
    """A named medium, or a learned one where a JSON file is given."""
    from softground.media import load_medium, named_medium

    return (load_medium if ground.endswith(".json") else named_medium)(ground, **options)


def _check_positive(**options: float) -> None:
    for name, value in options.items():
        if not 0 < value < float("inf"):
            raise OptionError(f"--{name} must be positive, got {value:g}")


def _names(given: list[str] | None) -> list[str] | None:
    """Names from options that may be repeated and may hold commas."""
    return [name.strip() for item in given for name in item.split(",") if name.strip()] if given else None


def _report(title: str, measure: Callable[..., dict], rows: str, as_json: bool, options: dict[str, Any]) -> None:
    """Measure; print the result as JSON only, or as a table of its entry `rows` and the rest as lines.

    Options that were not given (None) are left to `measure`.
    """
    from rich.console import Console

    with Console(stderr=True).status(f"measuring {title}"):
        result = measure(**{name: value for name, value in options.items() if value})
    if as_json:
        print(json.dumps(result))
        return
    if rows:
        print_rows(title, result[rows])
    print_pairs("" if rows else title, {key: value for key, value in result.items() if key != rows})


if __name__ == "__main__":
    app()
