"""Making of scalar programs: statements in the region at hand, each made once.

A region is a block under construction with what is known in it. Asking for an operation that the region or one around
it has already done gives the value that is there (hash consing), so common subexpressions are shared, but never from a
block that may not have run. Operations on constants are done at once, and the rules simplify the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from softground.native.arithmetic import MEANING, Number, kind_of_result, rounded
from softground.native.errors import NotNative
from softground.native.program import (
    Call,
    Compute,
    Constant,
    ForEach,
    Function,
    If,
    Kind,
    Load,
    LocalArray,
    Operand,
    Statement,
    Value,
    While,
)
from softground.native.rule_table import COMMUTATIVE, NUMBER, Form, rules_for

KINDS: dict[str, Kind] = {"float32": "float", "float64": "float", "int32": "int", "int64": "int", "bool": "bool"}
#: Arrays of operands, of NumPy's dtype object: shapes are kept while a program is made.
Operands = np.ndarray


class Region:
    """A block under construction: its statements, and what is known in it and in those inside it."""

    __slots__ = ("parent", "statements", "table")

    def __init__(self, parent: Region | None = None):
        self.parent = parent
        self.statements: list[Statement] = []
        self.table: dict[Any, Any] = {}

    def find(self, key) -> Any:
        """What is known under a key here or around, else None."""
        region = self
        while region is not None:
            found = region.table.get(key)
            if found is not None:
                return found
            region = region.parent
        return None


class Builder:
    """A program in the making."""

    def __init__(self, precision: Literal[32, 64]):
        self.precision: Literal[32, 64] = precision
        self.region = Region()
        self.functions: dict[Any, Any] = {}  # by what they are made of (`calls.py`)
        self.call_counts: dict[int, int] = {}  # of a jaxpr, by its identity
        self.memory: dict[Operand, LocalArray] = {}  # arrays that are changed in place, by what stands for them
        self._constants: dict[Any, Constant] = {}
        self._definitions: dict[Value, Compute] = {}
        self._made_by: dict[Operand, str] = {}  # the operation of each definition
        self._lifted: dict[int, tuple[Any, Operands]] = {}
        self._places: dict[Operand, tuple[LocalArray, Operand]] = {}  # of values that were loaded

    # Constants

    def constant(self, number: Number, kind: Kind) -> Constant:
        """The one constant of a number. Zero has no sign."""
        number = rounded(number, kind, self.precision)
        if number == 0:
            number = rounded(0, kind, self.precision)
        key = (kind, "nan" if number != number else number)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Constant(kind, number)
        return found

    def float(self, number: float) -> Constant:
        return self.constant(number, "float")

    def int(self, number: int) -> Constant:
        return self.constant(number, "int")

    def lift(self, array) -> Operands:
        """An array of constants."""
        known = self._lifted.get(id(array))
        if known is not None:
            return known[1]
        numbers = np.asarray(array)
        kind = kind_of(numbers.dtype)
        if kind == "int" and numbers.size and not -(2**31) <= numbers.min() <= numbers.max() < 2**31:
            raise NotNative(f"integers of native code have 32 bits, but a constant holds {np.abs(numbers).max()}")
        operands = operands_of([self.constant(x, kind) for x in numbers.ravel().tolist()], numbers.shape)
        self._lifted[id(array)] = (array, operands)  # keeps it alive, so that its identity stays its own
        return operands

    # Statements

    def compute(self, operation: str, *arguments: Operand) -> Operand:
        """The result of an operation: a constant, a value that is there already, or a new one."""
        forms = tuple([self.form(x) for x in arguments])
        if forms.count(NUMBER) == len(forms):
            kind = kind_of_result(operation, tuple(x.kind for x in arguments))
            return self.constant(MEANING[operation](*(x.number for x in arguments)), kind)  # type: ignore[union-attr]
        for rule in rules_for(operation, forms, len(arguments) > 1 and arguments[-1] is arguments[-2]):
            result = rule(self, *arguments)
            if result is not None:
                return result
        return self._shared(operation, arguments)

    def known(self, operation: str, *arguments: Operand) -> Value | None:
        """The result of an operation that has been done already."""
        return self.region.find(_key(operation, arguments))

    def _shared(self, operation: str, arguments: tuple[Operand, ...]) -> Value:
        key = _key(operation, arguments)
        found = self.region.find(key)
        if found is None:
            found = Value(kind_of_result(operation, tuple(x.kind for x in arguments)))
            statement = Compute(operation, arguments, found)
            self._definitions[found] = statement
            self._made_by[found] = operation
            self.region.statements.append(statement)
            self.region.table[key] = found
        return found

    def load(self, array: LocalArray, index: Operand) -> Value:
        """A number of an array into which nothing is stored any more."""
        key = ("load", id(array), id(index))
        found = self.region.find(key)
        if found is None:
            found = Value(array.kind)
            self.add(Load(array, index, found))
            self.region.table[key] = found
            self._places[found] = array, index
        return found

    def place_of(self, operand: Operand) -> tuple[LocalArray, Operand] | None:
        """Where a value was loaded from, if it stands there for good."""
        return self._places.get(operand)

    def call(self, function: Function, arguments: tuple[Operand, ...]) -> tuple[Value, ...]:
        """Results of a function, which has no effects: called once for the same arguments."""
        key = ("call", id(function), *map(id, arguments))
        found = self.region.find(key)
        if found is None:
            found = tuple(Value(x.kind) for x in function.results)
            self.add(Call(function, arguments, found))
            self.region.table[key] = found
        return found

    def add(self, statement: Statement) -> None:
        self.region.statements.append(statement)

    # Arrays that are changed in place

    def in_place(self, kind: Kind, size: int) -> Operands:
        """A new one. One value stands for all of it, whatever its shape: branches and loops then carry one value."""
        whole = Value(kind)
        self.memory[whole] = LocalArray(kind, size)
        return operands_of([whole], ())

    def memory_of(self, operands: Operands) -> LocalArray | None:
        """Where the numbers of an array are that is changed in place; None for others."""
        return self.memory.get(operands.item()) if self.memory and operands.ndim == 0 else None

    # What is known

    def form(self, operand: Operand) -> Form:
        """By which the rules for an operation are chosen."""
        return NUMBER if type(operand) is Constant else self._made_by.get(operand)

    def arguments_of(self, operand: Operand, operation: str) -> tuple[Operand, ...] | None:
        """Arguments of the operation that made a value, if it was this one."""
        made = self._definitions.get(operand)  # type: ignore[arg-type]
        return made.arguments if made is not None and made.operation == operation else None

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Statements go to another region for a while."""
        outer, self.region = self.region, region
        try:
            yield region
        finally:
            self.region = outer


def _key(operation: str, arguments: tuple[Operand, ...]) -> tuple:
    """Under what the result of an operation is known."""
    if len(arguments) != 2:
        return (operation, *map(id, arguments))
    x, y = id(arguments[0]), id(arguments[1])
    return (operation, y, x) if y < x and operation in COMMUTATIVE else (operation, x, y)


def kind_of(dtype) -> Kind:
    """Kind of the numbers of an array."""
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        raise NotNative(f"arrays of {dtype} have no native form") from None
    kind = KINDS.get(dtype.name)
    if kind is not None:
        return kind
    raise NotNative(f"arrays of {dtype} have no native form: must be of {', '.join(KINDS)}")


def operands_of(flat: Sequence[Operand], shape: tuple[int, ...]) -> Operands:
    """An array of operands from those in order."""
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


def numbers_of(operands: Operands) -> np.ndarray | None:
    """The numbers of an array of constants; None if one is not known."""
    flat = operands.ravel().tolist()
    if not all(type(x) is Constant for x in flat):
        return None
    return np.array([x.number for x in flat]).reshape(operands.shape)


def each(build: Builder, operation: str, *arrays: Operands) -> Operands:
    """An operation on each element."""
    if len({x.shape for x in arrays}) > 1:
        arrays = tuple(np.broadcast_arrays(*arrays))
    columns = [x.ravel().tolist() for x in arrays]
    return operands_of([build.compute(operation, *row) for row in zip(*columns, strict=True)], arrays[0].shape)


def count(statements: Sequence[Statement]) -> int:
    """Number of statements, with those of inner blocks."""
    total = len(statements)
    for one in statements:
        if isinstance(one, If):
            total += count(one.then) + count(one.otherwise)
        elif isinstance(one, While):
            total += count(one.condition) + count(one.body)
        elif isinstance(one, ForEach):
            total += count(one.body)
    return total
