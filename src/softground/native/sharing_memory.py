"""Arrays that are needed at different times share memory.

Every loop over the vertices of a foot leaves arrays for the next one: those of a G1's step, 156 with memory of their
own each, would not fit into what a processor has at hand; 24 do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

from softground.native.program import (
    Block,
    Constant,
    ForEach,
    Function,
    Load,
    LocalArray,
    Program,
    Statement,
    Store,
    While,
)
from softground.native.traversal import blocks, rebuilt, with_functions


def with_shared_memory(program: Program) -> Program:
    """The same program with fewer arrays."""
    return with_functions(program, lambda function: _with_shared_memory(function, frozenset(program.memory)))


def _with_shared_memory(function: Function, others: frozenset[LocalArray]) -> Function:
    """others: arrays that are not the program's own."""
    needed = _needed(function.body)
    homes = _homes({array: when for array, when in needed.items() if array not in others})

    def change(statement: Statement) -> tuple[Statement]:
        if isinstance(statement, Load | Store) and statement.array in homes:
            return (replace(statement, array=homes[statement.array]),)
        return (statement,)

    return replace(function, body=rebuilt(function.body, change))


def _homes(needed: dict[LocalArray, tuple[int, int]]) -> dict[LocalArray, LocalArray]:
    """The array whose memory each one takes: one of its kind and size that is free when it begins to be needed."""
    homes: dict[LocalArray, LocalArray] = {}
    free: dict[tuple, list[LocalArray]] = defaultdict(list)
    taken: list[tuple[int, int, LocalArray]] = []  # until when; a number that orders equals
    number = count()
    for array, (first, last) in sorted(needed.items(), key=lambda one: one[1]):
        while taken and taken[0][0] < first:
            home = heappop(taken)[2]
            free[home.kind, home.size].append(home)
        others = free[array.kind, array.size]
        homes[array] = others.pop() if others else array
        heappush(taken, (last, next(number), homes[array]))
    return homes


@dataclass
class _Uses:
    """When an array is first and last touched, and whether all of it is stored before anything is loaded."""

    times: list[int] = field(default_factory=list)
    stored: set = field(default_factory=set)  # places, until the first load
    loaded: bool = False
    whole: bool = False

    def store(self, time: int, place, size: int) -> None:
        self.times.append(time)
        if not self.loaded:
            self.stored.add(place)
            self.whole |= len(self.stored) == size

    def load(self, time: int) -> None:
        self.times.append(time)
        self.loaded = True


def _needed(body: Block) -> dict[LocalArray, tuple[int, int]]:
    """From when to when each array is needed, of those of which all is stored before anything is loaded.

    What is also touched outside of a loop is needed as long as the loop runs.
    """
    uses: dict[LocalArray, _Uses] = defaultdict(_Uses)
    turns: list[tuple[int, int]] = []  # begin and end of loops that go on as long as something holds, inner ones first
    clock = count()
    _look(body, clock, uses, turns)
    found = {}
    for array, use in uses.items():
        if array.start is not None or not use.whole:
            continue
        first, last = min(use.times), max(use.times)
        for begin, end in turns:
            inside = begin <= last and first <= end
            if inside and not (begin <= first and last <= end):
                first, last = min(first, begin), max(last, end)
        found[array] = first, last
    return found


def _look(block: Block, clock: Iterator[int], uses: dict[LocalArray, _Uses], turns: list[tuple[int, int]]) -> None:
    for statement in block:
        time = next(clock)
        match statement:
            case Load(array=array):
                uses[array].load(time)
            case Store(array=array, index=index):
                uses[array].store(time, index.number if isinstance(index, Constant) else None, array.size)
            case ForEach():
                _look_at_rounds(statement, time, uses)
            case _:
                for inner in blocks(statement):
                    _look(inner, clock, uses, turns)
                if isinstance(statement, While):
                    turns.append((time, next(clock)))


def _look_at_rounds(loop: ForEach, time: int, uses: dict[LocalArray, _Uses]) -> None:
    """All rounds count as one moment: what a round loads another may have stored."""
    for one in loop.body:
        if isinstance(one, Load):
            uses[one.array].load(time)
    for one in loop.body:
        if isinstance(one, Store):
            use = uses[one.array]
            use.whole |= not use.loaded and loop.count == one.array.size
            use.store(time, None, one.array.size)
