"""Slow operations side by side: several are computed at once, in the lanes of one vector, if they stand together.

A vector of four exponentials or roots costs little more than one, and steps hold hundreds of them. They come from
arrays, so most are independent of each other, but in between stand the statements that use them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container

from softground.native.program import Block, Call, Compute, Statement, Value

Group = tuple[Compute, ...]
_PATIENCE = 2000  # statements put off for a group's sake: they are looked at again with every group


def grouped(block: Block, width: int, operations: Container[str]) -> list[Statement | Group]:
    """The statements of a block in an order as good, with those of some operations in groups of at most `width`.

    Such a statement waits for others of its operation; what needs it waits with it. Memory and control flow end the
    wait.
    """
    ordered: list[Statement | Group] = []
    ahead = deque(block)
    waiting: dict[str, list[Compute]] = {}
    put_off: list[Statement] = []
    unknown: set[Value] = set()
    while ahead or waiting:
        statement = ahead.popleft() if ahead else None
        full = next(iter(waiting), None)  # the one that has waited longest, where the wait must end
        if isinstance(statement, Compute | Call) and len(put_off) < _PATIENCE:
            made = (statement.result,) if isinstance(statement, Compute) else statement.results
            if unknown and not unknown.isdisjoint(statement.arguments):
                put_off.append(statement)
                unknown.update(made)
                continue
            if isinstance(statement, Call) or statement.operation not in operations:
                ordered.append(statement)
                continue
            full = statement.operation
            group = waiting.setdefault(full, [])
            group.append(statement)
            unknown.update(made)
            if len(group) < width:
                continue
        elif full is None:
            assert statement is not None
            ordered.append(statement)
            continue
        elif statement is not None:
            ahead.appendleft(statement)
        assert full is not None
        ordered.append(tuple(waiting.pop(full)))
        ahead.extendleft(reversed(put_off))
        put_off.clear()
        unknown = {statement.result for group in waiting.values() for statement in group}
    return ordered
