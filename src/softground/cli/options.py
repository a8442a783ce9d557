"""From the words of a command to objects, and from results to tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from softground.errors import OptionError
from softground.tables import print_pairs, print_rows


def medium_of(ground: str, **options: float):
    """A named medium, or a learned one where a JSON file is given."""
    from softground.media import load_medium, named_medium

    return (load_medium if ground.endswith(".json") else named_medium)(ground, **options)


def surface_of(slope: float, terrain: Path | None):
    """A plane of this slope (degrees), or the terrain in a mesh file."""
    import numpy as np

    from softground.surfaces import MeshSurface, Plane

    if not -90 < slope < 90:
        raise OptionError(f"--slope must lie between -90 and 90 degrees, got {slope:g}")
    if terrain is None:
        return Plane(slope=np.deg2rad(slope))
    if slope:
        raise OptionError("--slope and --terrain cannot be given together: turn the mesh")
    return MeshSurface(terrain)


def place_in_words(slope: float, terrain: Path | None) -> str:
    """What a title says of the surface."""
    return f", {terrain.name}" if terrain else f", {slope:g} deg slope" if slope else ""


def check_positive(**options: float) -> None:
    for name, value in options.items():
        if not 0 < value < float("inf"):
            raise OptionError(f"--{name} must be positive, got {value:g}")


def names(given: list[str] | None) -> list[str] | None:
    """Names from options that may be repeated and may hold commas."""
    return [name.strip() for item in given for name in item.split(",") if name.strip()] if given else None


def report(title: str, measure: Callable[..., dict], rows: str, as_json: bool, options: dict[str, Any]) -> None:
    """Measure; print the result as JSON only, or as a table of its entry `rows` and the rest as lines.

    Options that were not given (None, or an empty list) are left to `measure`; numbers must be positive.
    """
    from rich.console import Console

    given = {name: value for name, value in options.items() if value not in (None, [])}
    check_positive(**{name: value for name, value in given.items() if isinstance(value, int | float)})
    with Console(stderr=True).status(f"measuring {title}"):
        result = measure(**given)
    if as_json:
        print(json.dumps(result))
        return
    if rows:
        print_rows(title, result[rows])
    print_pairs("" if rows else title, {key: value for key, value in result.items() if key != rows})
