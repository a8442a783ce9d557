"""validate: every medium before every measurement at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from softground.cli.application import Json, app, configure_jax
from softground.errors import OptionError
from softground.tables import print_rows


@app.command(epilog="Examples: [bold]softground validate --data measurements[/], [bold]softground validate --grains[/]")
def validate(
    data: Annotated[Path | None, typer.Option(help="Folder with measurements (docs/validation.md).")] = None,
    grains: Annotated[
        bool, typer.Option("--grains", help="Before grains simulated one by one: the records are shipped.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Put every medium before measurements: errors beside published models, spread, and what was fitted on what."""
    configure_jax()
    if (data is None and not grains) or (data is not None and not data.is_dir()):
        place = "a folder" if data is None else f"a folder, and {data} is none"
        raise OptionError(
            f"--data must name {place}: one with sand_wrenches_measured.csv, wheel_in_sand_smooth.csv or "
            "plate_in_sand.csv in the formats of docs/validation.md; measurements are not shipped"
        )
    from softground.validation import grains_tables
    from softground.validation import validate as tables_of

    measured = {} if data is None else tables_of(data)
    tables = measured | grains_tables() if grains else measured
    if as_json:
        print(json.dumps({title: [row.as_dict() for row in rows] for title, rows in tables.items()}))
        return
    for title, rows in tables.items():
        numbers = ["many" if row.fitted is None else row.fitted for row in rows]
        print_rows(
            f"{title}: mean absolute errors" if title in measured else title,
            {
                f"{index + 1}": {"": row.model, **row.errors, "numbers fitted": number, "fitted on": row.fitted_on}
                for index, (row, number) in enumerate(zip(rows, numbers, strict=True))
            },
        )
