"""A scalar program as text of CUDA C++ in which several warps work on the same 32 rows, each on a part of the program.

For programs with more numbers than a thread has registers. Warp k of a block runs a function of its own; thread l of
every warp has row l. All warps go through the same loops and arms, with the same flags, as one: an arm is run if a row
takes it, a loop as long as one row goes on, and rows that do not take part keep what they had. Straight pieces between
are shared out in phases (`phases.py`).

Numbers that several warps need, variables of loops and results of arms lie in *slots* of the memory of the block, a
number of each row side by side. A slot is used again when the phase is over in which its number was last needed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from softground.native.cuda import _TYPES, KERNEL, _callee, _places, _stored, _Writer
from softground.native.cuda_operations import PREAMBLE, expression, literal
from softground.native.errors import NotNative
from softground.native.inlining import with_calls_inlined
from softground.native.local_arrays import local_arrays
from softground.native.phases import Join, Phase, Step, phases, used
from softground.native.program import (
    Block,
    Call,
    Compute,
    ForEach,
    If,
    Load,
    LocalArray,
    Operand,
    Program,
    Statement,
    Store,
    Value,
    While,
)
from softground.native.sharing_memory import with_shared_memory
from softground.native.traversal import made, walk

#: Warps of a block.
WARPS = 8
#: How often loops over arrays are unrolled: each warp has its own code for each.
UNROLLED = 1
#: Functions of fewer statements stand wherever they are called: only what stands there can be shared out.
_INLINED = 1500
#: Phases for which a number may wait in its slot: the first of these with which all find room.
_GAPS = (1000, 32, 16, 8, 4, 2, 1)
_GREATEST_MEMORY = 227 * 1024  # bytes that a block can have on compute capability 9.0; 99 and 163 KiB on 8.x

_MEETING = """
extern __shared__ real slots[];
#ifdef __CUDACC__
static __device__ inline void meet() { asm volatile("bar.sync 0;" ::: "memory"); }
static __device__ inline bool any_row(bool a) { return __any_sync(0xffffffffu, a); }
#endif
static __device__ inline int lane() { return threadIdx.x % 32; }
static __device__ inline void put(int k, float a) { slots[k * 32 + lane()] = a; }
static __device__ inline void put(int k, double a) { slots[k * 32 + lane()] = a; }
static __device__ inline void put(int k, bool a) { slots[k * 32 + lane()] = a; }
static __device__ inline real float_at(int k) { return slots[k * 32 + lane()]; }
static __device__ inline bool bool_at(int k) { return slots[k * 32 + lane()] != 0; }
"""
_INTS = {
    32: """static __device__ inline void put(int k, int a) { ((int*)slots)[k * 32 + lane()] = a; }
static __device__ inline int int_at(int k) { return ((int*)slots)[k * 32 + lane()]; }
""",
    64: """static __device__ inline void put(int k, int a) { slots[k * 32 + lane()] = a; }
static __device__ inline int int_at(int k) { return (int)slots[k * 32 + lane()]; }
""",
}


#: How such a kernel is called: warps of a block, bytes that it shares.
WARPS_NAME = rf"{KERNEL}_by_(\d+)_warps_with_(\d+)_bytes"


def warps_text(program: Program, warps: int = WARPS) -> str:
    """The whole program; NotNative where this is no way to compute it."""
    return _Text(program, warps).text()


# -- what happens, in order -----------------------------------------------------------------------------------


@dataclass
class _Give:
    """Numbers go to slots: (which, what, by which warp)."""

    number: int
    numbers: list[tuple[Value, Operand, int]]
    first: list[tuple[Value, int]]  # what must be read before the first is written: (what, by which warp)


@dataclass
class _Loop:
    statement: While
    start: _Give
    condition: list
    body: list
    next: _Give
    begin: int
    end: int


@dataclass
class _Arms:
    statement: If
    then: list
    then_values: _Give
    otherwise: list
    otherwise_values: _Give


class _Plan:
    """Phases of the whole program, who makes each value and in which phase, and who needs it when."""

    def __init__(self, program: Program, warps: int):
        self.warps = warps
        self.owner: dict[Value, int] = {}
        self.given: set[Value] = set()  # variables and results, which lie in slots
        self.partials: set[Value] = set()
        self.made_in: dict[Value, int] = {}
        self.needed: dict[Value, set[tuple[int, int]]] = defaultdict(set)  # (warp, phase)
        self.until: dict[Value, int] = {}
        self.flags: set[Value] = set()
        self.piece_of: dict[int, int] = {}  # a number of the straight piece that a phase belongs to
        self._numbers, self._turn, self.loops = count(1), count(), []
        self._now = 0
        main = program.main
        self._uses = Counter(x for x in _all_operands(main.body) if isinstance(x, Value))
        self._uses.update(x for x in main.results if isinstance(x, Value))
        self.inputs = set(main.parameters)
        self.items = self._block(main.body)
        self.results = self._give(list(main.results), list(main.results), to_slots=False)

    def _next(self) -> int:
        self._now = next(self._numbers)
        return self._now

    def _block(self, block: Block) -> list:
        items: list = []
        piece: list[Statement] = []
        for statement in block:
            if not isinstance(statement, If | While):
                piece.append(statement)
                continue
            items += self._piece(piece)
            piece = []
            items.append(self._loop(statement) if isinstance(statement, While) else self._arms(statement))
        return items + self._piece(piece)

    def _piece(self, piece: list[Statement]) -> list[Phase]:
        if not piece:
            return []
        here = Counter(x for x in _all_operands(piece) if isinstance(x, Value))
        values = {value for statement in piece for value in made(statement)}
        ends = {value for value in values if self._uses[value] > here[value]}
        found = [Phase([], [[] for _ in range(self.warps)]), *phases(piece, ends, self.warps, self.owner)]
        first = self._now + 1
        for phase in found:
            phase.number = self._next()
            self.piece_of[phase.number] = first
            for loop in phase.together:
                for value in loop.results:
                    self.partials.add(value)
                    self.made_in[value] = phase.number
                for x in _captured(loop):
                    self._need(x, range(self.warps), phase.number)
            for warp, steps in enumerate(phase.of_warp):
                for step in steps:
                    for x in used(step):
                        self._need(x, [warp], phase.number)
                    for value in (step.result,) if isinstance(step, Join) else made(step):
                        self.made_in[value] = phase.number
        return found

    def _need(self, x: Operand, warps, number: int) -> None:
        if isinstance(x, Value) and x not in self.inputs:
            self.needed[x].update((warp, number) for warp in warps)

    def _give(self, values: Sequence, sources: Sequence[Operand], to_slots: bool = True) -> _Give:
        number, numbers, first = self._next(), [], []
        values_of = set(values) if to_slots else set()
        for value, source in zip(values, sources, strict=True):
            warp = self.owner.get(source) if isinstance(source, Value) else None  # type: ignore[arg-type]
            warp = next(self._turn) % self.warps if warp is None else warp
            numbers.append((value, source, warp))
            self._need(source, [warp], number)
            if source in values_of and source is not value:
                first.append((source, warp))
        if to_slots:
            self.given.update(values)
            for value in values:
                self.made_in.setdefault(value, number)
                self.until[value] = max(number, self.until.get(value, 0))
        if first:
            number = self._next()  # what is read first is read in a phase of its own
            for value in values_of:
                self.until[value] = number
        return _Give(number, numbers, first)

    def _flag(self, flag: Operand, *numbers: int) -> None:
        if isinstance(flag, Value):
            self.flags.add(flag)
        for number in numbers:
            self._need(flag, range(-1, self.warps), number)

    def after(self, begin: int, end: int) -> int:
        """Until when what is written in one phase and read in another must stay: in a loop to its last turn."""
        for first, last in self.loops:  # inner ones come first
            if begin < first <= end <= last:
                end = last + 1
        return end

    def _loop(self, loop: While) -> _Loop:
        start = self._give(loop.variables, loop.start)
        begin = self._now + 1
        condition = self._block(loop.condition)
        before_body = self._now + 1
        body = self._block(loop.body)
        after = self._give(loop.variables, loop.next)
        end = self._now
        self._flag(loop.flag, before_body, end + 1)
        self.loops.append((begin, end))
        for value in loop.variables:
            self.until[value] = max(self.until[value], end + 1)
        return _Loop(loop, start, condition, body, after, begin, end)

    def _arms(self, arms: If) -> _Arms:
        before = self._now + 1
        then = self._block(arms.then)
        then_values = self._give(arms.results, arms.then_values)
        otherwise = self._block(arms.otherwise)
        otherwise_values = self._give(arms.results, arms.otherwise_values)
        self._flag(arms.flag, before, self._now + 1)
        return _Arms(arms, then, then_values, otherwise, otherwise_values)


def _all_operands(block: Block) -> Iterator[Operand]:
    for statement in block:
        yield from used(statement)


def _captured(loop: ForEach) -> list[Value]:
    """What a loop over arrays uses of what stands around it."""
    inside = {value for one in walk(loop.body) for value in made(one)} | {loop.index}
    everything = (x for x in used(loop) if isinstance(x, Value))
    return list(dict.fromkeys(x for x in everything if x not in inside))


# -- slots ----------------------------------------------------------------------------------------------------


class _Slots:
    """Where numbers lie that several warps need: (from phase, to phase, slot) of each, in order.

    What is not needed for more than `gap` phases gives its slot away, and its maker puts it somewhere again in the
    phase before it is needed next (`again`: what each warp puts in such a phase).
    """

    def __init__(self, plan: _Plan, aliases: dict[Value, Value], gap: int):
        self.of: dict[Value, list[tuple[int, int, int]]] = {}
        self.again: dict[tuple[int, int], list[Value]] = defaultdict(list)
        places = _Places()
        spans = []
        for value, needs in plan.needed.items():
            if value in plan.given or value in aliases:
                continue
            owner = plan.owner.get(value)
            numbers = sorted({number for warp, number in needs if warp != owner})
            if not numbers:
                continue
            pieces = [(plan.made_in[value], numbers[:1])]
            for number in numbers[1:]:
                begin, together = pieces[-1]
                far = number - together[-1] > gap and owner is not None and value not in plan.flags
                other = len(pieces) > 1 and plan.piece_of.get(number) != plan.piece_of.get(begin)
                if (far or other) and number in plan.piece_of:
                    pieces.append((number - 1, [number]))
                    self.again[number - 1, owner].append(value)  # type: ignore[index]
                else:
                    together.append(number)
            spans += [(begin, together[-1], value) for begin, together in pieces]
        for value in plan.given:
            needs = [number for _, number in plan.needed.get(value, ())]
            spans.append((plan.made_in[value], max(plan.until[value], *needs, 0), value))
        last = [(begin, plan.after(begin, end), value) for begin, end, value in spans]
        for begin, end, value in sorted(last, key=lambda one: one[:2]):
            place = places.take(begin, end, plan.warps if value in plan.partials else 1)
            self.of.setdefault(value, []).append((begin, end, place))
        self.count = places.count

    def read(self, value: Value, number: int) -> int:
        """Where a value is in a phase after the one in which it got there."""
        return next(place for begin, end, place in self.of[value] if begin < number <= end)

    def written(self, value: Value, number: int) -> int | None:
        """Where a value goes in this phase, if it does."""
        return next((place for begin, _, place in self.of.get(value, ()) if begin == number), None)


class _Places:
    """Slots as they are taken and become free; of several at once those that were taken together before."""

    def __init__(self) -> None:
        self.count = 0
        self._free: dict[int, list[int]] = defaultdict(list)  # by how many
        self._taken: list[tuple[int, int, int]] = []

    def take(self, begin: int, end: int, width: int) -> int:
        while self._taken and self._taken[0][0] < begin:
            _, place, of_width = heappop(self._taken)
            self._free[of_width].append(place)
        free = self._free[width]
        if free:
            place = free.pop()
        else:
            place, self.count = self.count, self.count + width
        heappush(self._taken, (end, place, width))
        return place


# -- text -----------------------------------------------------------------------------------------------------


class _Text:
    """Functions of all warps, and the kernel that each begins in."""

    def __init__(self, program: Program, warps: int):
        if program.memory:
            raise NotNative("arrays that are changed in place have no warps of their own")
        self.program = with_shared_memory(with_calls_inlined(program, _INLINED))
        self.warps = warps
        self._check()
        self.plan = _Plan(self.program, warps)
        self.aliases: dict[Value, Value] = {}
        self._alias(self.plan.items)
        for result, variable in self.aliases.items():
            for need in self.plan.needed.get(result, ()):
                self.plan.needed[variable].add(need)
        for gap in _GAPS:
            self.slots = _Slots(self.plan, self.aliases, gap)
            if self.bytes() <= _GREATEST_MEMORY:
                break
        self.writer = _Writer(self.program.precision, local_arrays(self.program), warps, frozenset())

    def _check(self) -> None:
        """Whatever is stored into is the business of loops, in which each round has its own."""
        arrays = local_arrays(self.program)
        loops = [one for one in walk(self.program.main.body) if isinstance(one, ForEach)]
        inside = {id(one) for loop in loops for one in loop.body}
        for function in (self.program.main, *self.program.functions):
            for one in walk(function.body):
                if not isinstance(one, Load | Store) or id(one) in inside:
                    continue
                if arrays.in_memory(one.array) or function is not self.program.main:
                    raise NotNative("memory that is indexed by a value has no warps of its own")

    def _alias(self, items: list) -> None:
        """The results of a loop are its variables."""
        for item in items:
            if isinstance(item, _Loop):
                self.aliases.update(zip(item.statement.results, item.statement.variables, strict=True))
                self._alias(item.condition)
                self._alias(item.body)
            elif isinstance(item, _Arms):
                self._alias(item.then)
                self._alias(item.otherwise)

    def bytes(self) -> int:
        return self.slots.count * 32 * self.program.precision // 8

    def name(self) -> str:
        return f"{KERNEL}_by_{self.warps}_warps_with_{self.bytes()}_bytes"

    def text(self) -> str:
        if self.bytes() > _GREATEST_MEMORY:
            raise NotNative(f"{self.slots.count} numbers for several warps do not fit into the memory of a block")
        writer, program = self.writer, self.program
        for k, function in enumerate(program.functions):
            writer.functions[function] = f"f{k}"
            _callee(writer, function)
        kinds = [_stored(buffer) for buffer in (*program.inputs, *program.outputs)]
        inputs = [f"const {kind}* __restrict__ in{k}" for k, kind in enumerate(kinds[: len(program.inputs)])]
        outputs = [f"{kind}* __restrict__ out{k}" for k, kind in enumerate(kinds[len(program.inputs) :])]
        buffers = ", ".join([*inputs, *outputs])
        names = ", ".join(one.split()[-1] for one in (*inputs, *outputs))
        for warp in range(self.warps):
            head = f"static __device__ __noinline__ void warp{warp}({buffers}, const long long row, const bool mine)"
            writer.open(head)
            _Warp(self, warp).write()
            writer.close()
        threads = 32 * self.warps
        writer.open(
            f'extern "C" __global__ void __launch_bounds__({threads}, 1) {self.name()}({buffers}, const long long rows)'
        )
        writer.line("const long long there = (long long)blockIdx.x * 32 + lane();")
        writer.line("const long long row = there < rows ? there : rows - 1;")
        writer.open("switch (threadIdx.x / 32)")
        for warp in range(self.warps):
            writer.line(f"case {warp}: warp{warp}({names}, row, there < rows); break;")
        writer.close()
        writer.close()
        real = "double" if program.precision == 64 else "float"
        head = [f"typedef {real} real;", PREAMBLE[program.precision], _MEETING, _INTS[program.precision]]
        return "\n".join([*head, *writer.tables, *writer.lines, ""])


class _Warp:
    """The part of one warp."""

    def __init__(self, whole: _Text, warp: int):
        self.whole, self.plan, self.writer, self.warp = whole, whole.plan, whole.writer, warp
        self.now = 0  # number of the phase
        self.own: dict[Value, str] = {}
        self.here: dict[Value, str] = {}  # what was read in this phase
        places = _places("in", whole.program.inputs)
        self.inputs = {
            value: f"({place} != 0)" if buffer.kind == "bool" else f"(({_TYPES[value.kind]}){place})"
            for (place, buffer), value in zip(places, whole.program.main.parameters, strict=True)
        }

    def write(self) -> None:
        arrays = dict.fromkeys(s.array for s in walk(self.whole.program.main.body) if isinstance(s, Load | Store))
        for array in arrays:
            self._place(array)
        self._items(self.plan.items, None)
        places = [place for place, _ in _places("out", self.whole.program.outputs)]
        self.here = {}
        for place, (_, source, warp) in zip(places, self.plan.results.numbers, strict=True):
            if warp == self.warp:
                text = self._operand(source)
                self.writer.line(f"if (mine) {place} = {text};")

    def _place(self, array: LocalArray) -> None:
        writer = self.writer
        if writer.arrays.in_memory(array):
            name = writer.pointers[array] = writer.fresh("memory")
            writer.line(f"{_TYPES[array.kind]} {name}[{writer.rounds(array.size)}];")
        elif array not in writer.pointers:
            writer.pointers[array] = writer.table(array)

    def _items(self, items: list, mask: str | None) -> None:
        for item in items:
            match item:
                case Phase():
                    self._phase(item, mask)
                case _Loop():
                    self._loop(item, mask)
                case _Arms():
                    self._arms(item, mask)

    def _meet(self) -> None:
        self.writer.line("meet();")
        self.here = {}

    # Numbers

    def _operand(self, x: Operand) -> str:
        if not isinstance(x, Value):
            return literal(x.kind, x.number, self.whole.program.precision)
        if x in self.own:
            return self.own[x]
        if x not in self.here:
            text = self.inputs.get(x)
            if text is None:
                value = self.whole.aliases.get(x, x)
                slots = self.whole.slots
                slot = slots.of[value][0][2] if value in self.plan.given else slots.read(value, self.now)
                text = f"{value.kind}_at({slot})"
            name = self.here[x] = self.writer.fresh("s")
            self.writer.line(f"const {_TYPES[x.kind]} {name} = {text};")
        return self.here[x]

    def _define(self, value: Value, text: str) -> None:
        name = self.own[value] = self.writer.fresh()
        self.writer.line(f"const {_TYPES[value.kind]} {name} = {text};")
        self._show(value)

    def _show(self, value: Value) -> None:
        slot = self.whole.slots.written(value, self.now)
        if slot is not None:
            self.writer.line(f"put({slot}, {self.own[value]});")

    # Statements

    def _phase(self, phase: Phase, mask: str | None) -> None:
        self.now = phase.number
        again = self.whole.slots.again
        empty = not phase.together and not any(phase.of_warp)
        if empty and not any(again.get((self.now, warp)) for warp in range(self.whole.warps)):
            return
        for loop in phase.together:
            self._for_each(loop, mask)
        for step in phase.of_warp[self.warp]:
            self._step(step)
        for value in again.get((self.now, self.warp), ()):
            self._show(value)
        self._meet()

    def _step(self, step: Step) -> None:
        precision = self.whole.program.precision
        match step:
            case Join(joint=joint, partial=partial, result=result):
                first = self.whole.slots.read(partial, self.now)
                text = f"float_at({first})"
                for k in range(1, self.whole.warps):
                    text = expression(joint, "float", [text, f"float_at({first + k})"], precision)
                self._define(result, text)
            case Compute(operation, arguments, result):
                names = [self._operand(x) for x in arguments]
                self._define(result, expression(operation, arguments[-1].kind, names, precision))
            case Load(array, index, result):
                place = f"inside({self._operand(index)}, {array.size})"
                self._define(result, f"{self.writer.pointers[array]}[{place}]")
            case Call(function, arguments, results):
                passed = ", ".join([self._operand(x) for x in arguments])
                memory = self.writer.fresh("r")
                name = self.writer.functions[function]
                self.writer.line(f"const {name}_results {memory} = {name}({passed});")
                for k, result in enumerate(results):
                    self.own[result] = f"{memory}.r{k}"
                    self._show(result)
            case _:
                raise AssertionError(step)

    def _for_each(self, loop: ForEach, mask: str | None) -> None:
        writer, warps, precision = self.writer, self.whole.warps, self.whole.program.precision
        names = {x: self._operand(x) for x in _captured(loop)}
        sums = []
        for joint in loop.joints:
            sums.append(writer.fresh("x"))
            nothing = literal("float", {"add": 0.0, "max": -float("inf")}[joint], precision)
            writer.line(f"real {sums[-1]} = {nothing};")
        turn, index = writer.fresh("turn"), writer.fresh("k")
        writer.line(f"#pragma unroll {UNROLLED}")
        writer.open(f"for (int {turn} = 0; {turn} < {writer.rounds(loop.count)}; {turn}++)")
        writer.line(f"const int {index} = {turn} * {warps} + {self.warp};")
        names[loop.index] = index

        def operand(x: Operand) -> str:
            return names[x] if isinstance(x, Value) else literal(x.kind, x.number, precision)

        for one in loop.body:
            match one:
                case Load(array, _, result):
                    place = turn if writer.arrays.in_memory(array) else index
                    names[result] = writer.fresh()
                    writer.line(f"const {_TYPES[result.kind]} {names[result]} = {writer.pointers[array]}[{place}];")
                case Store(array, _, value):
                    guard = "" if mask is None else f"if ({mask}) "
                    writer.line(f"{guard}{writer.pointers[array]}[{turn}] = {operand(value)};")
                case Compute(operation, arguments, result):
                    text = expression(operation, arguments[-1].kind, [operand(x) for x in arguments], precision)
                    names[result] = writer.fresh()
                    writer.line(f"const {_TYPES[result.kind]} {names[result]} = {text};")
                case _:
                    raise NotNative("a loop inside a loop over arrays has no warps of its own")
        some = f"if ({index} < {loop.count}) " if loop.count % warps else ""
        for joint, name, value in zip(loop.joints, sums, loop.values, strict=True):
            writer.line(f"{some}{name} = {expression(joint, 'float', [name, operand(value)], precision)};")
        writer.close()
        for name, result in zip(sums, loop.results, strict=True):
            slot = self.whole.slots.written(result, self.now)
            if slot is not None:
                writer.line(f"put({slot + self.warp}, {name});")

    # Control

    def _flag(self, flag: Operand) -> str:
        """What decides where all warps go on, between two phases."""
        if isinstance(flag, Value) and flag not in self.own and flag not in self.here and flag in self.whole.slots.of:
            self.here[flag] = f"bool_at({self.whole.slots.of[flag][0][2]})"
        return self._operand(flag)

    def _give(self, give: _Give, mask: str | None) -> None:
        self.now = give.number
        if give.first:
            for value, warp in give.first:
                if warp == self.warp:
                    self._operand(value)
            read = dict(self.here)
            self._meet()
            self.here = read
        guard = "" if mask is None else f"if ({mask}) "
        for value, source, warp in give.numbers:
            if warp == self.warp:
                self.writer.line(f"{guard}put({self.whole.slots.of[value][0][2]}, {self._operand(source)});")
        self._meet()

    def _loop(self, loop: _Loop, mask: str | None) -> None:
        writer = self.writer
        self._give(loop.start, None)
        going = writer.fresh("going")
        writer.line(f"bool {going} = {mask or 'true'};")
        writer.line("#pragma unroll 1")
        writer.open("while (true)")
        self._items(loop.condition, going)
        writer.line(f"{going} = {going} && {self._flag(loop.statement.flag)};")
        writer.line(f"if (!any_row({going})) break;")
        self._items(loop.body, going)
        self._give(loop.next, going)
        writer.close()
        self.here = {}

    def _arms(self, arms: _Arms, mask: str | None) -> None:
        writer, statement = self.writer, arms.statement
        flag = self._flag(statement.flag)
        for text, items, give in (
            (flag, arms.then, arms.then_values),
            (f"!{flag}", arms.otherwise, arms.otherwise_values),
        ):
            taken = writer.fresh("taken")
            writer.line(f"const bool {taken} = {text}{'' if mask is None else f' && {mask}'};")
            writer.open(f"if (any_row({taken}))")
            self.here = {}
            self._items(items, taken)
            self._give(give, taken)
            writer.close()
            self.here = {}
