"""Sums of many terms: what is zero is dropped, what is common is taken out, and chains are short.

A sum in one chain waits for each addition before the next; four chains keep the adders of a processor busy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from softground.native.program import Constant, Operand
from softground.native.rules import is_number
from softground.native.scalars import Builder, Operands, numbers_of

#: Independent chains of a long sum, and the number of terms from which on it has them.
CHAINS, LONG = 4, 8
#: Number of terms from which on common factors are looked for.
FACTORED = 16

Term = tuple[int, tuple[Operand, ...]]  # sign and factors


def total(build: Builder, terms: Sequence[Operand]) -> Operand:
    """Sum of floats or integers, in any order."""
    if not terms:
        return build.float(0.0)
    kept = [x for x in terms if not is_number(x, 0)]
    if not kept:
        return terms[0]
    if len(kept) >= FACTORED and kept[0].kind == "float":
        return _factored(build, [_factors(build, x) for x in kept])
    return chained(build, "add", kept)


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


def _factors(build: Builder, term: Operand) -> Term:
    """A product of products taken apart, but for products with a constant, which are often shared."""
    sign, factors, left = 1, [], [term]
    while left:
        one = left.pop()
        if inner := build.arguments_of(one, "neg"):
            sign = -sign
            left += inner
        elif (inner := build.arguments_of(one, "mul")) and not any(type(x) is Constant for x in inner):
            left += inner[::-1]
        else:
            factors.append(one)
    return sign, tuple(factors)


def _factored(build: Builder, terms: list[Term]) -> Operand:
    """a b + a c + ... = a (b + c) + ..., the most common factor first."""
    if len(terms) == 1:
        sign, factors = terms[0]
        product = _chain(build, "mul", factors) if factors else build.float(1.0)
        return product if sign > 0 else build.compute("neg", product)
    counts = Counter(x for _, factors in terms for x in dict.fromkeys(factors))
    common, number = max(counts.items(), key=lambda item: item[1], default=(None, 0))
    if common is None or number < 2:
        return chained(build, "add", [_factored(build, [term]) for term in terms])
    inside = [(sign, _without(factors, common)) for sign, factors in terms if common in factors]
    outside = [(sign, factors) for sign, factors in terms if common not in factors]
    product = build.compute("mul", common, _factored(build, inside))
    return build.compute("add", product, _factored(build, outside)) if outside else product


def _without(factors: tuple[Operand, ...], one: Operand) -> tuple[Operand, ...]:
    at = factors.index(one)
    return factors[:at] + factors[at + 1 :]


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
