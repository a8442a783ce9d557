"""Lines of LLVM's assembly language as they are written: names, types, constants, what must be declared."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from softground.native.program import Kind, Operand, Value

Number = float | int | bool
#: A function of mathematics reads and writes nothing: calls with equal arguments can be shared.
PURE = "nounwind willreturn memory(none)"
LANES = {64: 4, 32: 8}  # of a vector: 256 bits, which LLVM splits where registers are shorter


@dataclass
class Writer:
    """Text of one module. Values of the program get names as they are made.

    With several `lanes` every number is a vector: the same number of as many rows of a batch.
    """

    precision: Literal[32, 64]
    lanes: int = 1
    lines: list[str] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    functions: set[tuple[str, int]] = field(default_factory=set)  # of our own mathematics, with numbers of lanes
    later: dict[Value, Callable[[], str]] = field(default_factory=dict)  # read where they are used: inputs of one row
    mask: str | None = None  # lanes that are computed for their own sake; None: all
    label: str = "entry"  # of the basic block that is being written
    _read: dict[Value, str] = field(default_factory=dict)  # in the basic block that is being written
    _count: int = 0
    _entry: int = 0  # line of the function's first statement
    _reserved: list[str] = field(default_factory=list)

    def many(self, type: str, lanes: int | None = None) -> str:
        """A vector of a type; of one lane the type."""
        lanes = self.lanes if lanes is None else lanes
        return type if lanes == 1 else f"<{lanes} x {type}>"

    def suffix(self, type: str) -> str:
        """End of the name of one of LLVM's functions: f64, i32, v4f64."""
        return type if self.lanes == 1 else f"v{self.lanes}{type}"

    def scalar(self, kind: Kind) -> str:
        return {"float": "double" if self.precision == 64 else "float", "int": "i32", "bool": "i1"}[kind]

    def stored_scalar(self, kind: Kind) -> str:
        """In memory a bool is a byte."""
        return "i8" if kind == "bool" else self.scalar(kind)

    def type(self, kind: Kind) -> str:
        return self.many(self.scalar(kind))

    def stored_type(self, kind: Kind) -> str:
        return self.many(self.stored_scalar(kind))

    @property
    def float(self) -> str:
        return self.type("float")

    @property
    def whole(self) -> str:
        return self.type("int")

    @property
    def flag(self) -> str:
        return self.type("bool")

    def fresh(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def let(self, text: str) -> str:
        """A new name for what `text` computes."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def open_function(self, head: str) -> None:
        self.lines.append(f"define {head} {{")
        self.begin("entry")
        self._entry = len(self.lines)

    def reserve(self, type: str) -> str:
        """Memory of the function, taken as it begins: taken inside of a loop it would grow with every round."""
        name = self.fresh()
        self._reserved.append(f"  {name} = alloca {type}, align 64")
        return name

    def close_function(self) -> None:
        self.line("ret void")
        self.lines.append("}")
        self.lines[self._entry : self._entry] = self._reserved
        self._reserved.clear()

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label
        self._read.clear()

    def fresh_labels(self, *stems: str) -> list[str]:
        self._count += 1
        return [f"{stem}{self._count}" for stem in stems]

    def operand(self, operand: Operand) -> str:
        if not isinstance(operand, Value):
            return self.constant(operand.kind, operand.number)
        if operand in self.names:
            return self.names[operand]
        if operand not in self._read:
            self._read[operand] = self.later[operand]()
        return self._read[operand]

    def typed(self, operand: Operand) -> str:
        return f"{self.type(operand.kind)} {self.operand(operand)}"

    def constant(self, kind: Kind, number: Number) -> str:
        text = self.scalar_constant(kind, number)
        return text if self.lanes == 1 else f"splat ({self.scalar(kind)} {text})"

    def scalar_constant(self, kind: Kind, number: Number) -> str:
        if kind == "float":
            return float_text(number, self.precision)
        if kind == "bool":
            return "true" if number else "false"
        return str((int(number) + 2**31) % 2**32 - 2**31)

    def call(self, name: str, result: str, arguments: Sequence[tuple[str, str]], flags: str = "") -> str:
        """A call of a function outside of the module, which is declared with the types of the (type, name) given."""
        self.declare(name, result, [type for type, _ in arguments])
        return self.let(f"call {flags} {result} @{name}({', '.join(f'{type} {value}' for type, value in arguments)})")

    def declare(self, name: str, result: str, types: Sequence[str]) -> None:
        self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(types)}) {PURE}")

    def lane(self, kind: Kind, value: str, lane: int) -> str:
        """The number of one lane."""
        return value if self.lanes == 1 else self.let(f"extractelement {self.type(kind)} {value}, i32 {lane}")

    def both(self, flags: str, others: str | None) -> str:
        return flags if others is None else self.let(f"and {self.flag} {flags}, {others}")

    def load(self, kind: Kind, pointer: str, bits: int = 32, lanes: int | None = None) -> str:
        """The number at an address, or the numbers of all lanes."""
        if kind == "bool":
            byte = self.many("i8", lanes)
            return self.let(f"icmp ne {byte} {self.let(f'load {byte}, ptr {pointer}')}, zeroinitializer")
        if kind == "int" and bits == 64:
            return self.let(f"trunc i64 {self.let(f'load i64, ptr {pointer}')} to i32")
        return self.let(f"load {self.many(self.scalar(kind), lanes)}, ptr {pointer}")

    def store(self, kind: Kind, value: str, pointer: str, bits: int = 32, lanes: int | None = None) -> None:
        if kind == "bool":
            byte = self.many("i8", lanes)
            value = self.let(f"zext {self.many('i1', lanes)} {value} to {byte}")
            self.line(f"store {byte} {value}, ptr {pointer}")
        elif kind == "int" and bits == 64:
            self.line(f"store i64 {self.let(f'sext i32 {value} to i64')}, ptr {pointer}")
        else:
            self.line(f"store {self.many(self.scalar(kind), lanes)} {value}, ptr {pointer}")

    def per_lane(self, kind: Kind, write: Callable[..., str], *vectors: tuple[Kind, str]) -> str:
        """A vector whose lanes are written one by one: `write(lane, *numbers of that lane)` names each."""
        whole = "poison"
        for lane in range(self.lanes):
            numbers = [self.let(f"extractelement {self.type(of)} {v}, i32 {lane}") for of, v in vectors]
            made = write(lane, *numbers)
            whole = self.let(f"insertelement {self.type(kind)} {whole}, {self.scalar(kind)} {made}, i32 {lane}")
        return whole

    def any(self, flags: str) -> str:
        """Whether a bool holds in a lane."""
        return self.call(f"llvm.vector.reduce.or.{self.suffix('i1')}", "i1", [(self.flag, flags)])

    def element(self, stored_type: str, pointer: str, index: str | int) -> str:
        """Address of one of the numbers that stand at a pointer."""
        return pointer if index == 0 else self.let(f"getelementptr {stored_type}, ptr {pointer}, i32 {index}")


def float_text(number: float, precision: Literal[32, 64]) -> str:
    """A float as LLVM wants it, exact: the bits of the double that equals it."""
    if precision == 32:
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    return "0x" + struct.pack(">d", float(number)).hex().upper()
