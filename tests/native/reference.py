"""What a scalar program means, in NumPy, one statement after the other."""

from collections.abc import Sequence

import numpy as np

from softground.native.program import (
    Block,
    Call,
    Compute,
    ForEach,
    Function,
    If,
    Load,
    LocalArray,
    Program,
    Store,
    Value,
    While,
)


def run(program: Program, *arrays) -> list[np.ndarray]:
    """Outputs of a program, one array per buffer."""
    numbers = [number for array in arrays for number in np.ravel(array)]
    with np.errstate(all="ignore"):
        results = iter(_Run(program.precision).function(program.main, numbers))
    return [np.array([next(results) for _ in range(buffer.size)]) for buffer in program.outputs]


class _Run:
    def __init__(self, precision: int):
        self.types = {"float": np.dtype(f"float{precision}").type, "int": np.int32, "bool": np.bool_}
        self.numbers: dict[Value, object] = {}
        self.memory: dict[LocalArray, np.ndarray] = {}

    def function(self, function: Function, arguments: Sequence) -> list:
        self.numbers.update((p, self.types[p.kind](a)) for p, a in zip(function.parameters, arguments, strict=True))
        self.block(function.body)
        return self.all(function.results)

    def all(self, operands) -> list:
        return [
            self.numbers[operand] if isinstance(operand, Value) else self.types[operand.kind](operand.number)
            for operand in operands
        ]

    def one(self, operand):
        return self.all([operand])[0]

    def array(self, array: LocalArray) -> np.ndarray:
        start = [0] * array.size if array.start is None else array.start
        return self.memory.setdefault(array, np.array(start, self.types[array.kind]))

    def block(self, block: Block) -> None:
        for statement in block:
            match statement:
                case Compute(operation, arguments, result):
                    value = self.compute(operation, *self.all(arguments))
                    self.numbers[result] = self.types[result.kind](value)
                case Load(array, index, result):
                    self.numbers[result] = self.array(array)[np.clip(self.one(index), 0, array.size - 1)]
                case Store(array, index, value):
                    if 0 <= self.one(index) < array.size:
                        self.array(array)[self.one(index)] = self.one(value)
                case If():
                    holds = self.one(statement.flag)
                    self.block(statement.then if holds else statement.otherwise)
                    values = self.all(statement.then_values if holds else statement.otherwise_values)
                    self.numbers.update(zip(statement.results, values, strict=True))
                case While():
                    self.numbers.update(zip(statement.variables, self.all(statement.start), strict=True))
                    self.block(statement.condition)
                    while self.one(statement.flag):
                        self.block(statement.body)
                        self.numbers.update(zip(statement.variables, self.all(statement.next), strict=True))
                        self.block(statement.condition)
                    self.numbers.update(zip(statement.results, self.all(statement.variables), strict=True))
                case ForEach():
                    rows = []
                    for k in range(statement.count):
                        self.numbers[statement.index] = np.int32(k)
                        self.block(statement.body)
                        rows.append(self.all(statement.values))
                    for joint, result, column in zip(
                        statement.joints, statement.results, zip(*rows, strict=True), strict=True
                    ):
                        self.numbers[result] = {"add": np.sum, "max": np.max}[joint](column)
                case Call(function, arguments, results):
                    self.numbers.update(zip(results, self.function(function, self.all(arguments)), strict=True))

    def compute(self, operation: str, *a):
        if operation == "select":
            return a[1] if a[0] else a[2]
        if operation in ("div", "rem") and isinstance(a[0], np.int32):
            x, y = int(a[0]), int(a[1])
            quotient = -1 if y == 0 else int(np.trunc(x / y))
            return _wrapped(quotient if operation == "div" else x if y == 0 else x - quotient * y)
        if operation == "int_of_float":
            return int(np.clip(np.nan_to_num(np.float64(a[0]), posinf=2.0**31, neginf=-(2.0**31)), -(2**31), 2**31 - 1))
        if operation in ("float_of_int", "float_of_bool", "int_of_bool"):
            return a[0]
        return _FUNCTIONS[operation](*a)


def _wrapped(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


_FUNCTIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "atan2": np.arctan2,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "not": np.invert,
    "is_finite": np.isfinite,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    **{name: getattr(np, name) for name in ("exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh")},
}
