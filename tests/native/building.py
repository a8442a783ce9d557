"""Scalar programs written by hand, for the tests."""

from collections.abc import Callable, Sequence

from softground.native.program import (
    COMPARISONS,
    Block,
    Buffer,
    Call,
    Compute,
    Constant,
    ForEach,
    Function,
    If,
    Kind,
    Load,
    LocalArray,
    Operand,
    Program,
    Statement,
    Store,
    Value,
    While,
)

Make = Callable[..., Sequence[Operand]]


def number(x: float | int | bool) -> Constant:
    return Constant("bool" if isinstance(x, bool) else "int" if isinstance(x, int) else "float", x)


def kind_of(operation: str, arguments: Sequence[Operand]) -> Kind:
    """Kind of what an operation makes."""
    if operation in COMPARISONS:
        return "bool"
    if "_of_" in operation:
        return {"float": "float", "int": "int"}[operation.split("_of_")[0]]
    return arguments[-1].kind


class Builder:
    """A block that grows: each method adds a statement and returns what it makes."""

    def __init__(self):
        self.block: list[Statement] = []

    def op(self, operation: str, *arguments: Operand) -> Value:
        result = Value(kind_of(operation, arguments))
        self.block.append(Compute(operation, arguments, result))
        return result

    def load(self, array: LocalArray, index: Operand) -> Value:
        result = Value(array.kind)
        self.block.append(Load(array, index, result))
        return result

    def store(self, array: LocalArray, index: Operand, value: Operand) -> None:
        self.block.append(Store(array, index, value))

    def when(self, flag: Operand, then: Make, otherwise: Make) -> tuple[Value, ...]:
        arms = [_block(make) for make in (then, otherwise)]
        results = tuple(Value(value.kind) for value in arms[0][1])
        self.block.append(If(flag, *arms[0], *arms[1], results))
        return results

    def loop(self, start: Sequence[Operand], condition: Make, body: Make) -> tuple[Value, ...]:
        variables = tuple(Value(value.kind) for value in start)
        asked, (flag,) = _block(condition, *variables)
        done, following = _block(body, *variables)
        results = tuple(Value(value.kind) for value in start)
        self.block.append(While(variables, tuple(start), asked, flag, done, following, results))
        return results

    def for_each(self, count: int, joints: Sequence[str], body: Make) -> tuple[Value, ...]:
        index = Value("int")
        done, values = _block(body, index)
        results = tuple(Value("float") for _ in joints)
        self.block.append(ForEach(index, count, done, tuple(joints), values, results))
        return results

    def call(self, function: Function, *arguments: Operand) -> tuple[Value, ...]:
        results = tuple(Value(result.kind) for result in function.results)
        self.block.append(Call(function, arguments, results))
        return results


def _block(make: Make, *values: Value) -> tuple[Block, tuple[Operand, ...]]:
    builder = Builder()
    results = tuple(make(builder, *values))
    return tuple(builder.block), results


def function(name: str, kinds: Sequence[Kind], make: Make) -> Function:
    parameters = tuple(map(Value, kinds))
    body, results = _block(make, *parameters)
    return Function(name, parameters, body, results)


def program(precision, inputs: Sequence[Buffer], make: Make, functions: Sequence[Function] = ()) -> Program:
    """`make` is given a builder and all numbers of all inputs; each of its results is an output of one number."""
    main = function("main", [buffer.kind for buffer in inputs for _ in range(buffer.size)], make)
    outputs = tuple(Buffer(result.kind, 1) for result in main.results)
    return Program(precision, main, tuple(functions), tuple(inputs), outputs)
