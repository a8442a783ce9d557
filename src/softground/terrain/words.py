"""Terrain in words, for the command line: "firm, sand*2: x>1 & y<0.5"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from softground.errors import MediumError
from softground.media import Medium, medium_of
from softground.robots import Robot
from softground.terrain.areas import Area, Between
from softground.terrain.grid import read_map
from softground.terrain.mixed import Mixed
from softground.terrain.over_floor import OverFloor

#: low < x < high, with either end left out, or x > low.
_CONDITION = re.compile(r"(?:(?P<low>[-+.\de]+)<)?(?P<axis>[xy])(?:(?P<sign>[<>])(?P<end>[-+.\de]+))?")


def terrain_of(
    words: str,
    robot: Robot | None = None,
    *,
    map_file: str | Path | None = None,
    cell: float = 0.1,
    floor: float | None = None,
    **options: float | None,
) -> Medium:
    """Ground as the command line says it: media by name, the first everywhere, the others where a condition holds.

    words: "sand"; "firm, sand: x>1"; "firm, sand*2: 1<x<3 & -1<y<1, foam: x>3". A number after * is a strength. With
    `map_file` (.npy or .csv of indices) the media are those of its indices 0, 1, ...: "firm, sand, foam"; its squares
    have side `cell` (m), and the middle of the map is at the origin. floor: depth (m) of a firm floor below all of it.
    options: as of `medium_of`, for a single medium; eps (W) also for several.

    >>> import softground as sg
    >>> ground = sg.terrain.terrain_of("firm, sand*2: x>1", floor=0.05)
    """
    items = [item.strip() for item in words.split(",")]
    given = {name: value for name, value in options.items() if value is not None}
    if len(items) > 1 and (wrong := sorted(set(given) - {"eps"})):
        raise MediumError(f"with several media --{wrong[0]} is not of one of them: write a strength as in sand*2")
    media, areas = [], []
    for item in items:
        name, _, condition = item.partition(":")
        media.append(_medium(name.strip(), robot, given, alone=len(items) == 1))
        areas.append(_area(condition) if condition.strip() else None)
    medium = _mapped(media, areas, map_file, cell) if map_file is not None else _painted(items, media, areas)
    return medium if floor is None else OverFloor(medium, floor)


def _medium(name: str, robot: Robot | None, options: dict[str, float], alone: bool) -> Medium:
    name, times, factor = name.partition("*")
    own = dict(options)
    if times:
        if "strength" in own:
            raise MediumError(f"a strength is given twice: in {name}*{factor} and as an option")
        own["strength"] = _number(factor, f"the strength of {name}")
    if not alone and name.strip() in ("foam", "firm"):
        own.pop("eps", None)  # of the granular ones among several
    return medium_of(name.strip(), robot, **own)


def _painted(items: Sequence[str], media: Sequence[Medium], areas: Sequence[Area | None]) -> Medium:
    if areas[0] is not None:
        raise MediumError(f"the first medium lies everywhere: write it without a condition, got {items[0]!r}")
    for item, area in zip(items[1:], areas[1:], strict=True):
        if area is None:
            raise MediumError(f"where {item!r} lies must be said, as in {item}: x>1 (x and y in metres), or by a map")
    pairs = [(medium, area) for medium, area in zip(media[1:], areas[1:], strict=True) if area is not None]
    return Mixed(media[0], *pairs) if pairs else media[0]


def _mapped(media: Sequence[Medium], areas: Sequence[Area | None], path: str | Path, cell: float) -> Medium:
    if any(area is not None for area in areas):
        raise MediumError("media lie where the map says: give conditions or a map, not both")
    indices = read_map(path)
    rows, columns = indices.shape if indices.ndim == 2 else (1, 1)
    return Mixed.from_map(indices, media, cell, (-cell * (rows - 1) / 2, -cell * (columns - 1) / 2))


def _area(text: str) -> Area:
    parts = [_between(part.replace(" ", "")) for part in text.split("&")]
    area = parts[0]
    for other in parts[1:]:
        area = area & other
    return area


def _between(text: str) -> Area:
    found = _CONDITION.fullmatch(text)
    if not found or not (found["low"] or found["end"]):
        raise MediumError(f"an area is said as x>1, y<0.5 or 1<x<3 (metres), joined by &, got {text!r}")
    bounds = {"low": found["low"]} if found["low"] else {}
    if found["end"]:
        if found["sign"] == ">" and found["low"]:
            raise MediumError(f"an area between two numbers is said as 1<x<3, got {text!r}")
        bounds["high" if found["sign"] == "<" else "low"] = found["end"]
    return Between(
        "x" if found["axis"] == "x" else "y", **{name: _number(value, text) for name, value in bounds.items()}
    )


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MediumError(f"{text.strip()!r} in {what} is not a number") from None
