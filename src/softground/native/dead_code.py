"""Dead code: what no output needs is dropped, wherever it is.

First all values are marked that some output needs, going backwards from the outputs: through loops variable by
variable, through branches result by result, and into functions parameter by parameter. Then blocks are rebuilt with
what is marked, and loops, branches, calls and functions lose the parts that are not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
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
from softground.native.traversal import blocks, made


def without_dead_code(program: Program) -> Program:
    """A program that does no more than its outputs need."""
    marks = _Marks(program)
    return _Sweep(marks).program(program)


class _Marks:
    """What is needed: values, arrays, and flags of blocks that store into them."""

    def __init__(self, program: Program):
        self.values: set[Value] = set()
        self.arrays: set[LocalArray] = set()
        self._makers: dict[Value, tuple[Statement | Function, int]] = {}
        self._stores: dict[LocalArray, list[tuple[Store, tuple[Statement, ...]]]] = defaultdict(list)
        self._calls: dict[Function, list[Call]] = defaultdict(list)  # those that are needed
        for function in (*program.functions, program.main):
            self._makers.update((x, (function, k)) for k, x in enumerate(function.parameters))
            self._enter(function.body, ())
        self._left: list[Operand] = list(program.main.results)
        for array in program.memory:
            self._need_array(array)
        while self._left:
            one = self._left.pop()
            if isinstance(one, Value) and one not in self.values:
                self.values.add(one)
                self._need(*self._makers[one])

    def _enter(self, block: Block, around: tuple[Statement, ...]) -> None:
        for statement in block:
            if type(statement) is Compute:
                self._makers[statement.result] = statement, 0
                continue
            self._makers.update((x, (statement, k)) for k, x in enumerate(made(statement)))
            if isinstance(statement, While):
                self._makers.update((x, (statement, k)) for k, x in enumerate(statement.variables))
            elif isinstance(statement, ForEach):
                self._makers[statement.index] = (statement, -1)
            elif isinstance(statement, Store):
                self._stores[statement.array].append((statement, around))
            for inner in blocks(statement):
                self._enter(inner, (*around, statement))

    def _need(self, maker: Statement | Function, k: int) -> None:
        match maker:
            case Compute(arguments=arguments):
                self._left += arguments
            case Load(array=array, index=index):
                self._left.append(index)
                self._need_array(array)
            case If():
                self._left += (maker.flag, maker.then_values[k], maker.otherwise_values[k])
            case While():
                self._left += (maker.flag, maker.start[k], maker.next[k])
            case ForEach():
                self._left += () if k < 0 else (maker.values[k],)
            case Call(function=function):
                self._left.append(function.results[k])
                if not any(call is maker for call in self._calls[function]):
                    self._calls[function].append(maker)
                    self._left += _where(maker.arguments, self._needs(function.parameters))
            case Function():
                self._left += (call.arguments[k] for call in self._calls[maker])

    def _need_array(self, array: LocalArray) -> None:
        if array in self.arrays:
            return
        self.arrays.add(array)
        for store, around in self._stores[array]:
            self._left += (store.index, store.value)
            self._left += (one.flag for one in around if isinstance(one, If | While))

    def _needs(self, values: Iterable[Operand]) -> list[bool]:
        return [x in self.values for x in values]


def _where(items: Iterable, flags: Iterable[bool]) -> tuple:
    return tuple(item for item, flag in zip(items, flags, strict=True) if flag)


class _Sweep:
    """Blocks of what is marked."""

    def __init__(self, marks: _Marks):
        self._values, self._arrays = marks.values, marks.arrays
        self._functions: dict[Function, Function] = {}

    def program(self, program: Program) -> Program:
        for function in program.functions:
            parameters = _where(function.parameters, self._kept(function.parameters))
            results = _where(function.results, self._kept(function.results))
            body = self._block(function.body)
            self._functions[function] = Function(function.name, parameters, body, results)
        main = program.main
        main = Function(main.name, main.parameters, self._block(main.body), main.results)
        functions = tuple(x for x in self._functions.values() if x.results)
        return replace(program, main=main, functions=functions)

    def _kept(self, values: Iterable[Operand]) -> list[bool]:
        return [x in self._values for x in values]

    def _block(self, block: Block) -> list[Statement]:
        return [kept for statement in block if (kept := self._statement(statement)) is not None]

    def _statement(self, statement: Statement) -> Statement | None:
        match statement:
            case Compute(result=result) | Load(result=result):
                return statement if result in self._values else None
            case Store(array=array):
                return statement if array in self._arrays else None
            case If():
                return self._branch(statement)
            case While():
                return self._loop(statement)
            case ForEach():
                return self._rounds(statement)
            case Call(function=function):
                if not any(self._kept(statement.results)):
                    return None
                # A result is kept where any call needs it.
                results = _where(statement.results, self._kept(function.results))
                arguments = _where(statement.arguments, self._kept(function.parameters))
                return Call(self._functions[function], arguments, results)

    def _branch(self, statement: If) -> If | None:
        kept = self._kept(statement.results)
        then, otherwise = self._block(statement.then), self._block(statement.otherwise)
        if not any(kept) and not then and not otherwise:
            return None
        then_values, otherwise_values = (_where(x, kept) for x in (statement.then_values, statement.otherwise_values))
        results = _where(statement.results, kept)
        return If(statement.flag, then, then_values, otherwise, otherwise_values, results)

    def _loop(self, statement: While) -> While | None:
        pairs = zip(self._kept(statement.variables), self._kept(statement.results), strict=True)
        kept = [variable or result for variable, result in pairs]
        body = self._block(statement.body)
        if not any(kept) and not body:
            return None
        variables, start, after, results = (
            _where(x, kept) for x in (statement.variables, statement.start, statement.next, statement.results)
        )
        return While(variables, start, self._block(statement.condition), statement.flag, body, after, results)

    def _rounds(self, statement: ForEach) -> ForEach | None:
        kept, body = self._kept(statement.results), self._block(statement.body)
        if not any(kept) and not body:
            return None
        joints, values, results = (_where(x, kept) for x in (statement.joints, statement.values, statement.results))
        return replace(statement, body=body, joints=joints, values=values, results=results)
