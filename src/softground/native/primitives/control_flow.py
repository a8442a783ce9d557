"""Branches and loops: kept as such where they depend on values, resolved where they do not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from jax.extend.core import ClosedJaxpr

from softground.native.jaxprs import evaluate
from softground.native.memory import current, element, keep
from softground.native.primitives.table import primitive
from softground.native.program import Constant, If, LocalArray, Operand, Store, Value, While
from softground.native.scalars import Builder, Operands, Region, count, kind_of, operands_of

#: A scan of at most so many statements in all is unrolled.
UNROLLED = 2000


@primitive("cond")
def branch(build: Builder, equation, inputs):
    """One of several functions, by an index that is brought into range."""
    index, *arguments = inputs
    which = index.item()
    if which.kind == "bool":
        which = build.compute("int_of_bool", which)
    return _one_of(build, which, equation.params["branches"], 0, arguments)


def _one_of(build: Builder, which: Operand, branches: Sequence[ClosedJaxpr], first: int, arguments) -> list[Operands]:
    """The branch of an index, where those before `first` are ruled out."""
    if first == len(branches) - 1:
        return evaluate(build, branches[first], arguments)
    flag = build.compute("lt", build.int(first), which)  # beyond this branch
    if type(flag) is Constant:
        if flag.number:
            return _one_of(build, which, branches, first + 1, arguments)
        return evaluate(build, branches[first], arguments)
    with build.inside(Region(build.region)) as otherwise:
        no = evaluate(build, branches[first], arguments)
    with build.inside(Region(build.region)) as then:
        yes = _one_of(build, which, branches, first + 1, arguments)
    return _joined(build, flag, then, yes, otherwise, no)


def _joined(build: Builder, flag, then: Region, yes, otherwise: Region, no) -> list[Operands]:
    """Results of two branches. What both give is no result of the branch; if neither does anything, it is a choice."""
    if not then.statements and not otherwise.statements:
        return [
            operands_of([build.compute("select", flag, *pair) for pair in _pairs(x, y)], x.shape)
            for x, y in zip(yes, no, strict=True)
        ]
    results: dict[tuple[Operand, Operand], Operand] = {}
    arrays = []
    for x, y in zip(yes, no, strict=True):
        flat = [a if a is b else results.setdefault((a, b), Value(a.kind)) for a, b in _pairs(x, y)]
        arrays.append(operands_of(flat, x.shape))
    build.add(
        If(
            flag,
            then.statements,
            tuple(a for a, _ in results),
            otherwise.statements,
            tuple(b for _, b in results),
            tuple(results.values()),  # type: ignore[arg-type]
        )
    )
    return arrays


def _pairs(x: Operands, y: Operands):
    return zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)


@primitive("while")
def loop(build: Builder, equation, inputs):
    settings = equation.params
    held = settings["cond_nconsts"] + settings["body_nconsts"]
    for_condition, for_body = inputs[: settings["cond_nconsts"]], inputs[settings["cond_nconsts"] : held]
    start = inputs[held:]

    def condition(build: Builder, carry: list[Operands]) -> Operand:
        return evaluate(build, settings["cond_jaxpr"], [*for_condition, *carry])[0].item()

    def body(build: Builder, carry: list[Operands]) -> list[Operands]:
        return evaluate(build, settings["body_jaxpr"], [*for_body, *carry])

    return while_loop(build, condition, body, start)


def while_loop(build: Builder, condition, body, start: list[Operands]) -> list[Operands]:
    """A loop over as few variables as it needs.

    What the body does not change is no variable, and what starts equal and changes alike is one. That is found by
    assuming the most (nothing changes) and giving up what the body then refutes, until the body agrees.
    """
    shapes = [x.shape for x in start]
    first = [x for array in start for x in array.ravel().tolist()]
    if never(build, condition, start):
        return start
    groups: list[Hashable] = [None] * len(first)  # variables of one group are equal; None: unchanged
    while True:
        variables = {group: Value(x.kind) for group, x in zip(groups, first, strict=True) if group is not None}
        now = [x if group is None else variables[group] for group, x in zip(groups, first, strict=True)]
        with build.inside(Region(build.region)) as inside:
            outputs = body(build, _arrays(now, shapes))
        after = [x for array in outputs for x in array.ravel().tolist()]
        refined = _refined(groups, first, after)
        if len(set(refined)) == len(set(groups)) and (None in refined) == (None in groups):
            break
        groups = refined
    with build.inside(Region(build.region)) as test:
        flag = condition(build, _arrays(now, shapes))
    results = {group: Value(variable.kind) for group, variable in variables.items()}
    one = {group: k for k, group in reversed(list(enumerate(groups))) if group is not None}
    build.add(
        While(
            tuple(variables.values()),
            tuple(first[one[group]] for group in variables),
            test.statements,
            flag,
            inside.statements,
            tuple(after[one[group]] for group in variables),
            tuple(results.values()),
        )
    )
    return _arrays([x if group is None else results[group] for group, x in zip(groups, first, strict=True)], shapes)


def never(build: Builder, condition, start: list[Operands]) -> bool:
    """Whether a loop is known to end before it begins."""
    with build.inside(Region(build.region)):
        flag = condition(build, start)
    return type(flag) is Constant and not flag.number


def _refined(groups: list[Hashable], first: list[Operand], after: list[Operand]) -> list[Hashable]:
    """Groups of which all members were in one group, start equal and change alike."""
    names: dict[Hashable, int] = {}
    refined: list[Hashable] = []
    for group, start, end in zip(groups, first, after, strict=True):
        unchanged = group is None and end is start
        refined.append(None if unchanged else names.setdefault((group, start, end), len(names)))
    return refined


def _arrays(flat: list[Operand], shapes) -> list[Operands]:
    arrays, at = [], 0
    for shape in shapes:
        size = int(np.prod(shape, dtype=int))
        arrays.append(operands_of(flat[at : at + size], shape))
        at += size
    return arrays


@primitive("scan")
def scan(build: Builder, equation, inputs):
    """Unrolled if that is short; else a loop that keeps what it reads and writes in memory."""
    settings = equation.params
    held, carried = _held_and_carried(settings)
    constants, start, rows = inputs[:held], inputs[held : held + carried], inputs[held + carried :]

    def body(carry: list[Operands], row: list[Operands]) -> tuple[list[Operands], list[Operands]]:
        outputs = evaluate(build, settings["jaxpr"], [*constants, *carry, *row])
        return outputs[:carried], outputs[carried:]

    length, backwards = settings["length"], settings["reverse"]
    stacked = [(x.aval.shape, kind_of(x.aval.dtype)) for x in equation.outvars[carried:]]
    if length == 0:
        return [*start, *(np.empty(shape, object) for shape, _ in stacked)]
    with build.inside(Region(build.region)) as trial:
        body(start, [_row(x, 0) for x in rows])
    if count(trial.statements) * length <= UNROLLED:
        return _unrolled(body, length, backwards, start, rows)
    return _rolled(build, body, length, backwards, start, rows, stacked)


def _held_and_carried(settings) -> tuple[int, int]:
    """How many inputs of a scan are constants, and how many are carried from row to row."""
    if "num_consts" in settings:
        return settings["num_consts"], settings["num_carry"]
    constants, carry, _ = settings["ft_in"].unpack()  # from JAX 0.11 on
    return len(constants), len(carry)


def _unrolled(body, length: int, backwards: bool, start, rows) -> list[Operands]:
    carry, written = start, []
    for k in range(length)[:: -1 if backwards else 1]:
        carry, row = body(carry, [_row(x, k) for x in rows])
        written.append(row)
    written = written[:: -1 if backwards else 1]
    return [*carry, *(np.stack(column) for column in zip(*written, strict=True))]


def _row(array: Operands, k: int) -> Operands:
    return np.asarray(array[k], object)


def _rolled(build: Builder, body, length: int, backwards: bool, start, rows, stacked) -> list[Operands]:
    memory = [LocalArray(kind, int(np.prod(shape, dtype=int))) for shape, kind in stacked]
    flats = [tuple(x.ravel().tolist()) for x in rows]
    for flat in flats:
        if flat:
            keep(build, flat)  # before the loop, not in it

    def step(build: Builder, carry: list[Operands]) -> list[Operands]:
        counter, *own = carry
        place = counter.item()
        if backwards:
            place = build.compute("sub", build.int(length - 1), place)
        own, written = body(own, [_row_at(build, x, flat, place) for x, flat in zip(rows, flats, strict=True)])
        for array, row in zip(memory, written, strict=True):
            for k, one in enumerate(row.ravel().tolist()):
                build.add(Store(array, _flat_place(build, place, row.size, k), one))
        return [operands_of([build.compute("add", counter.item(), build.int(1))], ()), *own]

    def more(build: Builder, carry: list[Operands]) -> Operand:
        return build.compute("lt", carry[0].item(), build.int(length))

    _, *carry = while_loop(build, more, step, [operands_of([build.int(0)], ()), *start])
    read = [
        operands_of([current(build, array, build.int(k)) for k in range(array.size)], shape)
        for array, (shape, _) in zip(memory, stacked, strict=True)
    ]
    return [*carry, *read]


def _row_at(build: Builder, array: Operands, flat: tuple[Operand, ...], place: Operand) -> Operands:
    shape = array.shape[1:]
    size = int(np.prod(shape, dtype=int))
    return operands_of([element(build, flat, _flat_place(build, place, size, k)) for k in range(size)], shape)


def _flat_place(build: Builder, row: Operand, size: int, k: int) -> Operand:
    return build.compute("add", build.compute("mul", row, build.int(size)), build.int(k))
