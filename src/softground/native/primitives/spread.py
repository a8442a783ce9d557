"""Functions of arrays with one long axis, as loops over it: the law of a foot is one, of the vertices of its set.

Such an array is not taken apart along that axis. It stands for what one round of a loop makes of it, and all rounds are
alike. Operations on elements go into the loop that is open; sums and maxima over the axis are its results, and the
first use of one closes it. What a later loop needs of an earlier one goes through memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from jax.extend.core import ClosedJaxpr
from jax.extend.core import Literal as Known

from softground.native.jaxprs import callee
from softground.native.memory import keep
from softground.native.primitives.elementwise import DIRECT
from softground.native.primitives.reductions import along
from softground.native.primitives.table import PRIMITIVES
from softground.native.program import ForEach, LocalArray, Operand, Store, Value
from softground.native.scalars import Builder, Operands, Region, operands_of
from softground.native.sums import chained, total
from softground.native.traversal import made

#: Axes of at least so many elements are loops: below, lanes of a vector have too little to do.
LONG = 16

#: Primitives that make each element of the elements at the same place.
ELEMENTWISE = frozenset(DIRECT) | {
    *("gt", "ge", "div", "square", "integer_pow", "pow", "exp2", "logistic", "select_n", "clamp", "copy"),
    "convert_element_type",
}
#: Primitives that call a function.
CALLS = {"jit", "pjit", "closed_call", "core_call", "remat2", "custom_jvp_call", "custom_vjp_call", "custom_vmap_call"}
Joint = Literal["add", "max"]


class NoLoop(Exception):
    """What a function does with its long axis is no loop that we know."""


@dataclass(frozen=True)
class Spread:
    """An array in one round: its operands there, with length one along the axis."""

    operands: Operands
    axis: int


@dataclass
class _Loop:
    """A loop that grows. Its statements may grow when it is closed, too: it may have to store something."""

    region: Region
    index: Value = field(default_factory=lambda: Value("int"))
    results: dict[tuple[Joint, Operand], Value] = field(default_factory=dict)


def long_axis(inputs: list[Operands]) -> int:
    """Length of the longest axis behind the first, or 0 if there is none worth a loop."""
    longest = max((size for array in inputs for size in array.shape[1:]), default=0)
    return longest if longest >= LONG else 0


def evaluate_spread(build: Builder, closed: ClosedJaxpr, inputs: list[Operands], count: int) -> list[Operands]:
    """Outputs of a jaxpr whose inputs have axes of this length, which become loops. Raises `NoLoop`."""
    rounds = _Rounds(build, count)
    spread = [_spread(rounds, array, count) for array in inputs]
    outputs = rounds.evaluate(closed, spread)
    rounds.close()
    return [rounds.to_array(output) if isinstance(output, Spread) else output for output in outputs]


def _spread(rounds: _Rounds, array: Operands, count: int) -> Operands | Spread:
    axes = [k for k, size in enumerate(array.shape) if k and size == count]
    if len(axes) > 1:
        raise NoLoop("an array with several long axes")
    return rounds.of_array(array, axes[0]) if axes else array


class _Rounds:
    """The loops of one function, and what lives in which."""

    def __init__(self, build: Builder, count: int):
        self._build, self._count = build, count
        self._open = _Loop(Region(build.region))
        self._homes: dict[Operand, _Loop] = {}  # of values that are made in loops
        self._stored: dict[Operand, LocalArray] = {}

    def evaluate(self, closed: ClosedJaxpr, inputs: list[Any]) -> list[Any]:
        jaxpr = closed.jaxpr
        known: dict = dict(zip(jaxpr.constvars, map(self._build.lift, closed.consts), strict=True))
        known.update(zip(jaxpr.invars, inputs, strict=True))

        def read(variable):
            return self._build.lift(variable.val) if isinstance(variable, Known) else known[variable]

        for equation in jaxpr.eqns:
            outputs = self._equation(equation, [read(x) for x in equation.invars])
            outputs = outputs if equation.primitive.multiple_results else [outputs]
            known.update(zip(equation.outvars, outputs, strict=True))
        return [read(x) for x in jaxpr.outvars]

    def _equation(self, equation, inputs: list[Any]) -> Any:
        name = equation.primitive.name
        if name in CALLS:
            return self.evaluate(callee(equation), inputs)
        if not any(isinstance(x, Spread) for x in inputs):
            if name not in PRIMITIVES:
                raise NoLoop(name)
            self._close_if_used(inputs)
            return PRIMITIVES[name](self._build, equation, inputs)
        if name in ELEMENTWISE:
            return self._elementwise(equation, inputs)
        if name in RULES:
            return RULES[name](self, equation, *inputs)
        raise NoLoop(name)

    # In and out of loops

    def of_array(self, array: Operands, axis: int) -> Spread:
        """An array from outside: in memory, one column of the axis after the other; or the same in all rounds."""
        columns = np.moveaxis(array, axis, -1)
        flat = [self._column(tuple(x)) for x in columns.reshape(-1, self._count).tolist()]
        return Spread(np.expand_dims(operands_of(flat, columns.shape[:-1]), axis), axis)

    def _column(self, column: tuple[Operand, ...]) -> Operand:
        if all(x is column[0] for x in column):
            return column[0]
        return self._loaded(keep(self._build, column))

    def _loaded(self, array: LocalArray) -> Operand:
        with self._inside():
            return self._build.load(array, self._open.index)

    def _here(self, operand: Operand) -> Operand:
        """What an operand is in the open loop: made in an earlier one, it comes from memory."""
        home = self._homes.get(operand)
        return operand if home is None or home is self._open else self._loaded(self._in_memory(operand, home))

    def _in_memory(self, operand: Operand, home: _Loop) -> LocalArray:
        if operand not in self._stored:
            array = self._stored[operand] = LocalArray(operand.kind, self._count)
            home.region.statements.append(Store(array, home.index, operand))
        return self._stored[operand]

    def to_array(self, spread: Spread) -> Operands:
        """All elements of an array for what comes after all loops."""
        shape = np.delete(spread.operands.shape, spread.axis)
        rows = []
        for operand in spread.operands.ravel().tolist():
            home = self._homes.get(operand)
            array = None if home is None else self._in_memory(operand, home)
            places = map(self._build.int, range(self._count))
            rows += [operand if array is None else self._build.load(array, k) for k in places]
        columns = operands_of(rows, (*shape, self._count))
        return np.moveaxis(columns, -1, spread.axis)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Statements go to the open loop, and what they make lives there."""
        statements = self._open.region.statements
        before = len(statements)
        with self._build.inside(self._open.region):
            yield
        self._homes.update((value, self._open) for one in statements[before:] for value in made(one))

    def close(self) -> None:
        """The open loop becomes a statement, and another one is opened."""
        loop = self._open
        joints, values = zip(*loop.results, strict=True) if loop.results else ((), ())
        results = tuple(loop.results.values())
        self._build.add(ForEach(loop.index, self._count, loop.region.statements, joints, values, results))
        self._open = _Loop(Region(self._build.region))

    def _close_if_used(self, arrays: Iterable[Operands]) -> None:
        results = set(self._open.results.values())
        if results and any(x in results for array in arrays for x in array.ravel().tolist()):
            self.close()

    # Operations

    def _elementwise(self, equation, inputs: list[Operands | Spread]) -> Spread:
        name, axes = equation.primitive.name, {x.axis for x in inputs if isinstance(x, Spread)}
        if len(axes) > 1:
            raise NoLoop(f"{name} of arrays whose long axes differ")
        (axis,) = axes
        self._close_if_used(x.operands if isinstance(x, Spread) else x for x in inputs)
        if name == "div" and not isinstance(inputs[1], Spread):  # a divisor of all rounds is inverted before
            ones = np.broadcast_to(self._build.lift(np.ones(())), inputs[1].shape)
            inputs, name = [inputs[0], PRIMITIVES["div"](self._build, equation, [ones, inputs[1]])], "mul"
        arrays = [self._beside(x, axis) for x in inputs]
        return Spread(self._in_loop(lambda build, *here: PRIMITIVES[name](build, equation, list(here)), *arrays), axis)

    def _beside(self, array: Operands | Spread, axis: int) -> Operands:
        if isinstance(array, Spread):
            return array.operands
        return array if array.ndim == 0 or array.shape[axis] == 1 else self.of_array(array, axis).operands

    def _in_loop(self, function: Callable[..., Any], *arrays: Operands) -> Operands:
        """A function of the builder and of the operands of one round, in the open loop."""
        here = [operands_of([self._here(x) for x in array.ravel().tolist()], array.shape) for array in arrays]
        with self._inside():
            return function(self._build, *here)

    def reduced(self, array: Spread, axes: tuple[int, ...], joint: Joint) -> Operands | Spread:
        """Joined over other axes in each round, over the long one by the loop."""
        others = tuple(k for k in axes if k != array.axis)
        join = total if joint == "add" else partial(chained, operation="max")

        def one_round(build: Builder, here: Operands) -> Operands:
            return along(here, others, lambda group: join(build, terms=group))

        self._close_if_used([array.operands])
        left, axis = self._in_loop(one_round, array.operands), array.axis - sum(k < array.axis for k in others)
        if array.axis not in axes:
            return Spread(left, axis)
        flat = [self._open.results.setdefault((joint, x), Value("float")) for x in left.ravel().tolist()]
        return operands_of(flat, tuple(np.delete(left.shape, axis)))


def _broadcast(rounds: _Rounds, equation, array: Spread) -> Spread:
    shape, places = equation.params["shape"], equation.params["broadcast_dimensions"]
    axis = places[array.axis]
    aligned = [1] * len(shape)
    for size, place in zip(array.operands.shape, places, strict=True):
        aligned[place] = size
    return Spread(np.broadcast_to(array.operands.reshape(aligned), _one_round(shape, axis)), axis)


def _reshape(rounds: _Rounds, equation, array: Spread) -> Spread:
    """The long axis must stay: with as many elements before it."""
    before, shape = np.prod(array.operands.shape[: array.axis], dtype=int), equation.outvars[0].aval.shape
    length = equation.invars[0].aval.shape[array.axis]
    for axis, size in enumerate(shape):
        if size == length and np.prod(shape[:axis], dtype=int) == before:
            return Spread(array.operands.reshape(_one_round(shape, axis)), axis)
    raise NoLoop("a reshape that cuts the long axis")


def _transpose(rounds: _Rounds, equation, array: Spread) -> Spread:
    order = equation.params["permutation"]
    return Spread(array.operands.transpose(order), order.index(array.axis))


def _slice(rounds: _Rounds, equation, array: Spread) -> Spread:
    starts, stops = list(equation.params["start_indices"]), list(equation.params["limit_indices"])
    strides = list(equation.params["strides"] or (1,) * len(starts))
    whole = 0, equation.invars[0].aval.shape[array.axis], 1
    if (starts[array.axis], stops[array.axis], strides[array.axis]) != whole:
        raise NoLoop("a part of the long axis")
    stops[array.axis] = 1
    return Spread(array.operands[tuple(map(slice, starts, stops, strides))], array.axis)


def _joined(place: str, join: Callable[..., Operands], adds_axis: bool):
    """Arrays side by side along another axis than the long one."""

    def rule(rounds: _Rounds, equation, *arrays: Operands | Spread) -> Spread:
        axes, along = {x.axis for x in arrays if isinstance(x, Spread)}, equation.params[place]
        if len(axes) > 1 or (not adds_axis and along in axes):
            raise NoLoop("arrays side by side along their long axes")
        (axis,) = axes
        columns = [x.operands if isinstance(x, Spread) else rounds.of_array(x, axis).operands for x in arrays]
        return Spread(join(columns, along), axis + (adds_axis and along <= axis))

    return rule


def _unstack(rounds: _Rounds, equation, array: Spread) -> list[Spread]:
    along = equation.params["axis"]
    if along == array.axis:
        raise NoLoop("the long axis, taken apart")
    axis = array.axis - (along < array.axis)
    return [Spread(np.asarray(x, object), axis) for x in np.moveaxis(array.operands, along, 0)]


def _reduction(joint: Joint):
    def rule(rounds: _Rounds, equation, array: Spread) -> Operands | Spread:
        if equation.outvars[0].aval.dtype.kind != "f":
            raise NoLoop("a sum of numbers that are no floats")
        return rounds.reduced(array, equation.params["axes"], joint)

    return rule


def _one_round(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])


#: What a primitive makes of an array that is spread, beside those that work on each element.
RULES = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "concatenate": _joined("dimension", np.concatenate, adds_axis=False),
    "stack": _joined("axis", np.stack, adds_axis=True),
    "unstack": _unstack,
    "reduce_sum": _reduction("add"),
    "reduce_max": _reduction("max"),
}
