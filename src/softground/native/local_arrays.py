"""Local arrays of a program: where they lie, and what reads and writes them.

Those that nothing stores into are constants of the module; others lie on the stack of their function, and with several
lanes each lane has its own, number beside number. Where a loop takes several numbers of an array at once (`rounds.py`),
the last of them may lie behind its end: there is room for that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

from softground.native.program import Function, Kind, Load, LocalArray, Program, Store
from softground.native.traversal import walk
from softground.native.writer import LANES, Number, Writer


@dataclass
class LocalArrays:
    """Where they lie."""

    changed: set[LocalArray]
    constants: list[str] = field(default_factory=list)
    pointers: dict[LocalArray, str] = field(default_factory=dict)
    outside: dict[LocalArray, list[str]] = field(default_factory=dict)  # of the row of each lane: buffers in place

    def in_memory(self, array: LocalArray) -> bool:
        return array in self.changed or array.start is None

    def place(self, writer: Writer, function: Function) -> None:
        """Give every array of a function its memory, as the function begins."""
        for array in dict.fromkeys(s.array for s in walk(function.body) if isinstance(s, Load | Store)):
            if array in self.outside:
                continue
            if self.in_memory(array):
                self.pointers[array] = _on_stack(writer, array)
            elif array not in self.pointers:
                self.pointers[array] = f"@array{len(self.constants)}"
                self.constants.append(f"{self.pointers[array]} = {_constants(writer, array)}")


def _on_stack(writer: Writer, array: LocalArray) -> str:
    stored = writer.stored_type(array.kind)
    memory = writer.reserve(f"[{array.size + 2 * LANES[writer.precision]} x {stored}]")  # see also `store`
    for index, number in enumerate(array.start or ()):
        place = writer.element(stored, memory, index)
        writer.store(array.kind, writer.constant(array.kind, number), place)
    return memory


def _constants(writer: Writer, array: LocalArray) -> str:
    stored = writer.stored_scalar(array.kind)
    numbers = [*(array.start or ()), *[0] * (2 * LANES[writer.precision])]
    listed = ", ".join(f"{stored} {_stored_constant(writer, array.kind, n)}" for n in numbers)
    return f"private unnamed_addr constant [{len(numbers)} x {stored}] [{listed}], align 64"


def _stored_constant(writer: Writer, kind: Kind, number: Number) -> str:
    return str(int(bool(number))) if kind == "bool" else writer.scalar_constant(kind, number)


def local_arrays(program: Program) -> LocalArrays:
    """Those of a program, before the first of its functions is written."""
    everything = chain.from_iterable(walk(f.body) for f in (*program.functions, program.main))
    return LocalArrays({statement.array for statement in everything if isinstance(statement, Store)})


def load(writer: Writer, arrays: LocalArrays, statement: Load) -> None:
    array, kind = statement.array, statement.array.kind
    low, high = writer.constant("int", 0), writer.constant("int", max(array.size - 1, 0))
    whole, suffix = writer.whole, writer.suffix("i32")
    index = writer.call(f"llvm.smax.{suffix}", whole, [(whole, writer.operand(statement.index)), (whole, low)])
    index = writer.call(f"llvm.smin.{suffix}", whole, [(whole, index), (whole, high)])

    def one(lane: int, index: str) -> str:
        return writer.load(kind, _element(writer, arrays, array, index, lane), lanes=1)

    loaded = one(0, index) if writer.lanes == 1 else writer.per_lane(kind, one, ("int", index))
    writer.names[statement.result] = loaded


def store(writer: Writer, arrays: LocalArrays, statement: Store) -> None:
    """What is stored outside goes to a place of its own, which is never read: for local arrays behind them."""
    array, size = statement.array, writer.constant("int", statement.array.size)
    whole, flag, index = writer.whole, writer.flag, writer.operand(statement.index)
    inside = writer.both(writer.let(f"icmp ult {whole} {index}, {size}"), writer.mask)
    nowhere = writer.reserve(writer.stored_scalar(array.kind)) if array in arrays.outside else None
    if nowhere is None:
        index = writer.let(f"select {flag} {inside}, {whole} {index}, {whole} {size}")
    value = writer.operand(statement.value)
    for lane in range(writer.lanes):
        place = _element(writer, arrays, array, writer.lane("int", index, lane), lane)
        if nowhere is not None:
            place = writer.let(f"select i1 {writer.lane('bool', inside, lane)}, ptr {place}, ptr {nowhere}")
        writer.store(array.kind, writer.lane(array.kind, value, lane), place, lanes=1)


def _element(writer: Writer, arrays: LocalArrays, array: LocalArray, index: str, lane: int) -> str:
    """Address of a number of an array. What is stored into has lanes, which lie side by side."""
    if array in arrays.outside:
        return writer.element(writer.stored_scalar(array.kind), arrays.outside[array][lane], index)
    if writer.lanes > 1 and arrays.in_memory(array):
        index = writer.let(f"add i32 {writer.let(f'mul i32 {index}, {writer.lanes}')}, {lane}")
    return writer.element(writer.stored_scalar(array.kind), arrays.pointers[array], index)
