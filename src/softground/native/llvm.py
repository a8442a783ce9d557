"""A scalar program as text of LLVM: one function per function, statements in order, blocks for control flow.

`@row` is the program: pointers to all inputs and to all outputs, of one row of a batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from softground.native.grouping import Group, grouped
from softground.native.local_arrays import LocalArrays, load, local_arrays, store
from softground.native.mathematics import mathematics
from softground.native.operations import SIDE_BY_SIDE, compute
from softground.native.program import (
    Block,
    Buffer,
    Call,
    Compute,
    ForEach,
    Function,
    If,
    Load,
    Operand,
    Program,
    Store,
    Value,
    While,
)
from softground.native.rounds import for_each
from softground.native.sharing_memory import with_shared_memory
from softground.native.traversal import all_used
from softground.native.writer import LANES, Writer

Write = Callable[[str], None]
"""What puts a number, by its name, into its place in an output."""


def module_text(program: Program, lanes: int = 1) -> str:
    """The whole program, with `@row` as the one function that is called from outside, of one row of a batch or of as
    many as there are lanes."""
    program = with_shared_memory(program)
    writer = Writer(program.precision, lanes)
    names = {function: f'"{function.name}.{k}"' for k, function in enumerate(program.functions)}
    places = _Places(local_arrays(program), names)
    for function in program.functions:
        _callee(writer, places, function)
    _row(writer, places, program)
    return "\n".join([*places.arrays.constants, mathematics(writer), *writer.declarations.values(), *writer.lines, ""])


@dataclass(frozen=True)
class _Places:
    """Where the arrays and functions of a program are."""

    arrays: LocalArrays
    functions: dict[Function, str]
    writes: dict[Value, Write] = field(default_factory=dict)  # of outputs that are written where they are made
    written: set[Value] = field(default_factory=set)


def _row(writer: Writer, places: _Places, program: Program) -> None:
    """`@row(inputs, outputs, first, last)`: pointers to where the batch begins, the first of the rows to compute, and
    the end of the batch. Lanes beyond the end repeat the last row."""
    pointers = [
        *(f"ptr noalias readonly %in{k}" for k in range(len(program.inputs))),
        *(f"ptr noalias %out{k}" for k in range(len(program.outputs))),
    ]
    writer.open_function(f"internal void @row({', '.join([*pointers, 'i64 %first', 'i64 %last'])}) noinline nounwind")
    rows = [_row_of_lane(writer, lane) for lane in range(writer.lanes)]
    parameters, memory = iter(program.main.parameters), iter(program.memory)
    for k, buffer in enumerate(program.inputs):
        if buffer.in_place:
            continue
        starts = [_of_row(writer, buffer, f"%in{k}", row) for row in rows]
        for index in range(buffer.size):
            read = partial(_read, writer, buffer, starts, index)
            if writer.lanes == 1:
                writer.later[next(parameters)] = read
            else:
                writer.names[next(parameters)] = read()
    for k, buffer in enumerate(program.outputs):
        if buffer.in_place:
            places.arrays.outside[next(memory)] = [_of_row(writer, buffer, f"%out{k}", row) for row in rows]
    places.arrays.place(writer, program.main)
    results, writes = iter(program.main.results), []
    for k, buffer in enumerate(program.outputs):
        if buffer.in_place:
            continue
        starts = [_of_row(writer, buffer, f"%out{k}", row) for row in rows]
        writes += [(next(results), partial(_write, writer, buffer, starts, index)) for index in range(buffer.size)]
    if writer.lanes == 1:
        places.writes.update(_used_once(writes, program.main.results, program.main.body))
    _block(writer, places, program.main.body)
    for result, write in writes:
        if result not in places.written:
            write(writer.operand(result))
    writer.close_function()


def _used_once(writes: Sequence[tuple[Operand, Write]], results: Sequence[Operand], body: Block) -> dict[Value, Write]:
    """Those of the results of a block of which nothing else is made but what is written, and how that is.

    Where one is made by the arms of an If, each writes its own: what a step remembers of all that may touch the ground
    are thousands of numbers, and in the arm in which nothing touches it all are zero.
    """
    uses = Counter(operand for operand in results if isinstance(operand, Value))
    uses.update(operand for item in body for operand in all_used(item) if isinstance(operand, Value))
    return {x: write for x, write in writes if isinstance(x, Value) and uses[x] == 1}


def _row_of_lane(writer: Writer, lane: int) -> str:
    if lane == 0:
        return "%first"
    end = writer.let("sub i64 %last, 1")
    return writer.call("llvm.umin.i64", "i64", [("i64", writer.let(f"add i64 %first, {lane}")), ("i64", end)])


def _of_row(writer: Writer, buffer: Buffer, pointer: str, row: str) -> str:
    first = writer.let(f"mul i64 {row}, {buffer.size}")
    return writer.let(f"getelementptr {buffer_type(writer, buffer)}, ptr {pointer}, i64 {first}")


def _read(writer: Writer, buffer: Buffer, starts: Sequence[str], index: int) -> str:
    """A number of a buffer, of every lane's row."""
    places = [writer.element(buffer_type(writer, buffer), start, index) for start in starts]
    if writer.lanes == 1:
        return writer.load(buffer.kind, places[0], buffer.bits)
    return writer.per_lane(buffer.kind, lambda lane: writer.load(buffer.kind, places[lane], buffer.bits, lanes=1))


def _write(writer: Writer, buffer: Buffer, starts: Sequence[str], index: int, value: str) -> None:
    for lane, start in enumerate(starts):
        place = writer.element(buffer_type(writer, buffer), start, index)
        number = writer.lane(buffer.kind, value, lane)
        writer.store(buffer.kind, number, place, buffer.bits, lanes=1)


def buffer_type(writer: Writer, buffer: Buffer) -> str:
    """Type of a number of a buffer in memory."""
    return f"i{buffer.bits}" if buffer.kind == "int" else writer.stored_scalar(buffer.kind)


def _callee(writer: Writer, places: _Places, function: Function) -> None:
    """A function of numbers, which puts its results where the last parameter points: they may be many."""
    parameters = [f"{writer.type(p.kind)} %a{k}" for k, p in enumerate(function.parameters)]
    parameters += ["ptr noalias writeonly %results", f"{writer.flag} %mask"]
    writer.open_function(f"internal void @{places.functions[function]}({', '.join(parameters)}) nounwind")
    writer.names.update((parameter, f"%a{k}") for k, parameter in enumerate(function.parameters))
    places.arrays.place(writer, function)
    writer.mask = "%mask" if writer.lanes > 1 else None
    _block(writer, places, function.body)
    writer.mask = None
    struct = _struct(writer, function.results)
    for k, result in enumerate(function.results):
        place = writer.let(f"getelementptr {struct}, ptr %results, i32 0, i32 {k}")
        writer.store(result.kind, writer.operand(result), place)
    writer.close_function()


def _struct(writer: Writer, results: Sequence[Operand]) -> str:
    return "{" + ", ".join(writer.stored_type(result.kind) for result in results) + "}"


def _block(writer: Writer, places: _Places, block: Block) -> None:
    # With several rows side by side, every operation is one of vectors.
    for item in grouped(block, LANES[writer.precision], SIDE_BY_SIDE) if writer.lanes == 1 else block:
        match item:
            case Compute():
                writer.names[item.result] = compute(writer, item)
            case tuple():
                _group(writer, item)
            case Load():
                load(writer, places.arrays, item)
            case Store():
                store(writer, places.arrays, item)
            case If() if writer.lanes > 1:
                _if_of_lanes(writer, places, item)
            case If():
                _if(writer, places, item)
            case While():
                _while(writer, places, item)
            case ForEach():
                for_each(writer, places.arrays, item)
            case Call():
                _call(writer, places, item)


def _group(writer: Writer, group: Group) -> None:
    """Several of one operation at once. Lanes left over repeat the first."""
    operation, scalar = group[0].operation, writer.scalar("float")
    if len(group) == 1:
        writer.names[group[0].result] = compute(writer, group[0])
        return
    lanes = LANES[writer.precision]
    vector_type = f"<{lanes} x {scalar}>"
    arguments = [writer.typed(statement.arguments[0]) for statement in group]
    vector = "poison"
    for lane, argument in enumerate([*arguments, *arguments[:1] * (lanes - len(arguments))]):
        vector = writer.let(f"insertelement {vector_type} {vector}, {argument}, i32 {lane}")
    vector = SIDE_BY_SIDE[operation](writer, vector, lanes)
    for lane, statement in enumerate(group):
        writer.names[statement.result] = writer.let(f"extractelement {vector_type} {vector}, i32 {lane}")


def _if(writer: Writer, places: _Places, statement: If) -> None:
    then, otherwise, end = writer.fresh_labels("then", "otherwise", "end")
    writer.line(f"br i1 {writer.operand(statement.flag)}, label %{then}, label %{otherwise}")
    arms, writes = [], {k: places.writes[x] for k, x in enumerate(statement.results) if x in places.writes}
    for label, block, values in (
        (then, statement.then, statement.then_values),
        (otherwise, statement.otherwise, statement.otherwise_values),
    ):
        writer.begin(label)
        places.writes.update(_used_once([(values[k], write) for k, write in writes.items()], values, block))
        _block(writer, places, block)
        for k, write in writes.items():
            if values[k] not in places.written:
                write(writer.operand(values[k]))
        arms.append((writer.label, [None if k in writes else writer.operand(x) for k, x in enumerate(values)]))
        writer.line(f"br label %{end}")
    writer.begin(end)
    places.written.update(statement.results[k] for k in writes)
    for k, result in enumerate(statement.results):
        if k in writes:
            continue
        choices = ", ".join(f"[ {values[k]}, %{label} ]" for label, values in arms)
        writer.names[result] = writer.let(f"phi {writer.type(result.kind)} {choices}")


def _if_of_lanes(writer: Writer, places: _Places, statement: If) -> None:
    """Each arm that a lane takes, one after the other; then every lane has its own results."""
    flag, outside = writer.operand(statement.flag), writer.mask
    opposite = writer.let(f"xor {writer.flag} {flag}, {writer.constant('bool', True)}")
    arms = []
    for block, values, taken in (
        (statement.then, statement.then_values, flag),
        (statement.otherwise, statement.otherwise_values, opposite),
    ):
        arm, end = writer.fresh_labels("arm", "end")
        writer.mask = writer.both(taken, outside)
        wanted, before = writer.any(writer.mask), writer.label
        writer.line(f"br i1 {wanted}, label %{arm}, label %{end}")
        writer.begin(arm)
        _block(writer, places, block)
        made, after = [(writer.type(value.kind), writer.operand(value)) for value in values], writer.label
        writer.line(f"br label %{end}")
        writer.begin(end)
        arms.append(
            [writer.let(f"phi {type} [ {name}, %{after} ], [ zeroinitializer, %{before} ]") for type, name in made]
        )
    writer.mask = outside
    for result, then, otherwise in zip(statement.results, *arms, strict=True):
        kind = writer.type(result.kind)
        writer.names[result] = writer.let(f"select {writer.flag} {flag}, {kind} {then}, {kind} {otherwise}")


def _while(writer: Writer, places: _Places, statement: While) -> None:
    """With several lanes as long as one of them goes on; those that do not keep what they have."""
    loop, body, end = writer.fresh_labels("loop", "body", "end")
    before, start, outside = writer.label, list(map(writer.operand, statement.start)), writer.mask
    writer.line(f"br label %{loop}")
    writer.begin(loop)
    for variable in statement.variables:
        writer.names[variable] = writer.fresh()
    position = len(writer.lines)  # of the variables: where they come from is known after the body
    if writer.lanes > 1:
        writer.mask = writer.fresh()
    still = writer.mask
    _block(writer, places, statement.condition)
    going = writer.both(writer.operand(statement.flag), still)
    writer.line(f"br i1 {going if writer.lanes == 1 else writer.any(going)}, label %{body}, label %{end}")
    writer.begin(body)
    writer.mask = going if writer.lanes > 1 else None
    _block(writer, places, statement.body)
    following = list(map(writer.operand, statement.next))
    if writer.lanes > 1:
        following = [
            writer.let(
                f"select {writer.flag} {going}, {writer.type(v.kind)} {new}, {writer.type(v.kind)} {writer.names[v]}"
            )
            for v, new in zip(statement.variables, following, strict=True)
        ]
    after = writer.label
    writer.line(f"br label %{loop}")
    changing = [
        (writer.names[v], writer.type(v.kind), first, new)
        for v, first, new in zip(statement.variables, start, following, strict=True)
    ]
    if still is not None:
        changing.append((still, writer.flag, outside or writer.constant("bool", True), going))
    writer.lines[position:position] = [
        f"  {name} = phi {type} [ {first}, %{before} ], [ {new}, %{after} ]" for name, type, first, new in changing
    ]
    writer.begin(end)
    writer.mask = outside
    writer.names.update(
        (result, writer.names[variable])
        for result, variable in zip(statement.results, statement.variables, strict=True)
    )


def _call(writer: Writer, places: _Places, statement: Call) -> None:
    """The memory of the results is the call's own, so that they can stay there until they are used."""
    function = statement.function
    struct = _struct(writer, function.results)
    memory = writer.reserve(struct)
    mask = f"{writer.flag} {writer.mask or writer.constant('bool', True)}"
    arguments = [*map(writer.typed, statement.arguments), f"ptr {memory}", mask]
    writer.line(f"call void @{places.functions[function]}({', '.join(arguments)})")
    for k, result in enumerate(statement.results):
        place = writer.let(f"getelementptr {struct}, ptr {memory}, i32 0, i32 {k}")
        writer.names[result] = writer.load(result.kind, place)
