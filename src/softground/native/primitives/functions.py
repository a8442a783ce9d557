"""Calls: functions that a program has anyway, inlined or kept as functions.

A function that is large and called more than once is made once, for its pattern of arguments: which of them are
constants, and which are one and the same value. Code stays small that way, which compilers and caches of instructions
both like. Everything else is inlined, so that it is simplified together with what is around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from softground.native.jaxprs import callee, evaluate
from softground.native.primitives.spread import NoLoop, evaluate_spread, long_axis
from softground.native.primitives.table import primitive
from softground.native.program import Constant, Function, Operand, Value
from softground.native.scalars import Builder, Operands, Region, count, operands_of

#: Functions of fewer statements are inlined wherever they are called.
SMALL = 200
#: How the name of a function begins that is made for `vmap`: it is called for each row.
EACH = "each_"


@primitive("custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "closed_call", "core_call", "remat2")
def inlined(build: Builder, equation, inputs):
    """What a function does; its own derivatives and batching are no concern here."""
    return evaluate(build, callee(equation), inputs)


@primitive("jit", "pjit")
def jitted(build: Builder, equation, inputs):
    closed, name = callee(equation), equation.params["name"]
    if build.memory and any(build.memory_of(x) for x in inputs):  # which functions of the program do not reach
        return evaluate(build, closed, inputs)
    if name.startswith(EACH):
        outputs = _row_by_row(build, name, closed, inputs)
        return evaluate(build, closed, inputs) if outputs is None else outputs
    if build.call_counts.get(id(closed.jaxpr), 0) < 2:
        return evaluate(build, closed, inputs)
    made = _outlined(build, name, closed, inputs)
    return _called(build, made, inputs) if _pays(made) else evaluate(build, closed, inputs)


def _called(build: Builder, made: Outlined, inputs: list[Operands]) -> list[Operands]:
    arguments = tuple(dict.fromkeys(x for array in inputs for x in array.ravel().tolist() if type(x) is Value))
    results = build.call(made.function, arguments)
    known: dict[Operand, Operand] = dict(zip(made.function.parameters, arguments, strict=True))
    known.update(zip(made.function.results, results, strict=True))
    return [operands_of([known.get(x) or x for x in output.ravel().tolist()], output.shape) for output in made.outputs]


def _row_by_row(build: Builder, name: str, closed: ClosedJaxpr, inputs: list[Operands]) -> list[Operands] | None:
    """A function that `vmap` applies to every row of its inputs, made once and called for each; None where it is small,
    or where the rows are not treated alike. Where its arrays have a long axis it is loops over that, which are short
    enough to be written for every row.

    It is made of inputs in which all rows are one and the same, so that its outputs are too.
    """
    rows = {array.shape[0] if array.ndim else 0 for array in (*inputs, *closed.out_avals)}
    if len(rows) != 1 or not min(rows):
        return None
    found = []
    for row in range(min(rows)):
        alike = [np.broadcast_to(array[row : row + 1], array.shape) for array in inputs]
        looped = _in_loops(build, closed, alike)
        if looped is not None:
            found.append(looped)
            continue
        made = _outlined(build, name, closed, alike)
        if made.size < SMALL or any((output != output[:1]).any() for output in made.outputs):
            return None
        found.append([output[0] for output in _called(build, made, alike)])
    return [np.stack(outputs) for outputs in zip(*found, strict=True)]


def _in_loops(build: Builder, closed: ClosedJaxpr, alike: list[Operands]) -> list[Operands] | None:
    """Outputs of one row by loops over a long axis, or None where there is none."""
    count = long_axis(alike)
    try:
        outputs = evaluate_spread(build, closed, alike, count) if count else None
    except NoLoop:
        return None
    if outputs is None or any((output != output[:1]).any() for output in outputs):
        return None
    return [output[0] for output in outputs]


def _pays(made: Outlined) -> bool:
    """Whether a call is less work than what it calls: a number given or returned is put into memory and read there."""
    handed = len(made.function.parameters) + len(made.function.results)
    return made.size >= SMALL and made.size > 2 * handed


class Outlined(NamedTuple):
    """A function, and its outputs as arrays of its results, its parameters and constants."""

    function: Function
    outputs: list[Operands]
    size: int


def _outlined(build: Builder, name: str, closed: ClosedJaxpr, inputs: list[Operands]) -> Outlined:
    numbers: dict[Operand, int] = {}
    flat = [x for array in inputs for x in array.ravel().tolist()]
    pattern = tuple(id(x) if type(x) is Constant else -1 - numbers.setdefault(x, len(numbers)) for x in flat)
    key = (id(closed.jaxpr), pattern)
    if key not in build.functions:
        build.functions[key] = _made(build, name, closed, inputs, tuple(numbers))
    return build.functions[key]


def _made(build: Builder, name: str, closed: ClosedJaxpr, inputs: list[Operands], arguments) -> Outlined:
    parameters = {argument: Value(argument.kind) for argument in arguments}
    own = [operands_of([parameters.get(x) or x for x in array.ravel().tolist()], array.shape) for array in inputs]
    with build.inside(Region()) as region:
        outputs = evaluate(build, closed, own)
    inside = set(parameters.values())
    results = dict.fromkeys(x for output in outputs for x in output.ravel().tolist() if type(x) is Value)
    kept = tuple(x for x in results if x not in inside)
    function = Function(name, tuple(parameters.values()), region.statements, kept)
    return Outlined(function, outputs, count(region.statements))


def call_counts(jaxpr: Jaxpr, times: int = 1, counts: dict[int, int] | None = None) -> dict[int, int]:
    """How often each jitted function is called, by the identity of its jaxpr.

    Factors are recognised where both substitutions are seen: a function that has only one of them is not counted.
    """
    counts = {} if counts is None else counts
    for equation in jaxpr.eqns:
        inner = times * equation.params["length"] if equation.primitive.name == "scan" else times
        for called in inner_jaxprs(equation):
            if equation.primitive.name in ("jit", "pjit") and _whole(called):
                counts[id(called)] = counts.get(id(called), 0) + times
            call_counts(called, inner, counts)
    return counts


def inner_jaxprs(equation) -> Iterator[Jaxpr]:
    """Jaxprs in an equation's parameters."""
    for parameter in equation.params.values():
        for one in parameter if isinstance(parameter, tuple | list) else (parameter,):
            if isinstance(one, ClosedJaxpr):
                yield one.jaxpr
            elif isinstance(one, Jaxpr):
                yield one


def _whole(jaxpr: Jaxpr) -> bool:
    """Whether a function has neither or both of a factorisation and its substitutions."""
    names = set(_primitives(jaxpr))
    return ("cholesky" in names) == ("triangular_solve" in names)


def _primitives(jaxpr: Jaxpr) -> Iterator[str]:
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for called in inner_jaxprs(equation):
            yield from _primitives(called)
