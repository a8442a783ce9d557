"""Cholesky factors and triangular systems, written out.

The factor of a matrix is what it is, but whoever asks for both substitutions wants the solution of a system, and a
solution may be found in any order. Robots are trees with the root first, so elimination from the last row up fills in
nothing that was zero. So factors and half solutions are remembered, and the second substitution starts anew from the
matrix in the better order; what it does not use of the first factor is dropped as dead code.
"""

from __future__ import annotations

import numpy as np

from softground.native.primitives.table import primitive
from softground.native.program import Operand
from softground.native.scalars import Builder, Operands, operands_of
from softground.native.sums import total


@primitive("cholesky")
def cholesky(build: Builder, equation, inputs):
    """Lower factors, of the lower triangles."""
    matrices = inputs[0].reshape(-1, *inputs[0].shape[-2:])
    factors = []
    for matrix in matrices:
        lower, inverse = factor(build, matrix)
        build.region.table["factor of", _identity(lower)] = matrix, inverse
        factors.append(lower)
    return _stacked(factors, inputs[0].shape)


def factor(build: Builder, matrix: Operands) -> tuple[Operands, list[Operand]]:
    """Lower factor of a positive definite matrix, of which the lower triangle is read, and its inverse pivots."""
    size = len(matrix)
    lower = np.full((size, size), build.float(0.0), object)
    inverse: list[Operand] = []
    for j in range(size):
        square = _less_products(build, matrix[j, j], lower[j, :j], lower[j, :j])
        inverse.append(build.compute("rsqrt", square))
        lower[j, j] = build.compute("mul", square, inverse[j])
        for i in range(j + 1, size):
            left = _less_products(build, matrix[i, j], lower[i, :j], lower[j, :j])
            lower[i, j] = build.compute("mul", left, inverse[j])
    return lower, inverse


@primitive("triangular_solve")
def triangular_solve(build: Builder, equation, inputs):
    settings = equation.params
    matrices = inputs[0].reshape(-1, *inputs[0].shape[-2:])
    rights = inputs[1].reshape(-1, *inputs[1].shape[-2:])
    solutions = []
    for matrix, right in zip(matrices, rights, strict=True):
        columns = right if settings["left_side"] else right.T
        transposed = settings["transpose_a"] == settings["left_side"]
        solve = _solve_columns(build, matrix, columns, settings["lower"], transposed, settings["unit_diagonal"])
        solutions.append(solve if settings["left_side"] else solve.T)
    return _stacked(solutions, inputs[1].shape)


def _solve_columns(build: Builder, matrix, columns, lower: bool, transposed: bool, unit: bool) -> Operands:
    solved = []
    name = _identity(matrix)
    known, inverse = (build.region.find(("factor of", name)) if lower and not unit else None) or (None, None)
    for column in columns.T:
        half = ("half solution", name, _identity(column))
        system = build.region.find(half) if known is not None and transposed else None
        if system is not None:
            solved.append(solve_from_last(build, *system))
            continue
        solution = _substitute(build, matrix.T if transposed else matrix, column, lower != transposed, unit, inverse)
        if known is not None and not transposed:
            build.region.table["half solution", name, _identity(solution)] = (known, column)
        solved.append(solution)
    return np.stack(solved, 1) if solved else columns


def solve_from_last(build: Builder, matrix: Operands, right: Operands) -> Operands:
    """Solution of a positive definite system, of which the lower triangle is read, eliminating the last row first.

    By factors L D L' with ones on the diagonal of L: a division for every pivot, and no root to wait for.
    """
    turned = np.where(np.tri(len(matrix), dtype=bool), matrix, matrix.T)[::-1, ::-1]
    lower, inverse = _unit_factor(build, turned)
    half = _substitute(build, lower, right[::-1], True, True)
    middle = operands_of([build.compute("mul", x, y) for x, y in zip(half, inverse, strict=True)], half.shape)
    return _substitute(build, lower.T, middle, False, True)[::-1]


def _unit_factor(build: Builder, matrix: Operands) -> tuple[Operands, list[Operand]]:
    """L, without its diagonal of ones, and the inverse of D, of a positive definite matrix L D L'."""
    size = len(matrix)
    lower, scaled = (np.full((size, size), build.float(0.0), object) for _ in range(2))  # scaled: L D
    inverse: list[Operand] = []
    for j in range(size):
        pivot = _less_products(build, matrix[j, j], lower[j, :j], scaled[j, :j])
        inverse.append(build.compute("div", build.float(1.0), pivot))
        for i in range(j + 1, size):
            scaled[i, j] = _less_products(build, matrix[i, j], lower[i, :j], scaled[j, :j])
            lower[i, j] = build.compute("mul", scaled[i, j], inverse[j])
    return lower, inverse


def _substitute(
    build: Builder, matrix: Operands, right: Operands, lower: bool, unit: bool, inverse: list[Operand] | None = None
) -> Operands:
    """Solution of a triangular system, with the inverse pivots where they are known."""
    order = list(range(len(matrix)))[:: 1 if lower else -1]
    solution = np.empty(len(matrix), object)
    for at, i in enumerate(order):
        left = _less_products(build, right[i], matrix[i, order[:at]], solution[order[:at]])
        if inverse is not None:
            left = build.compute("mul", left, inverse[i])
        elif not unit:
            left = build.compute("div", left, matrix[i, i])
        solution[i] = left
    return solution


def _less_products(build: Builder, start: Operand, xs: Operands, ys: Operands) -> Operand:
    """start - x·y."""
    terms = [build.compute("mul", x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
    return build.compute("sub", start, total(build, terms)) if terms else start


def _identity(array: Operands) -> tuple[int, ...]:
    return tuple(map(id, array.ravel().tolist()))


def _stacked(arrays: list[Operands], shape: tuple[int, ...]) -> Operands:
    return np.stack(arrays).reshape(shape) if arrays else np.empty(shape, object)
