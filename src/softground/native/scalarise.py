"""From a function of JAX to a scalar program.

The function is traced as for `jax.jit`; its jaxpr is evaluated once on arrays of operands, which makes statements; what
is not needed is dropped, and the rest is put in order. Whatever the function closes over is a constant of the program.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

import softground.native.primitives  # noqa: F401  (fills the table)
from softground.native.copies import without_copies
from softground.native.dead_code import without_dead_code
from softground.native.errors import NotNative
from softground.native.inlining import with_single_calls_inlined
from softground.native.jaxprs import evaluate
from softground.native.ordering import ordered
from softground.native.primitives.functions import call_counts
from softground.native.program import Buffer, Function, Interface, Program, Value
from softground.native.scalars import Builder, Operands, kind_of, operands_of


def scalarise(function, *example_arguments, in_place: int = 0) -> Program:
    """The program of a function: its inputs are the leaves of the arguments in order, its outputs those of the result.

    in_place: so many of the last inputs are not taken apart but changed where they are, and are the last outputs. The
    function may read and set their elements at indices, and use none of them as it was before it was set.
    Raises `NotNative` where the function does something that has no native form.
    """
    return scalarise_jaxpr(jax.make_jaxpr(function)(*example_arguments), in_place)


def scalarise_jaxpr(closed: ClosedJaxpr, in_place: int = 0) -> Program:
    """The program of a jaxpr."""
    with _garbage_kept():
        return _scalarised(closed, in_place)


def _scalarised(closed: ClosedJaxpr, in_place: int) -> Program:
    inputs, outputs = closed.in_avals, closed.out_avals
    interface = interface_of(closed, in_place)
    build = Builder(interface.precision)
    build.call_counts = call_counts(closed.jaxpr)
    apart = len(inputs) - in_place
    parameters = [_parameters(aval) for aval in inputs[:apart]]
    memory = [build.in_place(kind_of(aval.dtype), aval.size) for aval in inputs[apart:]]
    results = evaluate(build, closed, [*parameters, *memory])
    last = len(outputs) - in_place
    main = Function("main", _flat(parameters), build.region.statements, _flat(results[:last]))
    functions = tuple(made.function for made in build.functions.values())
    if [x.item() for x in memory] != [x.item() if x.ndim == 0 else None for x in results[last:]]:
        raise NotNative("an array that is changed in place must be returned as it has become, in the same order")
    program = Program(
        build.precision, main, functions, interface.inputs, interface.outputs, tuple(build.memory.values())
    )
    inlined = with_single_calls_inlined(without_dead_code(program))
    return ordered(without_dead_code(without_copies(inlined)))


def interface_of(closed: ClosedJaxpr, in_place: int = 0) -> Interface:
    """What the program of a jaxpr looks like from outside, known before it is made."""
    inputs, outputs = closed.in_avals, closed.out_avals
    return Interface(
        _precision([*inputs, *outputs]),
        tuple(_buffer(aval, k >= len(inputs) - in_place) for k, aval in enumerate(inputs)),
        tuple(_buffer(aval, k >= len(outputs) - in_place) for k, aval in enumerate(outputs)),
    )


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """No collection of garbage: among a million small objects, all alive, it would take a fourth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _precision(avals) -> Literal[32, 64]:
    """Double as soon as one array is; every float of the program is then."""
    return 32 if {aval.dtype for aval in avals if kind_of(aval.dtype) == "float"} == {np.dtype("float32")} else 64


def _buffer(aval, in_place: bool) -> Buffer:
    return Buffer(kind_of(aval.dtype), aval.size, 64 if aval.dtype == np.int64 else 32, in_place)


def _parameters(aval) -> Operands:
    return operands_of([Value(kind_of(aval.dtype)) for _ in range(aval.size)], aval.shape)


def _flat(arrays: list[Operands]) -> tuple:
    return tuple(x for array in arrays for x in array.ravel().tolist())
