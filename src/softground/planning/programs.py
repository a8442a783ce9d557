"""Compiled programs of a transcription, and where its derivatives can differ from zero: found once, kept on disk.

They are made for the shape of a problem: robot, medium, number of knots, kinds of costs. All that commands differ in is
an argument (`blocks.numbers_of`). What is kept is machine code, not a trace to compile again: a process that plans with
a shape that was planned with before traces nothing, which is what took most of the time of an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.planning.blocks import (
    Block,
    CurvaturePlan,
    Pattern,
    curvature_plan,
    generic,
    numbers_of,
    pattern,
)
from softground.planning.kept_programs import Kept

Blocks = tuple[list[Block], list[Block]]  # of costs, of constraints
Leaves = list[np.ndarray]
Samples = Callable[[], Sequence[np.ndarray]]


class Programs:
    """Programs for blocks of costs and constraints: functions of the blocks' numbers (`leaves`), unknowns z and eps.

    samples: makes typical but random unknowns, at which patterns are found.
    """

    def __init__(self, blocks: Blocks, name: str | None, samples: Samples):
        """name: their `identity`."""
        self._numbers, self._rest = numbers_of(blocks)
        self._samples = samples
        self.all_linear = all(block.linear for block in blocks[0])  # the costs' Hessian is the same everywhere
        self._native = [block.worth_native_code for block in blocks[1]]
        self._kept = Kept(name)
        self._curvatures: dict[int, Callable] = {}

    # -- values and slopes -------------------------------------------------------------------------------

    @cached_property
    def value(self) -> Callable:
        """Sum of all costs."""
        return self._program("value", self._value)

    @cached_property
    def gradient(self) -> Callable:
        """Its gradient."""
        return self._program("gradient", lambda blocks, z, eps: jax.grad(lambda z: self._value(blocks, z, eps))(z))

    @cached_property
    def rows(self) -> Callable:
        """All rows of all constraints."""

        def rows(blocks, z, eps):
            return jnp.concatenate([block.all_rows(z, eps).reshape(-1) for block in blocks[1]])

        return self._program("rows", rows)

    @cached_property
    def jacobian(self) -> Callable:
        """Entries of the constraints' Jacobian, block by block, place by place, in the order of the patterns."""
        patterns = self.constraint_patterns

        def in_pattern(slopes):
            places = zip(slopes, patterns, strict=True)
            return jnp.concatenate([one[:, place.row, place.column].reshape(-1) for one, place in places])

        return self._then(self._constraint_slopes, "jacobian", in_pattern)

    @cached_property
    def cost_hessian(self) -> Callable:
        """Entries of twice J'J of all costs, in the order of their patterns (`products`)."""
        patterns = self.cost_patterns

        def squared(slopes):
            parts = [jnp.zeros(0)]
            for one, places in zip(slopes, patterns, strict=True):
                row, column = products(places)
                parts.append((2 * jnp.einsum("kri,krj->kij", one, one))[:, row, column].reshape(-1))
            return jnp.concatenate(parts)

        return self._then(self._cost_slopes, "cost hessian", squared)

    @staticmethod
    def _value(blocks, z, eps):
        return sum((jnp.sum(block.all_rows(z, eps) ** 2) for block in blocks[0]), jnp.zeros(()))

    @cached_property
    def _constraint_slopes(self) -> Callable:
        return self._program("constraint slopes", lambda blocks, *given: [b.all_jacobians(*given) for b in blocks[1]])

    @cached_property
    def _cost_slopes(self) -> Callable:
        return self._program("cost slopes", lambda blocks, *given: [b.all_jacobians(*given) for b in blocks[0]])

    # -- patterns ----------------------------------------------------------------------------------------

    @cached_property
    def constraint_patterns(self) -> list[Pattern]:
        return self._kept.found("constraint patterns", Pattern, lambda: self._patterns(self._constraint_slopes))

    @cached_property
    def cost_patterns(self) -> list[Pattern]:
        return self._kept.found("cost patterns", Pattern, lambda: self._patterns(self._cost_slopes))

    @cached_property
    def curvature_plans(self) -> list[CurvaturePlan]:
        """For each block of constraints, which directions tell its Hessian."""
        return self._kept.found("curvature plans", CurvaturePlan, self._curvature_plans)

    def _patterns(self, slopes: Callable) -> list[Pattern]:
        typical = leaves_of(generic(self._numbers))
        return [pattern(block) for block in zip(*(slopes(typical, z, 1.0) for z in self._samples()), strict=True)]

    def _curvature_plans(self) -> list[CurvaturePlan]:
        typical, z, plans = leaves_of(generic(self._numbers)), self._samples()[0], []
        for number, places in enumerate(self.constraint_patterns):
            count, width = self._rest[1][number].columns.shape
            multipliers = np.random.default_rng(0).normal(size=(count, places.n_rows))
            columns = self.curvatures(number)(typical, z, 1.0, multipliers, np.eye(width))
            plans.append(curvature_plan(np.asarray(columns)))
        return plans

    def curvatures(self, number: int) -> Callable:
        """Curvature of a block of constraints, times its multipliers, along directions: (direction, place, width)."""
        if number not in self._curvatures:
            self._curvatures[number] = self._curvature_program(number)
        return self._curvatures[number]

    def _curvature_program(self, number: int) -> Callable:

        def along(blocks, z, eps, multipliers, directions):
            block, native = blocks[1][number], self._native[number]
            how = {"native": True} if native else {}
            return jax.lax.map(lambda one: block.all_curvatures_along(z, eps, multipliers, one, **how), directions)

        return self._program(f"curvatures {number}", along)

    # -- compiling ---------------------------------------------------------------------------------------

    def _program(self, name: str, function: Callable) -> Callable:
        """function(blocks, *arrays) as a program of (leaves, *arrays)."""
        structure = jax.tree.structure(self._numbers)

        def with_numbers(leaves, *arrays):
            return function(eqx.combine(jax.tree.unflatten(structure, leaves), self._rest), *arrays)

        return self._kept.program(name, with_numbers)

    def _then(self, first: Callable, name: str, second: Callable) -> Callable:
        """One program after another: the first is also needed by itself, and long to compile."""
        after = self._kept.program(name, second)
        return lambda *given: after(first(*given))


def kept_call(function: Callable, parts: Any, *arrays: Any) -> Any:
    """function(parts, *arrays), its program kept on disk for parts that differ in numbers alone (`numbers_of`).

    function: of a module; it returns arrays in tuples, lists or dictionaries.
    """
    numbers, rest = numbers_of(parts)
    structure = jax.tree.structure(numbers)

    def with_numbers(leaves, *arrays):
        return function(eqx.combine(jax.tree.unflatten(structure, leaves), rest), *arrays)

    name = identity(parts, by_zeros=False)
    name = None if name is None else f"{function.__module__}.{function.__qualname__} {name}"
    program = _calls.setdefault(name, Kept(name).program("call", with_numbers))
    if name is None:
        _calls.pop(None)
    return program(leaves_of(numbers), *arrays)


_calls: dict[str | None, Callable] = {}


def leaves_of(numbers: Any) -> Leaves:
    """The numbers of blocks as programs take them."""
    return [np.asarray(leaf, dtype=float) for leaf in jax.tree.leaves(numbers)]


def products(places: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Lower triangle of J'J of a block with this pattern."""
    used = np.zeros((places.n_rows, places.column.max() + 1), dtype=bool)
    used[places.row, places.column] = True
    row, column = np.nonzero(np.tril(used.T.astype(int) @ used > 0))
    return row, column


def identity(blocks: Any, by_zeros: bool = True) -> str | None:
    """What programs for these blocks are made for: equal for all blocks that they serve. None where nobody knows.

    by_zeros: which numbers are zero is part of it, where patterns are found by them; on surfaces noise sees to that.
    """
    numbers, rest = numbers_of(blocks)
    zeros = [np.asarray(leaf) == 0 for leaf in jax.tree.leaves(generic(numbers))] if by_zeros else []
    text = f"{jax.tree.structure(numbers)} {jax.tree.structure(rest)}"
    if " at 0x" in text or not _ours(blocks):
        return None
    found = hashlib.sha256(text.encode())
    for leaf in [*zeros, *jax.tree.leaves(rest)]:
        array = np.asarray(leaf)
        found.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
    return found.hexdigest()


def _ours(part: Any) -> bool:
    """Whether a part of blocks is numbers and classes of softground's all the way down."""
    if part is None or isinstance(part, str | bytes) or eqx.is_array_like(part):
        return True
    if isinstance(part, type):
        return part.__module__.startswith("softground.")
    if is_dataclass(part):
        return _ours(type(part)) and all(_ours(getattr(part, field.name)) for field in fields(part))
    if isinstance(part, dict):
        return all(map(_ours, [*part, *part.values()]))
    if isinstance(part, tuple | list):
        return all(map(_ours, part))
    return False
