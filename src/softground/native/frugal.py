"""Another order of statements, with fewer numbers alive at a time: for GPUs, where what does not fit into a thread's
registers goes through memory that all threads of a processor share.

Of the statements that can come next, the one after which the fewest numbers are alive does; among equals, the first in
the order that there was. A step of ANYmal has 910 numbers alive at most instead of 1,140, and takes 3.3 KiB of memory
beside its registers instead of 5.3.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from heapq import heapify, heappop, heappush

from softground.native.ordering import before
from softground.native.program import Block, ForEach, Function, If, Operand, Program, Statement, Value, While
from softground.native.traversal import all_used, made, with_functions


def frugal(program: Program) -> Program:
    """The same program with the statements of every block in that order."""

    def change(function: Function) -> Function:
        return replace(function, body=_ordered(function.body, function.results))

    return with_functions(program, change)


def _inside_ordered(statement: Statement) -> Statement:
    match statement:
        case If(then=then, otherwise=otherwise):
            then, otherwise = _ordered(then, statement.then_values), _ordered(otherwise, statement.otherwise_values)
            return replace(statement, then=then, otherwise=otherwise)
        case While(condition=condition, flag=flag, body=body, next=after):
            return replace(statement, condition=_ordered(condition, (flag,)), body=_ordered(body, after))
        case ForEach(body=body, values=values):
            return replace(statement, body=_ordered(body, values))
        case _:
            return statement


def _ordered(block: Block, results: Iterable[Operand]) -> list[Statement]:
    block = [_inside_ordered(statement) for statement in block]
    earlier = before(block)
    waits = [len(needs) for needs in earlier]
    later: dict[int, list[int]] = defaultdict(list)
    for k, needs in enumerate(earlier):
        for other in needs:
            later[other].append(k)
    uses = [{x for x in all_used(statement) if isinstance(x, Value)} for statement in block]
    users: dict[Value, list[int]] = defaultdict(list)
    for k, values in enumerate(uses):
        for value in values:
            users[value].append(k)
    left = Counter({value: len(statements) for value, statements in users.items()})  # uses that are still to come
    left.update(x for x in results if isinstance(x, Value))

    def more(k: int) -> int:
        """Numbers that are alive after a statement and were not before it."""
        return sum(left[value] > 0 for value in made(block[k])) - sum(left[value] == 1 for value in uses[k])

    ready = [(more(k), k) for k, count in enumerate(waits) if not count]
    heapify(ready)
    order: dict[int, None] = {}
    while ready:
        cost, k = heappop(ready)
        if k in order or cost != more(k):  # there is a newer entry
            continue
        order[k] = None
        nearly: list[int] = []
        for value in uses[k]:
            left[value] -= 1
            if left[value] == 1:  # its last user has become cheaper
                nearly += (user for user in users[value] if user not in order and not waits[user])
        for other in later[k]:
            waits[other] -= 1
            if not waits[other]:
                nearly.append(other)
        for other in nearly:
            heappush(ready, (more(other), other))
    return [block[k] for k in order]
