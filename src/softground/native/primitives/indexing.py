"""Primitives that take or set elements at indices, known or not.

All of them move windows: a window's corner in the array is given by indices, and the places of its elements relative to
the corner are known. Each dimension of a corner is brought inside or checked as the primitive's mode says; then places
in the raveled array are sums of products, which are constants where the indices are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jax.lax import GatherScatterMode

from softground.native.memory import current, element, filled
from softground.native.primitives.table import PRIMITIVES, primitive
from softground.native.program import Constant, LocalArray, Operand, Store
from softground.native.scalars import Builder, Operands, operands_of
from softground.native.sums import total


class Corner(NamedTuple):
    """Where a window starts in the raveled array, and whether it lies inside."""

    place: Operand
    inside: Operand


def corner(build: Builder, shape, window, starts: dict[int, Operand], clip: bool | None) -> Corner:
    """Corner of a window (its size in each dimension) that starts at an index in some dimensions, else at 0.

    Clipped, it is moved inside; else the corner says whether it is, and where it is not its place means nothing.
    clip None: it is inside.
    """
    strides = [int(np.prod(shape[d + 1 :], dtype=int)) for d in range(len(shape))]
    inside: Operand = build.constant(True, "bool")
    terms: list[Operand] = []
    for dimension, start in starts.items():
        last = build.int(shape[dimension] - window[dimension])
        if clip:
            start = build.compute("min", build.compute("max", start, build.int(0)), last)
        elif clip is not None:
            inside = build.compute("and", inside, build.compute("le", build.int(0), start))
            inside = build.compute("and", inside, build.compute("le", start, last))
        terms.append(build.compute("mul", start, build.int(strides[dimension])))
    return Corner(total(build, terms) if terms else build.int(0), inside)


class Windows(NamedTuple):
    """How elements of many windows, in one array, lie in the array that is indexed."""

    number: np.ndarray  # of the window of each element
    offset: np.ndarray  # of each element from its window's corner, in the raveled array
    size: tuple[int, ...]  # of a window in each dimension


def windows(shape, element_shape, index_shape, window_dimensions, batching, index_batching, dropped) -> Windows:
    """`window_dimensions`: those of the elements' array that run inside windows; `dropped`: those of the indexed array
    in which a window has size 1 and no dimension; `batching`: those that run along with the indices' `index_batching`.
    """
    places = np.indices(element_shape, dtype=int) if element_shape else np.zeros((0,), int)
    outer = [d for d in range(len(element_shape)) if d not in window_dimensions]
    strides = [int(np.prod(shape[d + 1 :], dtype=int)) for d in range(len(shape))]
    number = np.zeros(element_shape, int)
    for dimension, size in zip(outer, index_shape, strict=True):
        number = number * size + places[dimension]
    offset, size = np.zeros(element_shape, int), [1] * len(shape)
    inner = [d for d in range(len(shape)) if d not in dropped and d not in batching]
    for dimension, here in zip(inner, window_dimensions, strict=True):
        offset = offset + places[here] * strides[dimension]
        size[dimension] = element_shape[here]
    for dimension, here in zip(batching, index_batching, strict=True):
        offset = offset + places[outer[here]] * strides[dimension]
    return Windows(number, offset, tuple(size))


def _corners(build: Builder, shape, size, indices: Operands, dimensions, clip: bool | None) -> list[Corner]:
    rows = indices.reshape(-1, indices.shape[-1]).tolist()
    return [corner(build, shape, size, dict(zip(dimensions, row, strict=True)), clip) for row in rows]


@primitive("gather")
def gather(build: Builder, equation, inputs):
    """Windows that promise to be inside are clipped all the same, as XLA does."""
    array, indices = inputs
    memory = build.memory_of(array)
    full = equation.invars[0].aval.shape
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    shape = equation.outvars[0].aval.shape
    windows_ = windows(
        full,
        shape,
        indices.shape[:-1],
        numbers.offset_dims,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        numbers.collapsed_slice_dims,
    )
    clip = None if memory and _promised(equation) else equation.params["mode"] != GatherScatterMode.FILL_OR_DROP
    corners = _corners(build, full, sizes, indices, numbers.start_index_map, clip)
    filler = _filler(build, equation)
    flat = () if memory else tuple(array.ravel().tolist())

    def take(number: int, offset: int) -> Operand:
        place, inside = corners[number]
        if type(inside) is Constant and not inside.number:
            return filler
        at = build.compute("add", place, build.int(offset))
        found = current(build, memory, at) if memory else element(build, flat, at)
        return build.compute("select", inside, found, filler)

    pairs = zip(windows_.number.ravel().tolist(), windows_.offset.ravel().tolist(), strict=True)
    return operands_of([take(*pair) for pair in pairs], shape)


def _promised(equation) -> bool:
    """Whether windows are inside: in memory a load or store looks by itself."""
    return equation.params["mode"] == GatherScatterMode.PROMISE_IN_BOUNDS


def _filler(build: Builder, equation) -> Operand:
    """What stands for elements outside."""
    dtype, number = equation.outvars[0].aval.dtype, equation.params["fill_value"]
    if number is None:
        number = {"f": np.nan, "i": -(2**31), "b": True}.get(dtype.kind, 0)
    return build.lift(np.asarray(number, np.int32 if dtype.kind == "i" else dtype)).item()


def _scatter(combine: str | None):
    """Updates set elements, or are combined with them; those of windows that are not inside are dropped."""

    def rule(build: Builder, equation, inputs):
        array, indices, updates = inputs
        memory = build.memory_of(array)
        full = equation.invars[0].aval.shape
        numbers = equation.params["dimension_numbers"]
        windows_ = windows(
            full,
            updates.shape,
            indices.shape[:-1],
            numbers.update_window_dims,
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
            numbers.inserted_window_dims,
        )
        clip = None if memory and _promised(equation) else equation.params["mode"] == GatherScatterMode.CLIP
        corners = _corners(build, full, windows_.size, indices, numbers.scatter_dims_to_operand_dims, clip)
        places = [
            _place(build, corners[number], offset)
            for number, offset in zip(windows_.number.ravel().tolist(), windows_.offset.ravel().tolist(), strict=True)
        ]
        return _updated(build, array, places, updates.ravel().tolist(), combine)

    return rule


def _place(build: Builder, at: Corner, offset: int) -> Operand:
    """Place of an update, or -1 where it is to be dropped."""
    return build.compute("select", at.inside, build.compute("add", at.place, build.int(offset)), build.int(-1))


def _updated(build: Builder, array: Operands, places, updates, combine: str | None = None) -> Operands:
    """An array with its elements at some places set to, or combined with, updates; in place if it is such a one."""
    memory = build.memory_of(array)
    if memory:
        _set(build, memory, places, updates, combine)
        return array
    flat = array.ravel().tolist()
    if not flat:
        return array
    if all(type(place) is Constant for place in places):
        for place, update in zip(places, updates, strict=True):
            at = int(place.number)
            if 0 <= at < len(flat):
                flat[at] = build.compute(combine, flat[at], update) if combine else update
        return operands_of(flat, array.shape)
    memory = filled(build, flat)
    _set(build, memory, places, updates, combine)
    return operands_of([current(build, memory, build.int(k)) for k in range(len(flat))], array.shape)


def _set(build: Builder, memory: LocalArray, places, updates, combine: str | None) -> None:
    for place, update in zip(places, updates, strict=True):
        if combine:
            update = build.compute(combine, current(build, memory, place), update)
        build.add(Store(memory, place, update))


for _name, _combine in {
    "scatter": None,
    "scatter-add": "add",
    "scatter-sub": "sub",
    "scatter-mul": "mul",
    "scatter-min": "min",
    "scatter-max": "max",
}.items():
    PRIMITIVES[_name] = _scatter(_combine)


def _window_places(build: Builder, shape, window, starts: Sequence[Operands]) -> list[Operand]:
    """Places of the elements of one window, which is moved inside."""
    first = corner(build, shape, window, dict(enumerate(x.item() for x in starts)), clip=True).place
    offsets = np.ravel_multi_index(np.indices(window).reshape(len(window), -1), shape) if window else [0]
    return [build.compute("add", first, build.int(int(offset))) for offset in offsets]


@primitive("dynamic_slice")
def dynamic_slice(build: Builder, equation, inputs):
    array, *starts = inputs
    size, memory = equation.params["slice_sizes"], build.memory_of(array)
    places = _window_places(build, equation.invars[0].aval.shape, size, starts)
    if memory:
        return operands_of([current(build, memory, x) for x in places], size)
    flat = tuple(array.ravel().tolist())
    return operands_of([element(build, flat, x) for x in places], size)


@primitive("dynamic_update_slice")
def dynamic_update_slice(build: Builder, equation, inputs):
    array, update, *starts = inputs
    places = _window_places(build, equation.invars[0].aval.shape, update.shape, starts)
    return _updated(build, array, places, update.ravel().tolist())
