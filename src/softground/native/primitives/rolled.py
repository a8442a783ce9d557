"""Products of large constant matrices with vectors: a loop over a table instead of thousands of lines."""

from __future__ import annotations

import numpy as np

from softground.native.memory import current, element, keep
from softground.native.primitives.control_flow import while_loop
from softground.native.program import LocalArray, Operand, Store
from softground.native.scalars import Builder, Operands, numbers_of, operands_of
from softground.native.sums import products, total

#: Matrices of fewer numbers are written out; so are those of which less than half are not zero.
LARGE = 1000


def products_rolled_if_large(build: Builder, rows: Operands, columns: Operands) -> Operands:
    """All dot products of rows with columns, as `sums.products`."""
    for table, vector, turned in ((rows, columns, False), (columns, rows, True)):
        numbers = numbers_of(table) if len(vector) == 1 and table.size >= LARGE else None
        if numbers is not None and 2 * np.count_nonzero(numbers) > numbers.size:
            result = _rolled(build, table, vector[0])
            return result[None] if turned else result[:, None]
    return products(build, rows, columns)


def _rolled(build: Builder, matrix: Operands, vector: Operands) -> Operands:
    """A loop over rows. The table is kept column by column, so that neighbouring rows are neighbours in memory."""
    count = len(matrix)
    table = tuple(matrix.T.ravel().tolist())
    keep(build, table)
    memory = LocalArray("float", count)

    def step(build: Builder, carry: list[Operands]) -> list[Operands]:
        row = carry[0].item()
        terms = []
        for k, x in enumerate(vector.tolist()):
            number = element(build, table, build.compute("add", row, build.int(k * count)))
            terms.append(build.compute("mul", number, x))
        build.add(Store(memory, row, total(build, terms)))
        return [operands_of([build.compute("add", row, build.int(1))], ())]

    def more(build: Builder, carry: list[Operands]) -> Operand:
        return build.compute("lt", carry[0].item(), build.int(count))

    while_loop(build, more, step, [operands_of([build.int(0)], ())])
    return operands_of([current(build, memory, build.int(k)) for k in range(count)], (count,))
