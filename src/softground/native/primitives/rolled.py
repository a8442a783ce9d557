"""Products of large constant matrices with vectors: a loop over their rows instead of thousands of lines.

A table is larger than what a processor has at hand, and reading it takes longer than the products: all vectors that
meet the same table, as those of feet of one shape do, are multiplied in one loop.
"""

from __future__ import annotations

import numpy as np

from softground.native.memory import keep
from softground.native.program import Constant, ForEach, LocalArray, Store, Value
from softground.native.scalars import Builder, Operands, Region, numbers_of, operands_of
from softground.native.sums import products, total

#: Matrices of fewer numbers in all, or of fewer rows, are written out; so are those of which less than half are not
#: zero.
LARGE, MANY = 1000, 16
#: Vectors in one loop, whose sums fit into registers.
MOST = 4


def products_rolled_if_large(build: Builder, rows: Operands, columns: Operands) -> Operands:
    """All dot products of rows (b, m, n) with columns (b, k, n) for each index of a batch, shaped (b, m, k)."""
    for table, vector, turned in ((rows, columns, False), (columns, rows, True)):
        if vector.shape[1] == 1 and _are_large(table):
            found = _by_table(build, table, vector[:, 0])
            return found[:, None] if turned else found[:, :, None]
    result = np.empty((len(rows), rows.shape[1], columns.shape[1]), object)
    for k in range(len(rows)):
        result[k] = products(build, rows[k], columns[k])
    return result


def _are_large(tables: Operands) -> bool:
    """Whether tables have many rows, and together many numbers."""
    if tables.size < LARGE or tables.shape[1] < MANY:
        return False
    numbers = numbers_of(tables)
    return numbers is not None and bool(2 * np.count_nonzero(numbers) > numbers.size)


def _by_table(build: Builder, tables: Operands, vectors: Operands) -> Operands:
    """Products of each table with its vector."""
    result = np.empty(tables.shape[:2], object)
    same: dict[tuple[int, ...], list[int]] = {}
    for k, table in enumerate(tables):
        same.setdefault(tuple(map(id, table.ravel().tolist())), []).append(k)
    for members in same.values():
        for first in range(0, len(members), MOST):
            some = members[first : first + MOST]
            result[some] = _rolled(build, tables[some[0]], vectors[some])
    return result


def _rolled(build: Builder, matrix: Operands, vectors: Operands) -> Operands:
    """A loop over rows, with each column of the matrix in memory of its own: neighbouring rows are neighbours there."""
    count = len(matrix)
    index, memories = Value("int"), [LocalArray("float", count) for _ in vectors]
    needed = [k for k, xs in enumerate(vectors.T.tolist()) if any(type(x) is not Constant or x.number for x in xs)]
    columns = {k: keep(build, tuple(matrix[:, k].tolist())) for k in needed}
    with build.inside(Region(build.region)) as body:
        numbers = {k: build.load(column, index) for k, column in columns.items()}
        for memory, vector in zip(memories, vectors, strict=True):
            terms = [build.compute("mul", numbers[k], vector[k]) for k in needed]
            build.add(Store(memory, index, total(build, terms)))
    build.add(ForEach(index, count, body.statements, (), (), ()))
    return operands_of(
        [build.load(memory, build.int(k)) for memory in memories for k in range(count)], (len(vectors), count)
    )
