"""Sums of many terms: what is zero is dropped, what sums have in common is shared, and chains are short.

A sum in one chain waits for each addition before the next; four chains keep the adders of a processor busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softground.native.program import Operand
from softground.native.rules import is_number
from softground.native.scalars import Builder, Operands, numbers_of

#: Independent chains of a long sum, and the number of terms from which on it has them.
CHAINS, LONG = 4, 8


def total(build: Builder, terms: Sequence[Operand]) -> Operand:
    """Sum of floats or integers, in any order."""
    if not terms:
        return build.float(0.0)
    kept = [x for x in terms if not is_number(x, 0)]
    return chained(build, "add", kept) if kept else terms[0]


def chained(build: Builder, operation: str, terms: Sequence[Operand]) -> Operand:
    """All terms joined by an associative operation: a few chains, then a tree over them."""
    chains = CHAINS if len(terms) >= LONG else 1
    parts = [_chain(build, operation, terms[k::chains]) for k in range(chains)]
    while len(parts) > 1:
        parts = [_chain(build, operation, parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def _chain(build: Builder, operation: str, terms: Sequence[Operand]) -> Operand:
    result = terms[0]
    for term in terms[1:]:
        result = build.compute(operation, result, term)
    return result


def products(build: Builder, rows: Operands, columns: Operands) -> Operands:
    """All dot products of rows (m, n) with columns (k, n), shaped (m, k)."""
    for mask, others, turned in ((rows, columns, False), (columns, rows, True)):
        numbers = numbers_of(mask)
        if numbers is not None and mask.size and np.isin(numbers, (0.0, 1.0)).all():
            sums = _masked_sums(build, numbers.astype(bool), others)
            return sums.T if turned else sums
    result = np.empty((len(rows), len(columns)), object)
    for i, row in enumerate(rows.tolist()):
        for j, column in enumerate(columns.tolist()):
            result[i, j] = total(build, [build.compute("mul", x, y) for x, y in zip(row, column, strict=True)])
    return result


def _masked_sums(build: Builder, masks: np.ndarray, columns: Operands) -> Operands:
    """Sums over subsets. Each takes up the sums over smaller ones: for the subtrees of a tree that is the recursion."""
    result = np.empty((len(masks), len(columns)), object)
    done: list[tuple[int, frozenset[int]]] = []
    for row in sorted(range(len(masks)), key=lambda r: masks[r].sum()):
        members = frozenset(np.flatnonzero(masks[row]).tolist())
        rest, cover = members, []
        for other, smaller in reversed(done):
            if len(smaller) > 1 and smaller <= rest:
                cover.append(other)
                rest -= smaller
        for j in range(len(columns)):
            terms = [result[other, j] for other in cover] + [columns[j, i] for i in sorted(rest)]
            result[row, j] = total(build, terms)
        done.append((row, members))
    return result
