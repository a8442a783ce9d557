"""Functions that turn out to be called from one place only go there, and small ones wherever they are called."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

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


def with_calls_inlined(program: Program, most: int) -> Program:
    """A program in which functions of at most so many statements stand wherever they were called."""

    def expanded(statement: Statement) -> list[Statement]:
        if not isinstance(statement, Call) or len(statement.function.body) > most:
            return [statement]
        return _copied(statement)

    def change(function: Function) -> Function:
        body = function.body
        while any(isinstance(x, Call) and len(x.function.body) <= most for x in walk(body)):
            body = rebuilt(body, expanded)
        return replace(function, body=body)

    changed = with_functions(program, change)
    left = {x.function for one in (*changed.functions, changed.main) for x in walk(one.body) if isinstance(x, Call)}
    return replace(changed, functions=tuple(one for one in changed.functions if one in left))


def _copied(call: Call) -> list[Statement]:
    """The body of a function with values and arrays of its own, in the place of a call."""
    names: dict[Operand, Operand] = dict(zip(call.function.parameters, call.arguments, strict=True))
    known: dict[Operand, Value] = dict(zip(call.function.results, call.results, strict=True))
    arrays: dict[LocalArray, LocalArray] = {}

    def new(operand: Operand) -> Operand:
        return names.get(operand, operand)

    def own(values: tuple[Value, ...]) -> tuple[Value, ...]:
        found = tuple(known.get(value) or Value(value.kind) for value in values)
        names.update(zip(values, found, strict=True))
        return found

    def there(array: LocalArray) -> LocalArray:
        return array if array.start is not None else arrays.setdefault(array, LocalArray(array.kind, array.size))

    def one(statement: Statement) -> Statement:
        match statement:
            case If(then=then, otherwise=otherwise):
                statement = replace(statement, then=block(then), otherwise=block(otherwise))
            case While(condition=condition, body=body, start=start):
                start, variables = tuple(map(new, start)), own(statement.variables)
                inner = replace(statement, variables=variables, condition=block(condition), body=block(body))
                return replace(renamed(inner, new), start=start, results=own(statement.results))
            case ForEach(body=body, index=index):
                statement = replace(statement, index=own((index,))[0], body=block(body))
            case Load(array=array) | Store(array=array):
                statement = replace(statement, array=there(array))
        statement = renamed(statement, new)
        match statement:
            case Compute(result=result) | Load(result=result):
                return replace(statement, result=own((result,))[0])
            case Store():
                return statement
            case _:
                return replace(statement, results=own(statement.results))

    def block(statements: Block) -> list[Statement]:
        return [one(statement) for statement in statements]

    return block(call.function.body)
