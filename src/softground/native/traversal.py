"""Walks over scalar programs: what statements use, make and hold, in one place for all passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from itertools import chain

from softground.native.program import (
    Block,
    Call,
    Compute,
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

#: Statements without blocks inside. Nearly all of a program are, and each pass looks at all of them.
FLAT = frozenset({Compute, Load, Store, Call})


def used(statement: Statement) -> tuple[Operand, ...]:
    """Operands that a statement itself uses, where it stands (not in blocks inside it)."""
    match statement:
        case Compute(arguments=arguments) | Call(arguments=arguments):
            return arguments
        case Load(index=index):
            return (index,)
        case Store(index=index, value=value):
            return (index, value)
        case If(flag=flag):
            return (flag,)
        case While(start=start):
            return start
        case ForEach():
            return ()


def used_inside(statement: Statement) -> tuple[Operand, ...]:
    """Operands that a statement uses at the ends of blocks inside it."""
    match statement:
        case If():
            return (*statement.then_values, *statement.otherwise_values)
        case While():
            return (statement.flag, *statement.next)
        case ForEach(values=values):
            return values
        case _:
            return ()


def made(statement: Statement) -> tuple[Value, ...]:
    """Values that a statement makes for those after it."""
    match statement:
        case Compute(result=result) | Load(result=result):
            return (result,)
        case If(results=results) | While(results=results) | ForEach(results=results) | Call(results=results):
            return results
        case Store():
            return ()


def blocks(statement: Statement) -> tuple[Block, ...]:
    """Blocks inside a statement."""
    match statement:
        case If():
            return (statement.then, statement.otherwise)
        case While():
            return (statement.condition, statement.body)
        case ForEach():
            return (statement.body,)
        case _:
            return ()


def walk(block: Block) -> Iterator[Statement]:
    """All statements of a block and of blocks inside it."""
    for statement in block:
        yield statement
        if type(statement) not in FLAT:
            for inner in blocks(statement):
                yield from walk(inner)


def all_used(statement: Statement) -> Iterable[Operand]:
    """Operands that a statement uses, with those in blocks inside it."""
    if type(statement) in FLAT:
        return used(statement)
    return chain.from_iterable((*used(one), *used_inside(one)) for one in walk((statement,)))


def memory(statement: Statement) -> tuple[Set[LocalArray], Set[LocalArray]]:
    """Arrays that a statement reads and writes, with those in blocks inside it."""
    if type(statement) is Compute:
        return frozenset(), frozenset()
    reads, writes = set(), set()
    for one in walk((statement,)):
        if isinstance(one, Load):
            reads.add(one.array)
        elif isinstance(one, Store):
            writes.add(one.array)
    return reads, writes


def rebuilt(block: Block, change: Callable[[Statement], Iterable[Statement]]) -> list[Statement]:
    """A block with each statement changed to others, those of blocks inside it first."""
    result = []
    for statement in block:
        if type(statement) in FLAT:
            result += change(statement)
            continue
        match statement:
            case If(then=then, otherwise=otherwise):
                statement = replace(statement, then=rebuilt(then, change), otherwise=rebuilt(otherwise, change))
            case While(condition=condition, body=body):
                statement = replace(statement, condition=rebuilt(condition, change), body=rebuilt(body, change))
            case ForEach(body=body):
                statement = replace(statement, body=rebuilt(body, change))
        result += change(statement)
    return result


def renamed(statement: Statement, new: Callable[[Operand], Operand]) -> Statement:
    """A statement that uses other operands (blocks inside it are left as they are)."""

    def all_new(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return tuple(map(new, operands))

    match statement:
        case Compute(arguments=arguments) | Call(arguments=arguments):
            return replace(statement, arguments=all_new(arguments))
        case Load(index=index):
            return replace(statement, index=new(index))
        case Store(index=index, value=value):
            return replace(statement, index=new(index), value=new(value))
        case If(flag=flag, then_values=then, otherwise_values=otherwise):
            return replace(statement, flag=new(flag), then_values=all_new(then), otherwise_values=all_new(otherwise))
        case While(start=start, flag=flag, next=after):
            return replace(statement, start=all_new(start), flag=new(flag), next=all_new(after))
        case ForEach(values=values):
            return replace(statement, values=all_new(values))


def with_functions(program: Program, change: Callable[[Function], Function]) -> Program:
    """A program with each function changed, and calls of the old ones become calls of the new ones."""
    if not program.functions:
        return replace(program, main=change(program.main))
    new: dict[Function, Function] = {}

    def calling(statement: Statement) -> tuple[Statement]:
        return (replace(statement, function=new[statement.function]) if isinstance(statement, Call) else statement,)

    for function in (*program.functions, program.main):
        changed = change(function)
        new[function] = replace(changed, body=rebuilt(changed.body, calling))
    return replace(program, main=new[program.main], functions=tuple(new[x] for x in program.functions))
