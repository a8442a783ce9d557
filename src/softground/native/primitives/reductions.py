"""Primitives that join elements along axes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from softground.native.primitives.rolled import products_rolled_if_large
from softground.native.primitives.table import PRIMITIVES, primitive
from softground.native.program import Operand
from softground.native.scalars import Builder, Operands, each, operands_of
from softground.native.sums import chained, total


def along(array: Operands, axes, join: Callable[[list[Operand]], Operand]) -> Operands:
    """Each group of elements along some axes joined to one."""
    kept = [k for k in range(array.ndim) if k not in axes]
    shape = tuple(array.shape[k] for k in kept)
    length = int(np.prod([array.shape[k] for k in axes], dtype=int))
    groups = array.transpose(*kept, *axes).reshape(int(np.prod(shape, dtype=int)), length)
    return operands_of([join(group) for group in groups.tolist()], shape)


@primitive("reduce_sum")
def reduce_sum(build: Builder, equation, inputs):
    zero = build.lift(np.zeros((), equation.outvars[0].aval.dtype)).item()
    return along(inputs[0], equation.params["axes"], lambda group: total(build, group) if group else zero)


def _reduction(operation: str, repeats_matter: bool):
    def rule(build: Builder, equation, inputs):
        def join(group: list[Operand]) -> Operand:
            return chained(build, operation, group if repeats_matter else list(dict.fromkeys(group)))

        return along(inputs[0], equation.params["axes"], join)

    return rule


for _name, _operation in {"max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor", "prod": "mul"}.items():
    PRIMITIVES[f"reduce_{_name}"] = _reduction(_operation, repeats_matter=_name in ("xor", "prod"))


@primitive("argmax", "argmin")
def position_of_extremum(build: Builder, equation, inputs):
    """The first of equals."""
    most = equation.primitive.name == "argmax"

    def join(group: list[Operand]) -> Operand:
        best, where = group[0], build.int(0)
        for k, one in enumerate(group[1:], 1):
            better = build.compute("lt", best, one) if most else build.compute("lt", one, best)
            best = build.compute("select", better, one, best)
            where = build.compute("select", better, build.int(k), where)
        return where

    return along(inputs[0], equation.params["axes"], join)


def _cumulation(operation: str):
    def rule(build: Builder, equation, inputs):
        array = np.moveaxis(inputs[0], equation.params["axis"], 0).copy()
        order = range(len(array))
        if equation.params["reverse"]:
            order = order[::-1]
        for before, here in pairwise(order):
            array[here] = each(build, operation, np.asarray(array[before], object), np.asarray(array[here], object))
        return np.moveaxis(array, 0, equation.params["axis"])

    return rule


for _name, _operation in {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}.items():
    PRIMITIVES[_name] = _cumulation(_operation)


@primitive("dot_general")
def dot(build: Builder, equation, inputs):
    """Sums of products over some axes, for each index of the batch."""
    (a_sum, b_sum), (a_batch, b_batch) = equation.params["dimension_numbers"]
    a, b = (
        _batch_free_sum(array, batch, summed)
        for array, batch, summed in zip(inputs, (a_batch, b_batch), (a_sum, b_sum), strict=True)
    )
    return products_rolled_if_large(build, a, b).reshape(equation.outvars[0].aval.shape)


def _batch_free_sum(array: Operands, batch, summed) -> Operands:
    """The axes of an array in three groups."""
    free = [k for k in range(array.ndim) if k not in batch and k not in summed]
    sizes = [int(np.prod([array.shape[k] for k in group], dtype=int)) for group in (batch, free, summed)]
    return array.transpose(*batch, *free, *summed).reshape(sizes)
