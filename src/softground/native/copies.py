"""Arrays that are copies of others, element by element, give way to those.

A function that is called once is taken apart on its own and put in its place later: what it gets in memory it has put
into memory again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from softground.native.program import (
    Block,
    Constant,
    ForEach,
    Function,
    Load,
    LocalArray,
    Operand,
    Program,
    Statement,
    Store,
    Value,
)
from softground.native.traversal import rebuilt, walk, with_functions


def without_copies(program: Program) -> Program:
    """The same program, in which what reads a copy reads the original."""
    return with_functions(program, lambda function: _without_copies(function, frozenset(program.memory)))


def _without_copies(function: Function, others: frozenset[LocalArray]) -> Function:
    """others: arrays that are not the program's own, which must get what is stored into them."""
    originals = {copy: of for copy, of in _originals(function.body).items() if copy not in others}

    def change(statement: Statement) -> tuple[Statement, ...]:
        match statement:
            case Store(array=array) if array in originals:
                return ()
            case Load(array=array) if array in originals:
                return (replace(statement, array=originals[array]),)
            case _:
                return (statement,)

    return replace(function, body=rebuilt(function.body, change))


def _originals(body: Block) -> dict[LocalArray, LocalArray]:
    """Of which array others are copies: every element is stored once, as it was loaded from the same place of an array
    that does not change from the first of these loads on; and they are read only when all has been stored."""
    loads: dict[LocalArray, list[int]] = defaultdict(list)  # when arrays are read
    stores: dict[LocalArray, list[tuple[int, Store]]] = defaultdict(list)
    sources: dict[Value, tuple[int, Load]] = {}
    rounds: dict[Operand, int] = {}
    for when, statement in enumerate(walk(body)):
        if isinstance(statement, Load):
            loads[statement.array].append(when)
            sources[statement.result] = when, statement
        elif isinstance(statement, Store):
            stores[statement.array].append((when, statement))
        elif isinstance(statement, ForEach):
            rounds[statement.index] = statement.count
    found: dict[LocalArray, LocalArray] = {}
    for copy, writes in stores.items():
        original = _original(copy, [store for _, store in writes], sources, rounds)
        if original is None:
            continue
        begun = min(sources[store.value][0] for _, store in writes if isinstance(store.value, Value))
        settled = all(when < begun for when, _ in stores[original])
        if settled and all(when > writes[-1][0] for when in loads[copy]):
            found[copy] = original
    return {copy: _first(copy, found) for copy in found}


def _first(array: LocalArray, originals: dict[LocalArray, LocalArray]) -> LocalArray:
    """The original of a copy of a copy."""
    while array in originals:
        array = originals[array]
    return array


def _original(
    copy: LocalArray, writes: list[Store], sources: dict[Value, tuple[int, Load]], rounds: dict[Operand, int]
) -> LocalArray | None:
    """The array from which every element of a copy comes, if there is one. rounds: of loops, by their index."""
    places = {store.index.number for store in writes if isinstance(store.index, Constant)}
    loads = [sources[store.value][1] for store in writes if store.value in sources]
    one_by_one = len(writes) == copy.size and places == set(range(copy.size))
    in_a_loop = len(writes) == 1 and rounds.get(writes[0].index) == copy.size and copy.start is None
    if len(loads) != len(writes) or not (one_by_one or in_a_loop):
        return None
    original = loads[0].array
    same = all(load.array is original and load.index == store.index for load, store in zip(loads, writes, strict=True))
    return original if same and (original.size, original.kind) == (copy.size, copy.kind) else None
