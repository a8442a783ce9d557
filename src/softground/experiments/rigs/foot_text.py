"""Feet in words: read from a command line, written into settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from softground.errors import ExperimentError
from softground.robots.feet import Box, Cylinder, Shape, Sphere
from softground.robots.foot_mesh import MeshFoot

AnyFoot = Shape | MeshFoot
SHAPES: dict[str, tuple[type[Shape], tuple[str, ...]]] = {
    "cylinder": (Cylinder, ("radius", "length")),
    "sphere": (Sphere, ("radius",)),
    "box": (Box, ("length", "width", "height")),
}


def read_foot(text: str) -> AnyFoot:
    """A foot from "cylinder:RADIUS,LENGTH", "sphere:RADIUS", "box:LENGTH,WIDTH,HEIGHT" (m), or a mesh file."""
    name, colon, numbers = text.partition(":")
    if name.strip() in SHAPES:
        shape, fields = SHAPES[name.strip()]
        return shape(*_sizes(text, numbers, fields))
    if colon and "." not in name:
        raise ExperimentError(f"unknown foot {text!r}: must be {_choices()} or a mesh file such as foot.stl")
    return MeshFoot.load(text)


def _sizes(text: str, numbers: str, fields: tuple[str, ...]) -> list[float]:
    try:
        sizes = [float(number) for number in numbers.split(",")]
    except ValueError:
        sizes = []
    if len(sizes) != len(fields) or not all(0 < size < 3 for size in sizes):
        raise ExperimentError(f"foot {text!r} needs {' and '.join(fields)}, in metres: write it as {_choices()}")
    return sizes


def _choices() -> str:
    return ", ".join(f"{name}:{','.join(field.upper() for field in fields)}" for name, (_, fields) in SHAPES.items())


def foot_settings(foot: AnyFoot) -> dict[str, Any]:
    """The foot as plain JSON values. A mesh is known by its geometry, whatever its file is called."""
    if isinstance(foot, MeshFoot):
        return {"shape": "mesh", "fingerprint": foot.fingerprint, "triangles": len(foot.faces)}
    name = next(name for name, (shape, _) in SHAPES.items() if isinstance(foot, shape))
    return {"shape": name, **asdict(foot)}
