"""Numbers that do not fit into registers wait in places of an array: for GPUs, whose compiler would keep them in memory
of each thread, far away, and once for every thread of a team.

A number is put into its place once, right after it was made, and taken from there before a statement that uses it when
it is no longer in a register. It leaves the registers when there are too many: that one goes which is used again last
(Belady). Places are handed on; if there are not enough, they go to numbers that are taken most often for the time that
they wait, and the others are left to the compiler.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

import numpy as np

from softground.native.program import (
    Block,
    Compute,
    Constant,
    ForEach,
    Function,
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
from softground.native.traversal import made, rebuilt, renamed, used, used_inside, walk

#: A loop or a branch with fewer statements is one statement here: what it uses is in registers while it runs.
LONG = 1000
#: How often, beside what is around it, a long branch is taken and a long loop turns.
_BRANCH, _LOOP = 0.1, 3.0
#: Statements between taking a number and using it, which is about as long as that takes.
AHEAD = 12


def with_places(program: Program, registers: int, places: int) -> tuple[Program, LocalArray]:
    """The same program with no more than so many floats of `main` in registers at a time, as far as places suffice;
    and the array of those places, of which no element is read before it is stored."""
    main = program.main
    plan = _Plan(_Times(main), registers)
    plan.function(main)
    homes = _homes(plan, places)
    array = LocalArray("float", 1 + max(homes.values(), default=0))
    writing = _Writing(plan.taken, homes, array)
    body, results = writing.block(main.body, {}, main.results, main.parameters)
    return replace(program, main=replace(main, body=body, results=results)), array


def _is_long(statement: Statement) -> bool:
    return isinstance(statement, If | While) and sum(1 for _ in walk((statement,))) >= LONG


def _floats(operands: Iterable[Operand]) -> list[Value]:
    return list(dict.fromkeys(x for x in operands if isinstance(x, Value) and x.kind == "float"))


def _needs(statement: Statement) -> list[Value]:
    """Floats that must be in registers for a statement, with those for blocks inside it if it is not long."""
    if _is_long(statement):
        return _floats(used(statement))
    inside = {x for one in walk((statement,)) if one is not statement for x in made(one)}
    inside.update(x for one in walk((statement,)) if isinstance(one, While) for x in one.variables)
    operands = (x for one in walk((statement,)) for x in (*used(one), *used_inside(one)))
    return [x for x in _floats(operands) if x not in inside]


class _Times:
    """When everything happens, counted over the text: a long statement begins, then come those inside it, then it ends.

    uses: of each float, in order. often: by time, how often it comes by. loops: begin and end of the long ones.
    """

    def __init__(self, function: Function):
        self.of: dict[int, tuple[int, int]] = {}  # begin and end of a statement or a block, by its identity
        self.uses: dict[Value, list[int]] = defaultdict(list)
        self.born: dict[Value, int] = dict.fromkeys(function.parameters, 0)
        self.often: list[float] = []
        self.loops: list[tuple[int, int]] = []
        self._block(function.body, function.results, 1.0)

    def _tick(self, often: float, uses: Iterable[Value] = ()) -> int:
        for value in uses:
            self.uses[value].append(len(self.often))
        self.often.append(often)
        return len(self.often) - 1

    def _block(self, block: Block, results: Sequence[Operand], often: float) -> None:
        begin = self._tick(often)
        for statement in block:
            self._statement(statement, often)
        self.of[id(block)] = begin, self._tick(often, _floats(results))

    def _statement(self, statement: Statement, often: float) -> None:
        begin = self._tick(often, _needs(statement))
        if _is_long(statement):
            match statement:
                case If():
                    self._block(statement.then, statement.then_values, often * _BRANCH)
                    self._block(statement.otherwise, statement.otherwise_values, often * _BRANCH)
                case While():
                    self.born.update(dict.fromkeys(statement.variables, begin))
                    self._block(statement.condition, (statement.flag,), often * _LOOP)
                    self._block(statement.body, statement.next, often * _LOOP)
                    self.loops.append((begin, len(self.often) - 1))
        end = self._tick(often)
        self.of[id(statement)] = begin, end
        self.born.update(dict.fromkeys(made(statement), end))


@dataclass
class _Plan:
    """Before which statements floats that have left the registers are taken again."""

    times: _Times
    registers: int
    #: Floats to take before the k-th statement of a block, or before its results, by the block's identity and k.
    taken: dict[tuple[int, int], list[Value]] = field(default_factory=dict)
    when: dict[Value, list[int]] = field(default_factory=lambda: defaultdict(list))  # each is taken
    _around: list[tuple[int, int]] = field(default_factory=list)  # loops, outer ones first

    def function(self, function: Function) -> None:
        self._block(function.body, function.results, dict.fromkeys(_floats(function.parameters)))

    def _block(self, block: Block, results: Sequence[Operand], here: dict[Value, None]) -> None:
        """here: floats in registers, which changes to what there is at the end."""
        for k, statement in enumerate(block):
            begin, end = self.times.of[id(statement)]
            self._have(here, _needs(statement), begin, (id(block), k), _room(statement))
            if _is_long(statement):
                self._inside(statement, here, begin)
            here.update(dict.fromkeys(_floats(made(statement))))
            self._leave(here, end)
        self._have(here, _floats(results), self.times.of[id(block)][1], (id(block), len(block)))

    def _inside(self, statement: Statement, here: dict[Value, None], begin: int) -> None:
        match statement:
            case If():
                arms = dict(here), dict(here)
                self._block(statement.then, statement.then_values, arms[0])
                self._block(statement.otherwise, statement.otherwise_values, arms[1])
                _keep(here, arms[0].keys() & arms[1].keys())
            case While():  # every turn finds what is from outside in its place
                here.clear()
                self._around.append((begin, self.times.of[id(statement.body)][1]))
                variables = dict.fromkeys(_floats(statement.variables))
                self._block(statement.condition, (statement.flag,), dict(variables))
                self._block(statement.body, statement.next, variables)
                self._around.pop()

    def _have(
        self, here: dict[Value, None], values: list[Value], time: int, where: tuple[int, int], room: int = 0
    ) -> None:
        missing = [x for x in values if x not in here]
        if missing:
            self.taken[where] = missing
            for value in missing:
                self.when[value].append(time)
            here.update(dict.fromkeys(missing))
        self._leave(here, time, room, values)

    def _leave(self, here: dict[Value, None], time: int, room: int = 0, staying: Iterable[Value] = ()) -> None:
        """Make room."""
        if len(here) + room <= self.registers:
            return
        soon = {x: when for x in here if (when := self._next(x, time)) is not None}
        _keep(here, soon.keys())
        stay = set(staying)
        far = sorted((x for x in here if x not in stay), key=lambda x: soon[x])
        while far and len(here) + room > self.registers:
            del here[far.pop()]

    def _next(self, value: Value, time: int) -> int | None:
        """When a float is used at or after a time, also in a later turn of a loop; None if it is not."""
        uses = self.times.uses[value]
        k = bisect_left(uses, time)
        found = uses[k] if k < len(uses) else None
        for begin, end in reversed(self._around):
            if found is not None and found <= end:
                return found
            first = bisect_left(uses, begin)
            if self.times.born[value] <= begin and first < len(uses) and uses[first] <= end:
                again = uses[first] + end - begin
                found = again if found is None else min(found, again)
        return found


def _keep(here: dict[Value, None], kept: Collection[Value]) -> None:
    for value in [x for x in here if x not in kept]:
        del here[value]


def _room(statement: Statement) -> int:
    """Floats that are alive at a time in loops over arrays inside a statement, with those of tables for two rounds."""
    return max((_alive(one) for one in walk((statement,)) if isinstance(one, ForEach)), default=0)


def _alive(loop: ForEach) -> int:
    tables = {s.result for s in loop.body if isinstance(s, Load) and s.array.start is not None}
    last = {x: k for k, s in enumerate(loop.body) for x in used(s)}
    last.update(dict.fromkeys(loop.values, len(loop.body)))
    alive, most = set(tables), len(tables)
    for k, statement in enumerate(loop.body):
        alive.update(_floats(made(statement)))
        most = max(most, len(alive))
        alive = {x for x in alive if last.get(x, -1) > k}
    return most + len(tables) + len(loop.results)


def _homes(plan: _Plan, places: int) -> dict[Value, int]:
    """A place for each float that gets one."""
    often, waits = plan.times.often, []
    for value, when in plan.when.items():
        begin, end = plan.times.born[value], when[-1]
        for first, last in plan.times.loops:  # inner ones first: what a loop takes in one turn it takes in the next
            if begin <= first <= end:
                end = max(end, last)
        waits.append((sum(often[time] for time in when) / (end - begin + 1), begin, end, value))
    alive, stays = np.zeros(len(often), int), []
    for _, begin, end, value in sorted(waits, key=lambda wait: -wait[0]):
        if alive[begin : end + 1].max() < places:
            alive[begin : end + 1] += 1
            stays.append((begin, end, value))
    homes: dict[Value, int] = {}
    free, busy = list(range(places)), []
    for begin, end, value in sorted(stays, key=lambda stay: stay[:2]):
        while busy and busy[0][0] < begin:
            heappush(free, heappop(busy)[1])
        homes[value] = heappop(free)
        heappush(busy, (end, homes[value]))
    return homes


@dataclass
class _Writing:
    """Blocks with the loads and stores of a plan."""

    taken: dict[tuple[int, int], list[Value]]
    homes: dict[Value, int]
    array: LocalArray

    def block(
        self, block: Block, names: dict[Operand, Operand], results: Sequence[Operand], given: Iterable[Value] = ()
    ) -> tuple[list[Statement], tuple[Operand, ...]]:
        """A block and its results. names: what floats are called as it begins; given: what it is made with."""
        names, written = dict(names), self._stores(given)
        for k, statement in enumerate(block):
            written += self._loads((id(block), k), names)
            written.append(self._statement(statement, names))
            written += self._stores(made(statement))
        written += self._loads((id(block), len(block)), names)
        return _earlier(written, self.array), tuple(names.get(x, x) for x in results)

    def _statement(self, statement: Statement, names: dict[Operand, Operand]) -> Statement:
        def here(x: Operand) -> Operand:
            return names.get(x, x)

        match statement:
            case If() if _is_long(statement):
                then, then_values = self.block(statement.then, names, statement.then_values)
                otherwise, otherwise_values = self.block(statement.otherwise, names, statement.otherwise_values)
                return If(here(statement.flag), then, then_values, otherwise, otherwise_values, statement.results)
            case While() if _is_long(statement):
                start = tuple(map(here, statement.start))
                condition, (flag,) = self.block(statement.condition, {}, (statement.flag,))
                body, after = self.block(statement.body, {}, statement.next, statement.variables)
                names.clear()
                return While(statement.variables, start, condition, flag, body, after, statement.results)
            case _:
                return _renamed_inside(statement, here)

    def _loads(self, where: tuple[int, int], names: dict[Operand, Operand]) -> list[Statement]:
        loads: list[Statement] = []
        for value in self.taken.get(where, ()):
            if value in self.homes:
                names[value] = again = Value("float")
                loads.append(Load(self.array, Constant("int", self.homes[value]), again))
        return loads

    def _stores(self, values: Iterable[Value]) -> list[Statement]:
        return [Store(self.array, Constant("int", self.homes[x]), x) for x in values if x in self.homes]


def _renamed_inside(statement: Statement, new: Callable[[Operand], Operand]) -> Statement:
    """A statement that uses other operands, also in blocks inside it."""
    (inside,) = rebuilt((statement,), lambda one: (renamed(one, new),))
    return inside


def _earlier(block: list[Statement], array: LocalArray) -> list[Statement]:
    """Numbers are taken some statements before they are needed, but not before they are put there."""
    written: list[Statement] = []
    for statement in block:
        k = len(written)
        if isinstance(statement, Load) and statement.array is array:
            while k > max(len(written) - AHEAD, 0) and _may_follow(written[k - 1], statement):
                k -= 1
        written.insert(k, statement)
    return written


def _may_follow(other: Statement, load: Load) -> bool:
    """Whether a statement may as well come after a load: not one that takes long, or another load, or its store."""
    if isinstance(other, Load | Store) and other.array is load.array:
        return isinstance(other, Store) and other.index != load.index
    return isinstance(other, Compute | Load | Store)
