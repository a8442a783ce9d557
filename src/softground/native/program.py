"""Scalar programs: what a program of JAX becomes between tracing and native code.

Every array has been taken apart into numbers, so there are no shapes, only values of three kinds and statements that
make them, in order. Control flow is structured: blocks inside statements. Each value is made once, and used after that
in the same block or in blocks inside it (what a loop's condition makes is not seen by its body). Local arrays exist for
what is indexed by a value, and for nothing else.

Nothing here knows JAX (which makes programs, `scalarise.py`) or a machine (which runs them, `llvm.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["float", "int", "bool"]  # float: of the program's precision; int: 32 bits, two's complement

#: Operations of `Compute`: how many arguments they take. All arguments have one kind, but for `select` (bool, x, x)
#: and conversions; comparisons give a bool, the rest what they are given.
OPERATIONS: dict[str, int] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "rem", "min", "max", "pow", "atan2"), 2),
    **dict.fromkeys(("lt", "le", "eq", "ne"), 2),
    **dict.fromkeys(("and", "or", "xor"), 2),  # of bools, and bitwise of ints
    **dict.fromkeys(("neg", "abs", "sign", "floor", "ceil", "round", "not", "is_finite"), 1),  # round: halves to even
    **dict.fromkeys(("sqrt", "rsqrt", "exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh"), 1),
    **dict.fromkeys(("asin", "acos", "atan"), 1),
    **dict.fromkeys(("float_of_int", "float_of_bool", "int_of_float", "int_of_bool"), 1),
    "select": 3,  # the second argument where the first holds, else the third
}
COMPARISONS = frozenset({"lt", "le", "eq", "ne", "is_finite"})


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A number that a statement makes, or a parameter of a function. Two values are equal only if they are one."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that is known."""

    kind: Kind
    number: float | int | bool


Operand = Value | Constant


@dataclass(frozen=True, eq=False, slots=True)
class LocalArray:
    """Numbers in memory, for what is indexed by a value: all at `start` when its function begins, or not yet set."""

    kind: Kind
    size: int
    start: tuple[float | int | bool, ...] | None = None  # constants of the program if nothing stores into it


@dataclass(frozen=True, slots=True)
class Compute:
    """result = operation(arguments)."""

    operation: str
    arguments: tuple[Operand, ...]
    result: Value


@dataclass(frozen=True, slots=True)
class Load:
    """result = array[index]; an index outside is the nearest inside."""

    array: LocalArray
    index: Operand
    result: Value


@dataclass(frozen=True, slots=True)
class Store:
    """array[index] = value; an index outside stores nothing."""

    array: LocalArray
    index: Operand
    value: Operand


@dataclass(frozen=True, slots=True)
class If:
    """results = then_values where flag holds, else otherwise_values, each from a block of its own."""

    flag: Operand
    then: Block
    then_values: tuple[Operand, ...]
    otherwise: Block
    otherwise_values: tuple[Operand, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class While:
    """variables = start; while (condition; flag): body; variables = next. results: the variables at the end."""

    variables: tuple[Value, ...]
    start: tuple[Operand, ...]
    condition: Block
    flag: Operand
    body: Block
    next: tuple[Operand, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ForEach:
    """body for every index from 0 to count - 1, in any order or several at once; results: what all rounds give, joined.

    A body computes, and loads and stores at its index; what a round needs of another goes through `results`, or through
    memory to a loop after this one. Each result is the sum ("add") or the greatest ("max") of a float over all rounds.
    """

    index: Value
    count: int
    body: Block
    joints: tuple[Literal["add", "max"], ...]
    values: tuple[Operand, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """results = function(arguments)."""

    function: Function
    arguments: tuple[Operand, ...]
    results: tuple[Value, ...]


Statement = Compute | Load | Store | If | While | ForEach | Call
Block = Sequence[Statement]


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A part of a program that is called from several places. It has no effects but its results."""

    name: str
    parameters: tuple[Value, ...]
    body: Block
    results: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Numbers of one array that a program is given or gives: floats of its precision, ints of `bits`, bools of a byte.

    Ints of 64 bits are cut to 32 as they are read, and widened as they are written.
    """

    kind: Kind
    size: int
    bits: Literal[32, 64] = 32  # of an int
    in_place: bool = False  # stays where it is, as an input and an output: an array of the program's `memory`


@dataclass(frozen=True, slots=True)
class Interface:
    """What a program looks like from outside."""

    precision: Literal[32, 64]  # bits of a float
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A function of flat buffers: main's parameters are the numbers of all inputs in order, its results those of all
    outputs in order, but for buffers that are changed in place."""

    precision: Literal[32, 64]  # bits of a float
    main: Function
    functions: tuple[Function, ...] = field(default=())  # callees, each after those that it calls
    inputs: tuple[Buffer, ...] = field(default=())
    outputs: tuple[Buffer, ...] = field(default=())
    memory: tuple[LocalArray, ...] = field(default=())  # for each buffer in place; main alone loads and stores there

    @property
    def interface(self) -> Interface:
        return Interface(self.precision, self.inputs, self.outputs)
