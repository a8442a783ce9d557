"""Loops over an array as lines of LLVM: several rounds at once, in the lanes of a vector.

One row of a batch at a time, lanes are rounds. With several rows side by side, lanes are rows, and rounds come one
after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from softground.native.local_arrays import LocalArrays
from softground.native.operations import OPERATIONS, compute
from softground.native.program import Compute, ForEach, Load, LocalArray, Store, Value
from softground.native.traversal import all_used, made
from softground.native.writer import Writer

#: Rounds in the lanes of a vector: 512 bits. Where registers are shorter LLVM makes two of it, which hide each other's
#: waiting.
ROUNDS = {64: 8, 32: 16}
#: What a round that is none gives to a sum or to the greatest.
_NOTHING = {"add": 0.0, "max": float("-inf")}


def for_each(writer: Writer, arrays: LocalArrays, statement: ForEach) -> None:
    """The whole loop, and its results."""
    if writer.lanes > 1:
        rounds = _Rounds(writer, arrays, statement, writer.lanes)
        totals = rounds.loop(1, statement.count)
        writer.names.update(zip(statement.results, totals, strict=True))
        return
    width = ROUNDS[writer.precision]
    left = statement.count % width
    full = statement.count - left
    totals, lanes = [], width
    if full:
        with _spread(writer, statement, width):
            totals = _Rounds(writer, arrays, statement, 1).loop(width, full)
    if left:
        last, lanes = _last(writer, arrays, statement, full, left)
        totals = _together(writer, statement, totals, width, last, lanes) if full else last
    totals = _over_lanes(writer, statement, totals, width if full else lanes)
    writer.names.update(zip(statement.results, totals, strict=True))


def _last(writer: Writer, arrays: LocalArrays, statement: ForEach, first: int, count: int) -> tuple[list[str], int]:
    """The rounds that do not fill a vector, in one that is no longer than they need: what they give, and its lanes."""
    width = ROUNDS[writer.precision]
    while width > 2 and count <= width // 2:
        width //= 2
    inside = ", ".join(f"i1 {str(lane < count).lower()}" for lane in range(width))
    with _spread(writer, statement, width):
        values = _Rounds(writer, arrays, statement, 1).at(str(first))
        for k, (joint, value) in enumerate(zip(statement.joints, values, strict=True)):
            none = writer.constant("float", _NOTHING[joint])
            flags = f"<{width} x i1> <{inside}>"
            values[k] = writer.let(f"select {flags}, {writer.float} {value}, {writer.float} {none}")
    return values, width


def _together(
    writer: Writer, statement: ForEach, totals: list[str], width: int, last: list[str], lanes: int
) -> list[str]:
    """What whole vectors gave and what the last, shorter one gave, joined lane by lane."""
    scalar, found = writer.scalar("float"), []
    short, order = f"<{lanes} x {scalar}>", [f"i32 {min(lane, lanes)}" for lane in range(width)]
    for joint, total, value in zip(statement.joints, totals, last, strict=True):
        none = writer.constant("float", _NOTHING[joint])  # of one lane
        rest = writer.let(f"insertelement {short} poison, {scalar} {none}, i32 0")
        longer = writer.let(f"shufflevector {short} {value}, {short} {rest}, <{width} x i32> <{', '.join(order)}>")
        writer.lanes = width
        found.append(OPERATIONS[joint, "float"](writer, total, longer))
        writer.lanes = 1
    return found


@contextmanager
def _spread(writer: Writer, statement: ForEach, width: int) -> Iterator[None]:
    """Numbers become vectors of so many rounds; those from outside are the same in all lanes."""
    inside = {x for one in statement.body for x in made(one)} | {statement.index}
    outside = dict.fromkeys(x for x in all_used(statement) if isinstance(x, Value) and x not in inside)
    before = {value: writer.names.get(value) for value in outside}
    for value in outside:
        scalar, name = writer.scalar(value.kind), writer.operand(value)
        one = writer.let(f"insertelement <{width} x {scalar}> poison, {scalar} {name}, i32 0")
        writer.names[value] = writer.let(
            f"shufflevector <{width} x {scalar}> {one}, <{width} x {scalar}> poison, <{width} x i32> zeroinitializer"
        )
    writer.lanes = width
    yield
    writer.lanes = 1
    for value, name in before.items():
        if name is None:  # an input, which is read again where it is used
            del writer.names[value]
        else:
            writer.names[value] = name


@dataclass(frozen=True)
class _Rounds:
    """What is written of a loop: `rows` lanes are rows of a batch, or there is one row and lanes are rounds."""

    writer: Writer
    arrays: LocalArrays
    statement: ForEach
    rows: int

    def loop(self, step: int, end: int) -> list[str]:
        """Rounds from 0 up to `end`, `step` at once, and what they give joined."""
        writer, joints = self.writer, self.statement.joints
        nothing = [writer.constant("float", _NOTHING[joint]) for joint in joints]
        if end == 0:
            return nothing
        loop, done = writer.fresh_labels("rounds", "done")
        before, index, names = writer.label, writer.fresh(), [writer.fresh() for _ in joints]
        writer.line(f"br label %{loop}")
        writer.begin(loop)
        position = len(writer.lines)  # of what changes from round to round
        values = self.at(index)
        totals = [
            OPERATIONS[joint, "float"](writer, name, value)
            for joint, name, value in zip(joints, names, values, strict=True)
        ]
        following = writer.let(f"add nuw nsw i32 {index}, {step}")
        again = writer.let(f"icmp ult i32 {following}, {end}")
        writer.line(f"br i1 {again}, label %{loop}, label %{done}")
        changing = [(index, "i32", "0", following)]
        changing += [(name, writer.float, *pair) for name, *pair in zip(names, nothing, totals, strict=True)]
        writer.lines[position:position] = [
            f"  {name} = phi {type} [ {first}, %{before} ], [ {new}, %{loop} ]" for name, type, first, new in changing
        ]
        writer.begin(done)
        return totals

    def at(self, index: str) -> list[str]:
        """The body at an index, or at those from there on; what it gives."""
        writer = self.writer
        for one in self.statement.body:
            match one:
                case Compute():
                    writer.names[one.result] = compute(writer, one)
                case Load(array=array, result=result):
                    writer.names[result] = _load(writer, self.arrays, array, index, self.rows)
                case Store(array=array, value=value):
                    _store(writer, self.arrays, array, index, self.rows, writer.operand(value))
                case _:
                    raise AssertionError(f"not a statement of a loop over an array: {one}")
        return [writer.operand(value) for value in self.statement.values]


def _load(writer: Writer, arrays: LocalArrays, array: LocalArray, index: str, rows: int) -> str:
    if rows == 1 or arrays.in_memory(array):
        return writer.load(array.kind, _place(writer, arrays, array, index, rows))
    one = writer.load(array.kind, _place(writer, arrays, array, index, 1), lanes=1)
    return writer.per_lane(array.kind, lambda lane: one)


def _store(writer: Writer, arrays: LocalArrays, array: LocalArray, index: str, rows: int, value: str) -> None:
    place = _place(writer, arrays, array, index, rows)
    if writer.mask is not None:
        old, kind = writer.load(array.kind, place), writer.type(array.kind)
        value = writer.let(f"select {writer.flag} {writer.mask}, {kind} {value}, {kind} {old}")
    writer.store(array.kind, value, place)


def _place(writer: Writer, arrays: LocalArrays, array: LocalArray, index: str, rows: int) -> str:
    """Address of the number at an index; in memory the numbers of all rows lie side by side."""
    if rows > 1:
        index = writer.let(f"mul i32 {index}, {rows}")
    return writer.element(writer.stored_scalar(array.kind), arrays.pointers[array], index)


def _over_lanes(writer: Writer, statement: ForEach, totals: list[str], width: int) -> list[str]:
    return [_joined(writer, joint, total, width) for joint, total in zip(statement.joints, totals, strict=True)]


def _joined(writer: Writer, joint: str, total: str, width: int) -> str:
    """The lanes of a vector joined: halves, then halves of them."""
    scalar = writer.scalar("float")
    while width > 1:
        vector, half = f"<{width} x {scalar}>", width // 2
        parts = []
        for first in (0, half):
            if half == 1:
                parts.append(writer.let(f"extractelement {vector} {total}, i32 {first}"))
                continue
            lanes = ", ".join(f"i32 {first + k}" for k in range(half))
            parts.append(writer.let(f"shufflevector {vector} {total}, {vector} poison, <{half} x i32> <{lanes}>"))
        writer.lanes = width = half
        total = OPERATIONS[joint, "float"](writer, *parts)
    writer.lanes = 1
    return total
