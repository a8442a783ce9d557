"""A scalar program as text of LLVM: one function per function, statements in order, blocks for control flow.

`@row` is the program: pointers to all inputs and to all outputs, of one row of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from softground.native.grouping import Group, grouped
from softground.native.mathematics import mathematics
from softground.native.operations import SIDE_BY_SIDE, compute
from softground.native.program import (
    Block,
    Buffer,
    Call,
    Compute,
    Function,
    If,
    Load,
    LocalArray,
    Operand,
    Program,
    Statement,
    Store,
    While,
)
from softground.native.writer import Writer

_LANES = {64: 4, 32: 8}  # of a vector: 256 bits, which LLVM splits where registers are shorter


def module_text(program: Program) -> str:
    """The whole program, with `@row` as the one function that is called from outside."""
    writer = Writer(program.precision)
    everything = chain.from_iterable(_all_statements(f.body) for f in (*program.functions, program.main))
    places = _Places(
        {statement.array for statement in everything if isinstance(statement, Store)},
        {function: f'"{function.name}.{k}"' for k, function in enumerate(program.functions)},
    )
    for function in program.functions:
        _callee(writer, places, function)
    _row(writer, places, program)
    return "\n".join([*places.constants, mathematics(writer), *writer.declarations.values(), *writer.lines, ""])


@dataclass
class _Places:
    """Where functions and local arrays are: arrays that nothing stores into are constants of the module, others lie on
    the stack."""

    changed: set[LocalArray]
    functions: dict[Function, str]
    constants: list[str] = field(default_factory=list)
    pointers: dict[LocalArray, str] = field(default_factory=dict)

    def place(self, writer: Writer, function: Function) -> None:
        """Give every array of a function its memory, as the function begins."""
        for array in dict.fromkeys(s.array for s in _all_statements(function.body) if isinstance(s, Load | Store)):
            stored = writer.stored_type(array.kind)
            if array.start is not None and array not in self.pointers:
                numbers = ", ".join(f"{stored} {_stored_constant(writer, array.kind, n)}" for n in array.start)
                name = f"@array{len(self.constants)}"
                self.constants.append(f"{name} = private unnamed_addr constant [{array.size} x {stored}] [{numbers}]")
                self.pointers[array] = name
            if array in self.changed or array.start is None:
                memory = writer.reserve(f"[{array.size + 1} x {stored}]")  # one more: see _store
                if array.start is not None:
                    writer.declarations["memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
                    size = array.size * {"i8": 1, "i32": 4, "float": 4, "double": 8}[stored]
                    copied = f"ptr {memory}, ptr {self.pointers[array]}, i64 {size}"
                    writer.line(f"call void @llvm.memcpy.p0.p0.i64({copied}, i1 false)")
                self.pointers[array] = memory


def _stored_constant(writer: Writer, kind, number) -> str:
    return str(int(bool(number))) if kind == "bool" else writer.constant(kind, number)


def _row(writer: Writer, places: _Places, program: Program) -> None:
    pointers = [
        *(f"ptr noalias readonly %in{k}" for k in range(len(program.inputs))),
        *(f"ptr noalias writeonly %out{k}" for k in range(len(program.outputs))),
    ]
    writer.open_function(f"internal void @row({', '.join(pointers)}) noinline nounwind")
    parameters = iter(program.main.parameters)
    for k, buffer in enumerate(program.inputs):
        for index in range(buffer.size):
            place = writer.element(buffer_type(writer, buffer), f"%in{k}", index)
            writer.names[next(parameters)] = writer.load(buffer.kind, place, buffer.bits)
    places.place(writer, program.main)
    _block(writer, places, program.main.body)
    results = iter(program.main.results)
    for k, buffer in enumerate(program.outputs):
        for index in range(buffer.size):
            place = writer.element(buffer_type(writer, buffer), f"%out{k}", index)
            writer.store(buffer.kind, writer.operand(next(results)), place, buffer.bits)
    writer.close_function()


def buffer_type(writer: Writer, buffer: Buffer) -> str:
    """Type of a number of a buffer in memory."""
    return f"i{buffer.bits}" if buffer.kind == "int" else writer.stored_type(buffer.kind)


def _callee(writer: Writer, places: _Places, function: Function) -> None:
    """A function of numbers, which puts its results where the last parameter points: they may be many."""
    parameters = [f"{writer.type(p.kind)} %a{k}" for k, p in enumerate(function.parameters)]
    parameters.append("ptr noalias writeonly %results")
    writer.open_function(f"internal void @{places.functions[function]}({', '.join(parameters)}) nounwind")
    writer.names.update((parameter, f"%a{k}") for k, parameter in enumerate(function.parameters))
    places.place(writer, function)
    _block(writer, places, function.body)
    struct = _struct(writer, function.results)
    for k, result in enumerate(function.results):
        place = writer.let(f"getelementptr {struct}, ptr %results, i32 0, i32 {k}")
        writer.store(result.kind, writer.operand(result), place)
    writer.close_function()


def _struct(writer: Writer, results: Sequence[Operand]) -> str:
    return "{" + ", ".join(writer.stored_type(result.kind) for result in results) + "}"


def _block(writer: Writer, places: _Places, block: Block) -> None:
    for item in grouped(block, _LANES[writer.precision], SIDE_BY_SIDE):
        match item:
            case Compute():
                writer.names[item.result] = compute(writer, item)
            case tuple():
                _group(writer, item)
            case Load():
                _load(writer, places, item)
            case Store():
                _store(writer, places, item)
            case If():
                _if(writer, places, item)
            case While():
                _while(writer, places, item)
            case Call():
                _call(writer, places, item)


def _group(writer: Writer, group: Group) -> None:
    """Several of one operation at once. Lanes left over repeat the first."""
    operation, scalar = group[0].operation, writer.float
    if len(group) == 1:
        writer.names[group[0].result] = compute(writer, group[0])
        return
    lanes = _LANES[writer.precision]
    vector_type = f"<{lanes} x {scalar}>"
    arguments = [writer.typed(statement.arguments[0]) for statement in group]
    vector = "poison"
    for lane, argument in enumerate([*arguments, *arguments[:1] * (lanes - len(arguments))]):
        vector = writer.let(f"insertelement {vector_type} {vector}, {argument}, i32 {lane}")
    vector = SIDE_BY_SIDE[operation](writer, vector, lanes)
    for lane, statement in enumerate(group):
        writer.names[statement.result] = writer.let(f"extractelement {vector_type} {vector}, i32 {lane}")


def _load(writer: Writer, places: _Places, statement: Load) -> None:
    array, index = statement.array, writer.operand(statement.index)
    index = writer.call("llvm.smax.i32", "i32", [("i32", index), ("i32", "0")])
    index = writer.call("llvm.smin.i32", "i32", [("i32", index), ("i32", str(max(array.size - 1, 0)))])
    place = writer.element(writer.stored_type(array.kind), places.pointers[array], index)
    writer.names[statement.result] = writer.load(array.kind, place)


def _store(writer: Writer, places: _Places, statement: Store) -> None:
    """What is stored outside goes to a place of its own behind the array, which is never read."""
    array, index = statement.array, writer.operand(statement.index)
    inside = writer.let(f"icmp ult i32 {index}, {array.size}")
    index = writer.let(f"select i1 {inside}, i32 {index}, i32 {array.size}")
    place = writer.element(writer.stored_type(array.kind), places.pointers[array], index)
    writer.store(array.kind, writer.operand(statement.value), place)


def _if(writer: Writer, places: _Places, statement: If) -> None:
    then, otherwise, end = writer.fresh_labels("then", "otherwise", "end")
    writer.line(f"br i1 {writer.operand(statement.flag)}, label %{then}, label %{otherwise}")
    arms = []
    for label, block, values in (
        (then, statement.then, statement.then_values),
        (otherwise, statement.otherwise, statement.otherwise_values),
    ):
        writer.begin(label)
        _block(writer, places, block)
        arms.append((writer.label, list(map(writer.operand, values))))
        writer.line(f"br label %{end}")
    writer.begin(end)
    for k, result in enumerate(statement.results):
        choices = ", ".join(f"[ {values[k]}, %{label} ]" for label, values in arms)
        writer.names[result] = writer.let(f"phi {writer.type(result.kind)} {choices}")


def _while(writer: Writer, places: _Places, statement: While) -> None:
    loop, body, end = writer.fresh_labels("loop", "body", "end")
    before, start = writer.label, list(map(writer.operand, statement.start))
    writer.line(f"br label %{loop}")
    writer.begin(loop)
    for variable in statement.variables:
        writer.names[variable] = writer.fresh()
    position = len(writer.lines)  # of the variables: where they come from is known after the body
    _block(writer, places, statement.condition)
    writer.line(f"br i1 {writer.operand(statement.flag)}, label %{body}, label %{end}")
    writer.begin(body)
    _block(writer, places, statement.body)
    writer.line(f"br label %{loop}")
    writer.lines[position:position] = [
        f"  {writer.names[variable]} = phi {writer.type(variable.kind)} "
        f"[ {first}, %{before} ], [ {writer.operand(following)}, %{writer.label} ]"
        for variable, first, following in zip(statement.variables, start, statement.next, strict=True)
    ]
    writer.begin(end)
    writer.names.update(
        (result, writer.names[variable])
        for result, variable in zip(statement.results, statement.variables, strict=True)
    )


def _call(writer: Writer, places: _Places, statement: Call) -> None:
    """The memory of the results is the call's own, so that they can stay there until they are used."""
    function = statement.function
    struct = _struct(writer, function.results)
    memory = writer.reserve(struct)
    arguments = [*map(writer.typed, statement.arguments), f"ptr {memory}"]
    writer.line(f"call void @{places.functions[function]}({', '.join(arguments)})")
    for k, result in enumerate(statement.results):
        place = writer.let(f"getelementptr {struct}, ptr {memory}, i32 0, i32 {k}")
        writer.names[result] = writer.load(result.kind, place)


def _all_statements(block: Block) -> Iterable[Statement]:
    for statement in block:
        yield statement
        if isinstance(statement, If):
            yield from _all_statements(statement.then)
            yield from _all_statements(statement.otherwise)
        elif isinstance(statement, While):
            yield from _all_statements(statement.condition)
            yield from _all_statements(statement.body)
