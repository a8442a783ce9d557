"""Exponentials side by side: several are computed at once, in the lanes of one vector, if they stand together.

A vector of four costs little more than one, and steps hold hundreds of them. They come from arrays, so most are
independent of each other, but in between stand the statements that use them.
"""

from __future__ import annotations

from collections import deque

from softground.native.program import Block, Call, Compute, Statement, Value

Group = tuple[Compute, ...]
_PATIENCE = 2000  # statements put off for a group's sake: they are looked at again with every group


def grouped(block: Block, width: int) -> list[Statement | Group]:
    """The statements of a block in an order as good, with its exponentials in groups of at most `width`.

    An exponential waits for others; what needs it waits with it. Memory and control flow end the wait.
    """
    ordered: list[Statement | Group] = []
    ahead = deque(block)
    waiting: list[Compute] = []
    put_off: list[Statement] = []
    unknown: set[Value] = set()
    while ahead or waiting:
        statement = ahead.popleft() if ahead else None
        if isinstance(statement, Compute | Call) and len(put_off) < _PATIENCE:
            made = (statement.result,) if isinstance(statement, Compute) else statement.results
            if unknown and not unknown.isdisjoint(statement.arguments):
                put_off.append(statement)
                unknown.update(made)
                continue
            if isinstance(statement, Call) or statement.operation != "exp":
                ordered.append(statement)
                continue
            waiting.append(statement)
            unknown.update(made)
            if len(waiting) < width:
                continue
        elif not waiting:
            assert statement is not None
            ordered.append(statement)
            continue
        elif statement is not None:
            ahead.appendleft(statement)
        ordered.append(tuple(waiting))
        ahead.extendleft(reversed(put_off))
        waiting.clear()
        put_off.clear()
        unknown.clear()
    return ordered
