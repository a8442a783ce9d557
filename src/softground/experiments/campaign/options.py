"""What a command line says about a campaign, as a grid, a foot and a rig."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from softground.errors import ExperimentError, OptionError, unknown_name
from softground.experiments.campaign.plan import TRAVEL, Grid
from softground.experiments.rigs import Rig, named_rig
from softground.media.resistive.directions import SETS, SPEED, SPIN
from softground.robots.shapes import SHAPES, MeshFoot, Shape


@dataclass(frozen=True)
class Preset:
    """A grid of zhu2019's Table I, and how fast the foot was moved."""

    depths: tuple[float, ...]  # m
    tilts: tuple[float, ...]  # rad
    speed: float = SPEED  # m/s
    spin: float = SPIN  # rad/s


LEANS = (0.0, 0.3, 0.6, 0.9)
PRESETS = {
    "sand": Preset((0.01, 0.03, 0.05, 0.07), LEANS),
    "pebbles": Preset((0.015, 0.03, 0.045), LEANS),
    "beads": Preset((0.06, 0.12, 0.18, 0.24), (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5), speed=0.2, spin=0.6),
}


def read_grid(
    grid: str | None,
    *,
    depths: str | None = None,
    tilts: str | None = None,
    headings: str = "0",
    directions: str = "26",
    speed: float | None = None,
    spin: float | None = None,
    duration: float | None = None,
    seeds: str = "1",
    mirror: bool = True,
) -> Grid:
    """A grid from the name of a preset, from "DEPTHSxTILTS" such as "0.01,0.03x0,0.3", or from lists of each."""
    preset = _preset(grid)
    shown_depths, shown_tilts = preset.depths, preset.tilts
    if depths is not None:
        shown_depths = _numbers("--depths", depths)
    if tilts is not None:
        shown_tilts = _numbers("--tilts", tilts)
    if not shown_depths:
        choices = ", ".join(PRESETS)
        raise OptionError(f"no depths given: use --depths 0.01,0.03 or --grid, one of {choices} or 0.01,0.03x0,0.3")
    if directions not in SETS:
        raise OptionError(unknown_name("--directions", directions, SETS))
    speed = preset.speed if speed is None else speed
    return Grid(
        depths=shown_depths,
        tilts=shown_tilts,
        headings=_numbers("--headings", headings),
        directions=directions,
        speed=speed,
        spin=preset.spin if spin is None else spin,
        duration=TRAVEL / max(speed, 1e-9) if duration is None else duration,
        seeds=read_seeds(seeds),
        mirror=mirror,
    )


def _preset(grid: str | None) -> Preset:
    if grid is None:
        return Preset((), (0.0,))
    if grid in PRESETS:
        return PRESETS[grid]
    depths, cross, tilts = grid.partition("x")
    if not cross:
        raise OptionError(f"{unknown_name('--grid', grid, PRESETS)}, or DEPTHSxTILTS such as 0.01,0.03x0,0.3")
    return Preset(_numbers("--grid", depths), _numbers("--grid", tilts))


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(item) for item in text.split(","))
    except ValueError:
        raise OptionError(f"{option} must be numbers with commas between, such as 0.01,0.03; got {text!r}") from None


def read_seeds(text: str) -> tuple[int, ...]:
    """Seeds with commas between."""
    try:
        return tuple(int(item) for item in text.split(","))
    except ValueError:
        raise OptionError(f"--seeds must be whole numbers with commas between, such as 1,2,3; got {text!r}") from None


def read_rig(name: str, foot: str | None, medium: str, grid: Grid, settings: list[str] | None = None) -> Rig:
    """A rig from its name, its foot in words, and settings such as "grains.modulus=3e8"."""
    rig = named_rig(name, read_foot(foot) if foot else None, medium, planar=grid.kind == "planar")
    for setting in settings or []:
        path, equals, value = setting.partition("=")
        if not equals:
            raise OptionError(f"--set must be NAME=VALUE, such as samples=101, got {setting!r}")
        rig = _changed(rig, path.split("."), value, setting)
    return rig


def _changed(part: Any, path: list[str], value: str, setting: str) -> Any:
    """The dataclass with the field at the end of `path` set to the value, read as the field's own type."""
    known = [field.name for field in fields(part) if field.init]
    if path[0] not in known:
        raise OptionError(f"--set {setting}: {unknown_name('setting', path[0], known)}")
    old = getattr(part, path[0])
    if len(path) > 1 and is_dataclass(old):
        return replace(part, **{path[0]: _changed(old, path[1:], value, setting)})
    if type(old) not in (int, float, str):
        raise OptionError(f"--set {setting}: {path[0]} is not a number or a word; it holds {old!r}")
    try:
        return replace(part, **{path[0]: type(old)(value)})
    except ValueError as error:
        raise OptionError(f"--set {setting}: {error}") from None


def read_foot(text: str) -> Shape:
    """A foot from its name and sizes (m), such as "cylinder:RADIUS,LENGTH" or "sphere:RADIUS", or a mesh file."""
    name, _, numbers = text.partition(":")
    if name in SHAPES and SHAPES[name].size_names():
        return SHAPES[name](*_sizes(text, numbers, len(SHAPES[name].size_names())))
    if "." not in name:
        raise ExperimentError(f"unknown foot {text!r}: must be {_choices()} in metres, or a mesh file such as foot.stl")
    return MeshFoot.load(text)


def _sizes(text: str, numbers: str, count: int) -> list[float]:
    try:
        sizes = [float(number) for number in numbers.split(",")]
    except ValueError:
        sizes = []
    if len(sizes) != count or not all(0 < size < 3 for size in sizes):
        raise ExperimentError(f"foot {text!r} has wrong sizes: write it as {_choices()}, in metres")
    return sizes


def _choices() -> str:
    """Such as "box:LENGTH,WIDTH,HEIGHT, sphere:RADIUS"."""
    sizes = {name: shape.size_names() for name, shape in SHAPES.items()}
    return ", ".join(f"{name}:{','.join(sizes[name]).upper()}" for name in sorted(sizes) if sizes[name])


def may_mirror(foot: str | None) -> bool:
    """Whether the foot is its own mirror image for certain: a mesh need not be."""
    return foot is None or read_foot(foot).is_mirrored
