"""A scalar program as text of CUDA C++: a kernel that computes one row of a batch in each thread, or in a few.

Every function of the program is a function of the device that returns its results in a structure, blocks are blocks,
loops are loops. Nothing is included, so that NVRTC needs no headers.

A program with loops over arrays (`ForEach`) has a team of threads for each row. All do the same, with the same numbers
to the last bit, but each takes every so-manieth round of a loop; what such loops touch of an array lies with the thread
that takes that round, and sums are made by exchange.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from softground.native.cuda_operations import FOUR, PREAMBLE, expression, literal, places_text, team_text
from softground.native.cuda_writer import TYPES, Writer
from softground.native.errors import NotNative
from softground.native.local_arrays import local_arrays
from softground.native.places import with_places
from softground.native.program import (
    Block,
    Buffer,
    Call,
    Compute,
    Constant,
    ForEach,
    Function,
    If,
    Load,
    LocalArray,
    Operand,
    Program,
    Store,
    Value,
    While,
)
from softground.native.sharing_memory import with_shared_memory
from softground.native.traversal import walk

_KERNEL = "softground_kernel"
#: Threads of a team, where a program has loops to share.
TEAM = 8
#: A loop with no more statements than this is unrolled so many times, so that rounds wait for memory together.
SHORT, UNROLLED = 64, 4
#: Most threads of a block: those that a processor has registers for, if each takes as many as it can have. A batch has
#: as many blocks as there are processors, if it is not larger (gpu.py).
BLOCK = 256
#: Bytes of numbers that a thread may have in registers by this program, of 1 KiB: the compiler needs some as well.
_REGISTER_BYTES = 760


def kernel_name(team: int, memory: int) -> str:
    """Name of a kernel. team: threads for a row; memory: bytes for a row that the threads of a processor share."""
    return f"{_KERNEL}_{team}_{memory}"


def kernel_named_in(code: bytes) -> tuple[str, int, int]:
    """The name of the kernel in machine code, its threads for a row and its bytes."""
    found = re.search(rf"{_KERNEL}_(\d+)_(\d+)".encode(), code)
    if found is None:
        raise NotNative("a file of machine code for a GPU has no kernel")
    return found[0].decode(), int(found[1]), int(found[2])


def team_of(program: Program) -> int:
    """How many threads a row of the program has."""
    return TEAM if _loop_arrays(program) else 1


def kernel_text(program: Program, team: int | None = None, memory: int = 0) -> str:
    """The whole program. The kernel's parameters: pointers to all inputs and all outputs, and the number of rows.

    team: threads for a row, a power of two up to 32. memory: bytes that the threads of a block may share; teams have
    numbers there that do not fit into registers.
    """
    program = with_shared_memory(program)
    team = team_of(program) if team is None else team
    shared_out, places, size = frozenset(), None, program.precision // 8
    if team > 1:
        shared_out = _loop_arrays(program)
        room = memory * team // BLOCK // size - 1
        if room > 0:
            program, places = with_places(program, _REGISTER_BYTES // size, room)
    writer = Writer(program.precision, local_arrays(program), team, shared_out, places)
    for k, function in enumerate(program.functions):
        writer.functions[function] = f"f{k}"
        _callee(writer, function)
    _kernel(writer, program)
    real = "double" if program.precision == 64 else "float"
    head = [f"typedef {real} real;", FOUR, PREAMBLE[program.precision], team_text(team, program.precision)]
    head += [] if places is None else [places_text(program.precision)]
    return "\n".join([*head, *writer.tables, *writer.lines, ""])


def _loop_arrays(program: Program) -> frozenset[LocalArray]:
    """Arrays that loops load or store at their index."""
    everything = chain.from_iterable(walk(f.body) for f in (*program.functions, program.main))
    loops = (one for one in everything if isinstance(one, ForEach))
    touched = (s.array for loop in loops for s in loop.body if isinstance(s, Load | Store))
    return frozenset(touched) - frozenset(program.memory)


def _callee(writer: Writer, function: Function) -> None:
    """A function that is not inlined: its code is in the processor's memory of instructions once."""
    name = writer.functions[function]
    writer.open(f"struct {name}_results")
    for k, result in enumerate(function.results):
        writer.line(f"{TYPES[result.kind]} r{k};")
    writer.close()
    writer.lines[-1] += ";"
    parameters = ", ".join(f"const {TYPES[p.kind]} a{k}" for k, p in enumerate(function.parameters))
    writer.line(f"// {function.name}")
    writer.open(f"static __device__ __noinline__ {name}_results {name}({parameters})")
    writer.names.update((parameter, f"a{k}") for k, parameter in enumerate(function.parameters))
    _place_arrays(writer, function)
    _block(writer, function.body)
    writer.line(f"{name}_results r;")
    for k, result in enumerate(function.results):
        writer.line(f"r.r{k} = {writer.operand(result)};")
    writer.line("return r;")
    writer.close()


def _kernel(writer: Writer, program: Program) -> None:
    kinds = [_stored(buffer) for buffer in (*program.inputs, *program.outputs)]
    inputs = [f"const {kind}* __restrict__ in{k}" for k, kind in enumerate(kinds[: len(program.inputs)])]
    outputs = [f"{kind}* __restrict__ out{k}" for k, kind in enumerate(kinds[len(program.inputs) :])]
    parameters = ", ".join([*inputs, *outputs, "const long long rows"])
    name = kernel_name(writer.team, writer.stride * writer.precision // 8)
    writer.open(f'extern "C" __global__ void __launch_bounds__({BLOCK}, 1) {name}({parameters})')
    writer.line("const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;")
    writer.line(f"const long long team = thread / {writer.team};")
    writer.line("const long long row = team < rows ? team : rows - 1;  // all threads meet at barriers")
    if writer.places is not None:
        writer.line(f"real* const own = places + threadIdx.x / {writer.team} * {writer.stride};")
    writer.line(f"const bool first = team == row && thread % {writer.team} == 0;  // of its team, of no row again")
    values, memory = iter(program.main.parameters), iter(program.memory)
    for k, buffer in enumerate(program.outputs):
        if buffer.in_place:
            array = next(memory)
            name = writer.pointers[array] = writer.fresh("memory")
            writer.outside.add(array)
            writer.line(f"{_stored(buffer)}* const {name} = out{k} + row * {buffer.size};")
    for place, buffer in _places("in", program.inputs):
        value = next(values)
        writer.let(value, f"{place} != 0" if buffer.kind == "bool" else f"({TYPES[value.kind]}){place}")
    _place_arrays(writer, program.main)
    _block(writer, program.main.body, top=True)
    writer.line("if (!first) return;")
    results = iter(program.main.results)
    for place, _ in _places("out", program.outputs):
        writer.line(f"{place} = {writer.operand(next(results))};")
    writer.close()


def _places(stem: str, buffers: Sequence[Buffer]) -> Iterator[tuple[str, Buffer]]:
    """Every number of a row."""
    for k, buffer in enumerate(buffers):
        for index in range(0 if buffer.in_place else buffer.size):
            yield f"{stem}{k}[row * {buffer.size} + {index}]", buffer


def _stored(buffer: Buffer) -> str:
    """Type of a buffer's numbers in memory: a bool is a byte."""
    if buffer.kind == "bool":
        return "unsigned char"
    return "long long" if buffer.kind == "int" and buffer.bits == 64 else TYPES[buffer.kind]


def _place_arrays(writer: Writer, function: Function) -> None:
    """Give every array of a function its memory, as the function begins."""
    for array in dict.fromkeys(s.array for s in walk(function.body) if isinstance(s, Load | Store)):
        if array in writer.outside or array is writer.places:
            continue
        if writer.arrays.in_memory(array):
            name = writer.pointers[array] = writer.fresh("memory")
            own = array in writer.shared_out
            size = writer.rounds(array.size) if own else array.size
            writer.line(f"{TYPES[array.kind]} {name}[{size}];")
            if array.start is not None:
                there = f"k * {writer.team} + lane()" if own else "k"
                writer.line(f"for (int k = 0; k < {size}; k++) {name}[k] = {writer.table(array)}[{there}];")


def _block(writer: Writer, block: Block, top: bool = False) -> None:
    """Statements. top: whether every thread of a block of threads comes by."""
    for statement in block:
        match statement:
            case Compute(operation, arguments, result):
                names = [writer.operand(x) for x in arguments]
                writer.let(result, expression(operation, arguments[-1].kind, names, writer.precision))
            case Load(array, Constant(number=place), result) if array is writer.places:
                writer.let(result, f"taken<{place}>(own)")
            case Store(array, Constant(number=place), value) if array is writer.places:
                writer.line(f"put<{place}>(own, {writer.operand(value)});")
            case Load():
                writer.let(statement.result, _loaded(writer, statement))
            case Store():
                _store(writer, statement)
            case If():
                _if(writer, statement)
            case While():
                _while(writer, statement, together=top and turns_alike(statement))
            case ForEach():
                _for_each(writer, statement)
            case Call(function, arguments, results):
                name, memory = writer.functions[function], writer.fresh("r")
                passed = ", ".join(map(writer.operand, arguments))
                writer.line(f"const {name}_results {memory} = {name}({passed});")
                writer.names.update((result, f"{memory}.r{k}") for k, result in enumerate(results))


def _loaded(writer: Writer, statement: Load) -> str:
    """An element for all threads of a team; of an array that is shared out from the one that has it."""
    array, place = statement.array, _inside(writer, statement.index, statement.array.size)
    name, team = writer.pointer(array), writer.team
    if not _lies_apart(writer, array):
        return f"{name}[{place}]"
    return f"of_lane({name}[{place} / {team}], {place} % {team})"


def _store(writer: Writer, statement: Store) -> None:
    array, place = statement.array, writer.operand(statement.index)
    name, value, team = writer.pointers[array], writer.operand(statement.value), writer.team
    inside = f"(unsigned){place} < {array.size}u"
    if array in writer.outside:
        _store_outside(writer, f"if (first && {inside}) {name}[{place}] = {value};")
    elif not _lies_apart(writer, array):
        writer.line(f"if ({inside}) {name}[{place}] = {value};")
    else:
        writer.line(f"if ({inside} && {place} % {team} == lane()) {name}[{place} / {team}] = {value};")
        if writer.places is not None:  # none may put a number into a place from which another has yet to take one
            writer.line("__syncwarp(members());")


def _store_outside(writer: Writer, store: str) -> None:
    """By one thread of a team, between what the others read before and after it."""
    together = ["__syncwarp(members());"] if writer.team > 1 else []
    for line in (*together, store, *together):
        writer.line(line)


def _lies_apart(writer: Writer, array: LocalArray) -> bool:
    return array in writer.shared_out and writer.arrays.in_memory(array)


def _inside(writer: Writer, index: Operand, size: int) -> str:
    if isinstance(index, Value):
        return f"inside({writer.operand(index)}, {size})"
    return str(min(max(int(index.number), 0), size - 1))


def _if(writer: Writer, statement: If) -> None:
    results = [writer.variable(result) for result in statement.results]
    for head, block, values in (
        (f"if ({writer.operand(statement.flag)})", statement.then, statement.then_values),
        ("else", statement.otherwise, statement.otherwise_values),
    ):
        writer.open(head)
        _block(writer, block)
        for name, value in zip(results, values, strict=True):
            writer.line(f"{name} = {writer.operand(value)};")
        writer.close()


def _while(writer: Writer, statement: While, together: bool) -> None:
    """A loop. together: whether the threads of a block begin every turn at one time.

    A long body is read from memory as it runs: warps that run apart each wait for it, those that run together once.
    """
    starts = list(map(writer.operand, statement.start))
    names = [writer.variable(v, start) for v, start in zip(statement.variables, starts, strict=True)]
    writer.line("#pragma unroll 1")
    writer.open("while (true)")
    _block(writer, statement.condition)
    writer.line(f"if (!{writer.operand(statement.flag)}) break;")
    if together:
        writer.line("__syncthreads();")
    _block(writer, statement.body, together)
    following = []
    for variable, value in zip(statement.variables, statement.next, strict=True):
        following.append(writer.fresh("n"))  # all are computed before the first is replaced
        writer.line(f"const {TYPES[variable.kind]} {following[-1]} = {writer.operand(value)};")
    for name, new in zip(names, following, strict=True):
        writer.line(f"{name} = {new};")
    writer.close()
    writer.names.update(zip(statement.results, names, strict=True))


def _for_each(writer: Writer, statement: ForEach) -> None:
    """A thread's rounds, one after the other; a team joins what its threads have."""
    names = []
    for joint, result in zip(statement.joints, statement.results, strict=True):
        nothing = literal("float", {"add": 0.0, "max": -math.inf}[joint], writer.precision)
        names.append(writer.variable(result, nothing))
    team, count = writer.team, writer.rounds(statement.count)
    turn = writer.fresh("turn")
    writer.line(f"#pragma unroll {UNROLLED if len(statement.body) <= SHORT else 1}")
    writer.open(f"for (int {turn} = 0; {turn} < {count}; {turn}++)")
    index = writer.names[statement.index] = writer.fresh("k")
    writer.line(f"const int {index} = {turn} * {team} + lane();" if team > 1 else f"const int {index} = {turn};")
    together = _read_together(writer, statement, turn)
    for one in statement.body:
        match one:
            case Load() if one.result in together:
                pass
            case Load(array, _, result):
                writer.let(result, f"{writer.pointer(array)}[{turn if _lies_apart(writer, array) else index}]")
            case Store(array, _, value) if _lies_apart(writer, array) or team == 1:
                writer.line(f"{writer.pointers[array]}[{turn}] = {writer.operand(value)};")
            case _:
                _block(writer, [one])
    some = f"if ({index} < {statement.count}) " if statement.count % team else ""
    for joint, name, value in zip(statement.joints, names, statement.values, strict=True):
        writer.line(f"{some}{name} = {expression(joint, 'float', [name, writer.operand(value)], writer.precision)};")
    writer.close()
    if team > 1:
        for joint, name in zip(statement.joints, names, strict=True):
            writer.line(f"{name} = joined_{joint}({name});")


def _read_together(writer: Writer, loop: ForEach, turn: str) -> set[Value]:
    """Read what a round needs of tables at its start, so that it waits for memory once. Which values that gives."""
    loads = [s for s in loop.body if isinstance(s, Load) and not writer.arrays.in_memory(s.array)]
    loads = [s for s in loads if s.array.kind == "float" and s.index is loop.index]
    if writer.team == 1 or len(loads) < 2:
        return set()
    table, fours = writer.interleaved([s.array for s in loads])
    for k in range(fours):
        four = writer.fresh("four")
        writer.line(f"const Four {four} = {table}[({turn} * {fours} + {k}) * {writer.team} + lane()];")
        writer.names.update((s.result, f"{four}.{part}") for s, part in zip(loads[4 * k :], "abcd", strict=False))
    return {s.result for s in loads}


def turns_alike(loop: While) -> bool:
    """Whether a loop takes as many turns in every thread: going on depends on nothing but its own counters."""
    starts = dict(zip(loop.variables, loop.start, strict=True))
    following = dict(zip(loop.variables, loop.next, strict=True))
    made = {s.result: s.arguments for s in (*loop.condition, *loop.body) if isinstance(s, Compute)}
    pending, seen = [loop.flag], set()
    while pending:
        operand = pending.pop()
        if not isinstance(operand, Value) or operand in seen:
            continue
        seen.add(operand)
        if operand in starts:
            pending += [starts[operand], following[operand]]
        elif operand in made:
            pending += made[operand]
        else:
            return False  # an input, or what another statement made of one
    return True
