"""Feet in words: read from a command line, written into settings."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from softground.errors import ExperimentError
from softground.media.learned_file import shape_document
from softground.robots.feet import Box, Cylinder, Shape, Sphere
from softground.robots.foot_mesh import MeshFoot

AnyFoot = Shape | MeshFoot
SHAPES: dict[str, type[Cylinder | Sphere | Box]] = {"cylinder": Cylinder, "sphere": Sphere, "box": Box}


def read_foot(text: str) -> AnyFoot:
    """A foot from "cylinder:RADIUS,LENGTH", "sphere:RADIUS", "box:LENGTH,WIDTH,HEIGHT" (m), or a mesh file."""
    name, _, numbers = text.partition(":")
    if name in SHAPES:
        return SHAPES[name](*_sizes(text, numbers, len(fields(SHAPES[name]))))
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
    return ", ".join(f"{name}:{','.join(f.name.upper() for f in fields(shape))}" for name, shape in SHAPES.items())


def foot_settings(foot: AnyFoot) -> dict[str, Any]:
    """The foot as plain JSON values. A mesh is known by its geometry, whatever its file is called."""
    if isinstance(foot, MeshFoot):
        lower, upper = (edge(foot.vertices, axis=0).round(6).tolist() for edge in (np.min, np.max))
        return {"type": "mesh", "fingerprint": foot.fingerprint, "lower_m": lower, "upper_m": upper}
    return shape_document(foot)
