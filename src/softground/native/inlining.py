"""Functions that turn out to be called from one place only go there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from softground.native.program import Block, Call, Function, Operand, Program, Statement
from softground.native.traversal import rebuilt, renamed, walk, with_functions


def with_single_calls_inlined(program: Program) -> Program:
    """A program in which every function is called at least twice.

    Values of a function are made once, so its body can be put in the place of its only call as it is; only its
    parameters and results get the names that they have there.
    """
    everything = (*program.functions, program.main)
    counts = Counter(x.function for one in everything for x in walk(one.body) if isinstance(x, Call))
    names: dict[Operand, Operand] = {}

    def expanded(block: Block) -> list[Statement]:
        return rebuilt(block, in_place)

    def in_place(statement: Statement) -> list[Statement]:
        if not isinstance(statement, Call) or counts[statement.function] > 1:
            return [statement]
        names.update(zip(statement.function.parameters, statement.arguments, strict=True))
        names.update(zip(statement.results, statement.function.results, strict=True))
        return expanded(statement.function.body)

    def here(operand: Operand) -> Operand:
        while operand in names:
            operand = names[operand]
        return operand

    def change(function: Function) -> Function:
        body = rebuilt(expanded(function.body), lambda statement: (renamed(statement, here),))
        return replace(function, body=body, results=tuple(map(here, function.results)))

    kept = tuple(function for function in program.functions if counts[function] > 1)
    return with_functions(replace(program, functions=kept), change)
