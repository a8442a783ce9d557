"""A plain interpreter of scalar programs: slow, obvious, and what compiled programs are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from softground.native.arithmetic import MEANING, Number, rounded
from softground.native.program import (
    Block,
    Buffer,
    Call,
    Compute,
    Constant,
    ForEach,
    Function,
    If,
    Load,
    LocalArray,
    Operand,
    Program,
    Store,
    Value,
    While,
)


def interpret(program: Program, *inputs) -> list[np.ndarray]:
    """Outputs of a program for its inputs, each raveled."""
    numbers: list[Number] = []
    machine, memory = _Machine(program.precision), iter(program.memory)
    for buffer, array in zip(program.inputs, inputs, strict=True):
        flat = np.ravel(np.asarray(array)).tolist()
        assert len(flat) == buffer.size
        flat = [rounded(x, buffer.kind, program.precision) for x in flat]
        if buffer.in_place:
            machine.memory[next(memory)] = flat
        else:
            numbers += flat
    results, memory = iter(machine.call(program.main, numbers)), iter(program.memory)
    outputs = []
    for buffer in program.outputs:
        flat = machine.memory[next(memory)] if buffer.in_place else list(islice(results, buffer.size))
        outputs.append(np.array(flat, dtype_of(buffer, program.precision)))
    return outputs


def dtype_of(buffer: Buffer, precision: int) -> np.dtype:
    """Type of the numbers of a buffer."""
    return np.dtype({"float": f"f{precision // 8}", "int": f"i{buffer.bits // 8}", "bool": "?"}[buffer.kind])


class _Machine:
    """Values by who they are (each is made once, and functions do not call themselves), and memory."""

    def __init__(self, precision: int):
        self._precision = precision
        self._values: dict[Value, Number] = {}
        self.memory: dict[LocalArray, list] = {}

    def call(self, function: Function, arguments: Sequence[Number]) -> list[Number]:
        self._values.update(zip(function.parameters, arguments, strict=True))
        self._run(function.body)
        return self._all(function.results)

    def _get(self, operand: Operand) -> Number:
        return operand.number if isinstance(operand, Constant) else self._values[operand]

    def _all(self, operands: Sequence[Operand]) -> list[Number]:
        return [self._get(x) for x in operands]

    def _array(self, array: LocalArray) -> list:
        return self.memory.setdefault(array, list(array.start) if array.start else [None] * array.size)

    def _run(self, block: Block) -> None:
        for statement in block:
            match statement:
                case Compute(operation, arguments, result):
                    number = MEANING[operation](*self._all(arguments))
                    self._values[result] = rounded(number, result.kind, self._precision)
                case Load(array, index, result):
                    place = min(max(int(self._get(index)), 0), array.size - 1)
                    self._values[result] = self._array(array)[place]
                case Store(array, index, value):
                    place = int(self._get(index))
                    if 0 <= place < array.size:
                        self._array(array)[place] = self._get(value)
                case If(flag):
                    side = (statement.then, statement.then_values)
                    if not self._get(flag):
                        side = (statement.otherwise, statement.otherwise_values)
                    self._run(side[0])
                    self._values.update(zip(statement.results, self._all(side[1]), strict=True))
                case While():
                    self._loop(statement)
                case ForEach():
                    self._rounds(statement)
                case Call(function, arguments, results):
                    self._values.update(zip(results, self.call(function, self._all(arguments)), strict=True))

    def _loop(self, statement: While) -> None:
        numbers = self._all(statement.start)
        while True:
            self._values.update(zip(statement.variables, numbers, strict=True))
            self._run(statement.condition)
            if not self._get(statement.flag):
                break
            self._run(statement.body)
            numbers = self._all(statement.next)
        self._values.update(zip(statement.results, numbers, strict=True))

    def _rounds(self, statement: ForEach) -> None:
        rows = []
        for k in range(statement.count):
            self._values[statement.index] = k
            self._run(statement.body)
            rows.append(self._all(statement.values))
        for joint, result, column in zip(statement.joints, statement.results, zip(*rows, strict=True), strict=True):
            number = column[0]
            for other in column[1:]:
                number = rounded(MEANING[joint](number, other), result.kind, self._precision)
            self._values[result] = number
