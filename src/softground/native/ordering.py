"""Order of statements: each no earlier than its first user needs it.

Statements come in the order in which arrays were made, where thousands of numbers wait for the array that uses them.
Going back from what a block gives, each statement is put after those that it depends on, and these right before it:
fewer numbers are alive at a time, and more of them stay in registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from softground.native.program import Block, ForEach, Function, If, LocalArray, Operand, Program, Statement, While
from softground.native.traversal import all_used, made, memory, with_functions


def ordered(program: Program) -> Program:
    """The same program with the statements of every block in order of need."""

    def change(function: Function) -> Function:
        return replace(function, body=_ordered(function.body, function.results))

    return with_functions(program, change)


def _ordered(block: Block, results: Iterable[Operand]) -> list[Statement]:
    block = [_inside_ordered(statement) for statement in block]
    makers = _makers(block)
    roots = [makers[x] for x in results if x in makers]
    return [block[k] for k in _post_order([*roots, *range(len(block))], before(block))]


def _makers(block: Block) -> dict[Operand, int]:
    return {value: k for k, statement in enumerate(block) for value in made(statement)}


def _inside_ordered(statement: Statement) -> Statement:
    match statement:
        case If(then=then, otherwise=otherwise):
            return replace(
                statement,
                then=_ordered(then, statement.then_values),
                otherwise=_ordered(otherwise, statement.otherwise_values),
            )
        case While(condition=condition, flag=flag, body=body, next=after):
            return replace(statement, condition=_ordered(condition, (flag,)), body=_ordered(body, after))
        case ForEach(body=body, values=values):
            return replace(statement, body=_ordered(body, values))
        case _:
            return statement


def before(block: Block) -> list[list[int]]:
    """For each statement those that it must follow: makers of its operands, and accesses to the same memory."""
    makers = _makers(block)
    writers: dict[LocalArray, list[int]] = defaultdict(list)
    readers: dict[LocalArray, list[int]] = defaultdict(list)
    found = []
    for k, statement in enumerate(block):
        needs = [makers[x] for x in all_used(statement) if x in makers]
        reads, writes = memory(statement)
        for array in reads:
            needs += writers[array]
        for array in writes:
            needs += writers[array][-1:] + readers[array]
        for array in reads:
            readers[array].append(k)
        for array in writes:
            writers[array].append(k)
        found.append(list(dict.fromkeys(x for x in needs if x != k)))
    return found


def _post_order(roots: Iterable[int], earlier: list[list[int]]) -> list[int]:
    done: dict[int, None] = {}
    for root in roots:
        stack = [(root, False)]
        while stack:
            here, ready = stack.pop()
            if here in done:
                continue
            if ready:
                done[here] = None
            else:
                stack.append((here, True))
                stack += ((other, False) for other in reversed(earlier[here]) if other not in done)
    return list(done)
