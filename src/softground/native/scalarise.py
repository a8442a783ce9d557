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
from softground.native.inlining import with_single_calls_inlined
from softground.native.jaxprs import evaluate
from softground.native.ordering import ordered
from softground.native.primitives.functions import call_counts
from softground.native.program import Buffer, Function, Interface, Program, Value
from softground.native.scalars import Builder, Operands, kind_of, operands_of


def scalarise(function, *example_arguments) -> Program:
    """The program of a function: its inputs are the leaves of the arguments in order, its outputs those of the result.

    Raises `NotNative` where the function does something that has no native form.
    """
    return scalarise_jaxpr(jax.make_jaxpr(function)(*example_arguments))


def scalarise_jaxpr(closed: ClosedJaxpr) -> Program:
    """The program of a jaxpr."""
    with _garbage_kept():
        return _scalarised(closed)


def _scalarised(closed: ClosedJaxpr) -> Program:
    inputs, outputs = closed.in_avals, closed.out_avals
    build = Builder(_precision([*inputs, *outputs]))
    build.call_counts = call_counts(closed.jaxpr)
    parameters = [_parameters(aval) for aval in inputs]
    results = evaluate(build, closed, parameters)
    main = Function("main", _flat(parameters), build.region.statements, _flat(results))
    program = Program(
        build.precision,
        main,
        tuple(made.function for made in build.functions.values()),
        tuple(map(_buffer, inputs)),
        tuple(map(_buffer, outputs)),
    )
    inlined = with_single_calls_inlined(without_dead_code(program))
    return ordered(without_dead_code(without_copies(inlined)))


def interface_of(closed: ClosedJaxpr) -> Interface:
    """What the program of a jaxpr looks like from outside, known before it is made."""
    inputs, outputs = closed.in_avals, closed.out_avals
    return Interface(_precision([*inputs, *outputs]), tuple(map(_buffer, inputs)), tuple(map(_buffer, outputs)))


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


def _buffer(aval) -> Buffer:
    return Buffer(kind_of(aval.dtype), aval.size, 64 if aval.dtype == np.int64 else 32)


def _parameters(aval) -> Operands:
    return operands_of([Value(kind_of(aval.dtype)) for _ in range(aval.size)], aval.shape)


def _flat(arrays: list[Operands]) -> tuple:
    return tuple(x for array in arrays for x in array.ravel().tolist())
