"""Feet in words, read from a command line."""

from __future__ import annotations

from softground.errors import ExperimentError
from softground.robots.shapes import SHAPES, MeshFoot, Shape


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
