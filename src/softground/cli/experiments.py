"""acquire, learn, inspect: from measured wrenches to a medium."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softground.cli.application import Json, Quiet, app, check_outputs, configure_jax
from softground.errors import OptionError
from softground.tables import print_pairs, print_rows

if TYPE_CHECKING:
    from softground.experiments.database import WrenchDatabase

campaigns = typer.Typer(
    invoke_without_command=True,
    subcommand_metavar="[status DIR]",
    epilog="Examples:\n\n"
    "[bold]softground acquire --rig rft --medium sand --grid sand --out out/sand[/]\n\n"
    "[bold]softground acquire --rig dem --medium beads --grid beads --workers 8 --out out/beads[/]\n\n"
    "[bold]softground acquire --foot foot.stl --depths 0.01,0.03 --tilts 0,0.3 --out out/foot[/]\n\n"
    "[bold]softground acquire status out/beads[/]",
)
app.add_typer(campaigns, name="acquire")


@campaigns.callback()
def acquire(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(help="Folder of the campaign; given again, it goes on.")] = None,
    rig: Annotated[str, typer.Option(help="rft (resistive force theory) or dem (LAMMPS).")] = "rft",
    medium: Annotated[str, typer.Option(help="With rft: sand or pebbles; else a name for the database.")] = "sand",
    foot: Annotated[
        str | None, typer.Option(help="cylinder:R,L, sphere:R, box:L,W,H in m, or FILE.stl; else the rig's own.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option(help="sand, pebbles, beads (zhu2019), or DEPTHSxTILTS: 0.01,0.03x0,0.3.")
    ] = None,
    depths: Annotated[str | None, typer.Option(help="Depths of the sole's centre, m: 0.01,0.03.")] = None,
    tilts: Annotated[str | None, typer.Option(help="Tilts of the foot's axis, rad: 0,0.3.")] = None,
    headings: Annotated[str, typer.Option(help="Headings of the lean, rad; in space only.")] = "0",
    directions: Annotated[str, typer.Option(help="26 or 58 (in the plane), point, spatial or spatial61.")] = "26",
    speed: Annotated[float | None, typer.Option(help="Greatest linear speed, m/s.")] = None,
    spin: Annotated[float | None, typer.Option(help="Greatest turning rate, rad/s.")] = None,
    duration: Annotated[float | None, typer.Option(help="Duration of a run, s; by default 5 cm at full speed.")] = None,
    seeds: Annotated[str, typer.Option(help="Seeds of the arrangements of grains: 1,2,3.")] = "1",
    mirror: Annotated[bool, typer.Option(help="Leave out runs that mirror symmetry gives.")] = True,
    reference_height: Annotated[float, typer.Option(help="Where torques are taken, m up from the sole.")] = 0.0,
    setting: Annotated[list[str] | None, typer.Option("--set", help="Setting of the rig: grains.modulus=3e8.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes here; more than one need Ray.")] = None,
    ray_address: Annotated[str | None, typer.Option(help="Address of a Ray cluster, HOST:PORT.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure wrenches on a foot over a grid of poses and directions: run files and a wrench database."""
    if context.invoked_subcommand is not None:
        return
    configure_jax()
    from softground.experiments.campaign import options, running

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
        result = running.acquire(
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


@campaigns.command(epilog="Example: [bold]softground acquire status out/beads --json[/]")
def status(
    folder: Annotated[Path, typer.Argument(help="Folder of the campaign, given to acquire as --out.")],
    as_json: Json = False,
) -> None:
    """Say how far a campaign is: runs done, failed and left, for each pose; also while it runs."""
    configure_jax()
    from softground.experiments.campaign import campaign_status

    result = campaign_status(folder)
    if as_json:
        print(json.dumps(result))
        return
    print_rows(result["folder"], result.pop("configurations"))
    left, reasons = result.pop("time_left_s"), result.pop("failures")
    shown = {"failed": _first_of(reasons), "time left": "unknown" if left is None else f"{left / 60:.1f} min"}
    print_pairs("", result | shown)


@campaigns.command(epilog="Example: [bold]softground acquire merge out/beads elsewhere/beads[/]")
def merge(
    folder: Annotated[Path, typer.Argument(help="Folder of the campaign that grows.")],
    others: Annotated[list[Path], typer.Argument(help="Folders of the same campaign, made elsewhere.")],
    as_json: Json = False,
) -> None:
    """Add runs of the same campaign that were made elsewhere; their records may be left behind (acquire pack)."""
    configure_jax()
    from softground.experiments.campaign import campaign_status, merging

    merging.merge(folder, others)
    _say_how_far(campaign_status(folder), as_json)


@campaigns.command(epilog="Example: [bold]softground acquire pack out/beads[/]")
def pack(
    folder: Annotated[Path, typer.Argument(help="Folder of the campaign.")],
    as_json: Json = False,
) -> None:
    """Write the wrenches of all finished runs to packed.csv: with campaign.json all that needs to travel."""
    configure_jax()
    from softground.experiments.campaign import campaign_status, merging

    merging.pack(folder)
    _say_how_far(campaign_status(folder), as_json)


def _say_how_far(status: dict, as_json: bool) -> None:
    shown = {name: status[name] for name in ("folder", "total", "done", "failed")}
    if as_json:
        print(json.dumps(shown))
    else:
        print_pairs("campaign", shown)


def _first_of(failures: dict[str, str]) -> str:
    """How many runs failed, and one of the reasons."""
    if not failures:
        return "0"
    name, reason = next(iter(failures.items()))
    return f"{len(failures)}; in the folder failed/, for example {name}: {reason}"


DATABASE = "Wrench database (CSV), a plain table of zhu2019, or the folder of a campaign"


@app.command(
    epilog="Examples:\n\n[bold]softground learn sand.csv --out sand.json[/]\n\n"
    "[bold]softground learn out/beads --out beads.json[/]   each seed of the campaign is a bed"
)
def learn(
    database: Annotated[Path, typer.Argument(help=f"{DATABASE}, each seed of which is a bed.")],
    out: Annotated[Path, typer.Option(help="Learned medium to write (JSON), for simulate --ground.")] = Path(
        "medium.json"
    ),
    method: Annotated[str, typer.Option(help="auto (the best), rbf, gp, svr or physics.")] = "auto",
    bed: Annotated[
        list[Path] | None, typer.Option(help="The same foot measured in a further bed; may be given again.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Of a campaign's folder only these: 1,2.")] = None,
    as_json: Json = False,
) -> None:
    """Learn a medium from measured wrenches, comparing methods by cross-validation."""
    configure_jax()
    check_outputs(out)
    from rich.console import Console

    from softground.experiments.learning import report
    from softground.media import save_medium

    rows, *further = [one for path in (database, *(bed or [])) for one in _beds(path, seeds)]
    with Console(stderr=True).status("learning") as status:
        learned = report.learn(rows, method, on_method=lambda label: status.update(f"trying {label}"), further=further)
    summary = learned.summary()
    provenance = "; ".join(dict.fromkeys(one.provenance for one in [rows, *further]))
    notes = {"name": rows.medium, "provenance": provenance, "learning": summary}
    save_medium(out, learned.ensemble or learned.medium, notes)
    if as_json:
        print(json.dumps(summary | {"out": str(out)}))
        return
    print_rows(f"{rows.medium}: normalised errors (* kept)", report.error_rows(learned))
    print_pairs(
        "noise, from mirrored directions of an upright foot", learned.noise or {"": "not measured on both sides"}
    )
    print_pairs("how far to trust it, from what was left out", report.trust_rows(learned))
    print_rows("measure next, the most uncertain first", report.plan_rows(learned))
    print(out)


def _beds(path: Path, seeds: str | None) -> list[WrenchDatabase]:
    from softground.experiments.campaign import beds_in
    from softground.experiments.campaign.options import read_seeds
    from softground.experiments.database_file import read_any

    if not path.is_dir():
        return [read_any(path)]
    return beds_in(path, seeds=None if seeds is None else read_seeds(seeds))


@app.command(epilog="Example: [bold]softground inspect sand.csv --out pictures --depth 0.05 --tilt 0.3[/]")
def inspect(
    database: Annotated[Path, typer.Argument(help=f"{DATABASE}.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for pictures of the wrench spaces; without it none are drawn.")
    ] = None,
    depth: Annotated[
        float | None, typer.Option(help="Depth of the space to picture, m; by default the middle one.")
    ] = None,
    tilt: Annotated[float, typer.Option(help="Tilt of the space to picture, rad.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Report how convex measured wrench spaces are, and picture them."""
    configure_jax()
    import numpy as np

    from softground.experiments import convexity, figures
    from softground.experiments.campaign import collect
    from softground.experiments.database_file import read_any
    from softground.runs.figures import save_figure

    rows = collect(database) if database.is_dir() else read_any(database)
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
