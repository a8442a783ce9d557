"""Lines of LLVM's assembly language as they are written: names, types, constants, what must be declared."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from softground.native.program import Kind, Operand, Value

#: A function of mathematics reads and writes nothing: calls with equal arguments can be shared.
PURE = "nounwind willreturn memory(none)"


@dataclass
class Writer:
    """Text of one module. Values of the program get names as they are made."""

    precision: Literal[32, 64]
    lines: list[str] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    functions: set[tuple[str, int]] = field(default_factory=set)  # of our own mathematics, with numbers of lanes
    label: str = "entry"  # of the basic block that is being written
    _count: int = 0
    _entry: int = 0  # line of the function's first statement
    _reserved: list[str] = field(default_factory=list)

    @property
    def float(self) -> str:
        return "double" if self.precision == 64 else "float"

    def floats(self, lanes: int) -> str:
        """A vector of floats, or one."""
        return self.float if lanes == 1 else f"<{lanes} x {self.float}>"

    def type(self, kind: Kind) -> str:
        return {"float": self.float, "int": "i32", "bool": "i1"}[kind]

    def stored_type(self, kind: Kind) -> str:
        """In memory a bool is a byte."""
        return "i8" if kind == "bool" else self.type(kind)

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
        self._reserved.append(f"  {name} = alloca {type}, align 32")
        return name

    def close_function(self) -> None:
        self.line("ret void")
        self.lines.append("}")
        self.lines[self._entry : self._entry] = self._reserved
        self._reserved.clear()

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def fresh_labels(self, *stems: str) -> list[str]:
        self._count += 1
        return [f"{stem}{self._count}" for stem in stems]

    def operand(self, operand: Operand) -> str:
        return self.names[operand] if isinstance(operand, Value) else self.constant(operand.kind, operand.number)

    def typed(self, operand: Operand) -> str:
        return f"{self.type(operand.kind)} {self.operand(operand)}"

    def constant(self, kind: Kind, number: float | int | bool) -> str:
        if kind == "float":
            return float_text(float(number), self.precision)
        if kind == "bool":
            return "true" if number else "false"
        return str((int(number) + 2**31) % 2**32 - 2**31)

    def call(self, name: str, result: str, arguments: Sequence[tuple[str, str]], flags: str = "") -> str:
        """A call of a function outside of the module, which is declared with the types of the (type, name) given."""
        self.declare(name, result, [type for type, _ in arguments])
        return self.let(f"call {flags} {result} @{name}({', '.join(f'{type} {value}' for type, value in arguments)})")

    def declare(self, name: str, result: str, types: Sequence[str]) -> None:
        self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(types)}) {PURE}")

    def load(self, kind: Kind, pointer: str, bits: int = 32) -> str:
        """The number at an address."""
        if kind == "bool":
            return self.let(f"icmp ne i8 {self.let(f'load i8, ptr {pointer}')}, 0")
        if kind == "int" and bits == 64:
            return self.let(f"trunc i64 {self.let(f'load i64, ptr {pointer}')} to i32")
        return self.let(f"load {self.type(kind)}, ptr {pointer}")

    def store(self, kind: Kind, value: str, pointer: str, bits: int = 32) -> None:
        if kind == "bool":
            self.line(f"store i8 {self.let(f'zext i1 {value} to i8')}, ptr {pointer}")
        elif kind == "int" and bits == 64:
            self.line(f"store i64 {self.let(f'sext i32 {value} to i64')}, ptr {pointer}")
        else:
            self.line(f"store {self.type(kind)} {value}, ptr {pointer}")

    def element(self, stored_type: str, pointer: str, index: str | int) -> str:
        """Address of one of the numbers that stand at a pointer."""
        return pointer if index == 0 else self.let(f"getelementptr {stored_type}, ptr {pointer}, i32 {index}")


def float_text(number: float, precision: Literal[32, 64]) -> str:
    """A float as LLVM wants it, exact: the bits of the double that equals it."""
    if precision == 32:
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    return "0x" + struct.pack(">d", number).hex().upper()
