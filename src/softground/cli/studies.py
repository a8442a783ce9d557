"""reproduce: the tables and figures of the papers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from softground.cli.application import Json, app, configure_jax
from softground.errors import OptionError
from softground.tables import print_rows


@app.command(
    epilog="Examples:\n\n"
    "[bold]softground reproduce --list[/]\n\n"
    "[bold]softground reproduce zhu2019/drop --out out[/]\n\n"
    "[bold]softground reproduce zhu2019 --quick --json[/]"
)
def reproduce(
    study: Annotated[str | None, typer.Argument(help="PAPER/STUDY, or PAPER for all of its studies.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter and coarser; no videos.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for reports: OUT/PAPER/STUDY.")] = Path("out"),
    strict: Annotated[bool, typer.Option("--strict", help="Fail (exit 1) when a check fails.")] = False,
    sand: Annotated[Path | None, typer.Option(help="Measured sand of zhu2019 (CSV).")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes for sweeps; more than one need Ray.")] = 1,
    rerun_dem: Annotated[bool, typer.Option("--rerun-dem", help="Simulate grains again: minutes.")] = False,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="chen2026/account: read the reports in OUT, run only what has none there.")
    ] = False,
    members: Annotated[
        int, typer.Option(min=0, help="zhu2019/learned-ground: also on so many members of the ground's ensemble.")
    ] = 0,
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
    options = Options(quick, sand, workers, rerun_dem, members, reports=out if reuse else None)
    documents = reproducing.reproduce(catalogue.find(study), out, options, Console(stderr=True))
    if as_json:
        print(json.dumps(documents if len(documents) > 1 else documents[0]))
    failed = reproducing.failed(documents)
    if strict and failed:
        raise typer.Exit(1)
