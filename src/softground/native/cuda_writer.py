"""CUDA C++ as it grows: lines, the names of values, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from softground.native.cuda_operations import literal
from softground.native.local_arrays import LocalArrays
from softground.native.program import Function, Kind, LocalArray, Operand, Value

TYPES: dict[Kind, str] = {"float": "real", "int": "int", "bool": "bool"}
#: Bytes of tables in constant memory, of 64 KiB: what all threads read at one place (rows of a matrix, in a loop) costs
#: nothing there. Tables beyond lie in global memory.
_CONSTANT_BYTES = 48 * 1024


@dataclass
class Writer:
    """Text as it grows. Values get names as they are made."""

    precision: int
    arrays: LocalArrays
    team: int
    shared_out: frozenset[LocalArray]  # whose elements lie with the threads of a team, one after the other
    places: LocalArray | None = None  # lies in memory that a processor's threads share, once for a team
    lines: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    functions: dict[Function, str] = field(default_factory=dict)
    pointers: dict[LocalArray, str] = field(default_factory=dict)
    outside: set[LocalArray] = field(default_factory=set)  # buffers in place, not memory of the thread
    indent: str = ""
    _count: int = 0
    _constant_bytes: int = 0

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def open(self, head: str) -> None:
        self.line(f"{head} {{")
        self.indent += "  "

    def close(self) -> None:
        self.indent = self.indent[2:]
        self.line("}")

    def fresh(self, stem: str = "t") -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def operand(self, operand: Operand) -> str:
        if isinstance(operand, Value):
            return self.names[operand]
        return literal(operand.kind, operand.number, self.precision)

    def let(self, value: Value, text: str) -> None:
        name = self.names[value] = self.fresh()
        self.line(f"const {TYPES[value.kind]} {name} = {text};")

    def variable(self, value: Value, start: str | None = None) -> str:
        """A name that is assigned to."""
        name = self.names[value] = self.fresh("x")
        self.line(f"{TYPES[value.kind]} {name}{'' if start is None else f' = {start}'};")
        return name

    def table(self, array: LocalArray) -> str:
        """Constants of the program, which all threads share."""
        numbers = ", ".join(literal(array.kind, number, self.precision) for number in array.start or ())
        size = array.size * {"float": self.precision // 8, "int": 4, "bool": 1}[array.kind]
        fits = array not in self.shared_out and self._constant_bytes + size <= _CONSTANT_BYTES
        self._constant_bytes += size if fits else 0
        name = self.fresh("table")
        place = "__constant__" if fits else "__device__"
        room = self.team * self.rounds(array.size)  # the last round may have none left for some threads
        self.tables.append(f"static {place} const {TYPES[array.kind]} {name}[{room}] = {{{numbers}}};")
        return name

    def pointer(self, array: LocalArray) -> str:
        """Where an array begins; a table is written when it is first asked for."""
        if array not in self.pointers:
            self.pointers[array] = self.table(array)
        return self.pointers[array]

    def interleaved(self, arrays: Sequence[LocalArray]) -> tuple[str, int]:
        """Tables that a loop reads together, as one of fours, and how many of these a round reads.

        The fours of a team's threads lie side by side: an address, and few reads, serve all of a round.
        """
        rounds, fours = self.rounds(max(array.size for array in arrays)), -(-len(arrays) // 4)
        numbers = np.zeros((4 * fours, rounds * self.team))
        for column, array in zip(numbers, arrays, strict=False):
            column[: array.size] = array.start
        ordered = numbers.reshape(fours, 4, rounds, self.team).transpose(2, 0, 3, 1).reshape(-1, 4)
        name = self.fresh("table")
        rows = ", ".join(f"{{{', '.join(literal('float', x, self.precision) for x in row)}}}" for row in ordered)
        self.tables.append(f"static __device__ const Four {name}[{len(ordered)}] = {{{rows}}};")
        return name, fours

    @property
    def stride(self) -> int:
        """Numbers from the places of a row to those of the next: odd, so that rows lie in different banks."""
        return 0 if self.places is None else self.places.size | 1

    def rounds(self, count: int) -> int:
        """Of a loop, for a thread of a team."""
        return -(-count // self.team)
