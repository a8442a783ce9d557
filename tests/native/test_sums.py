"""Sums and products: zeros vanish, masks share partial sums, chains are short."""

import jax.numpy as jnp
import numpy as np

from softground.native.program import Value
from softground.native.scalars import Builder, operands_of
from softground.native.sums import products, total

from .programs import check, operations


def test_zeros_are_dropped():
    program = check(lambda x: np.diag([1.0, 0.0, 2.0, 0.0]) @ x, jnp.arange(1.0, 5.0))
    assert operations(program) == ["mul"]


def test_nested_masks_are_a_recursion():
    """Sums over the subtrees of a chain: one addition each, on either side of the product."""
    x = jnp.arange(1.0, 9.0)
    assert operations(check(lambda x: np.tri(8) @ x, x)) == ["add"] * 7
    assert operations(check(lambda x: x @ np.tri(8), x)) == ["add"] * 7


def test_long_sums_have_short_chains():
    build = Builder(64)
    total(build, [Value("float") for _ in range(12)])
    depth: dict = {}
    for statement in build.region.statements:
        depth[statement.result] = 1 + max(depth.get(x, 0) for x in statement.arguments)
    assert len(build.region.statements) == 11
    assert max(depth.values()) == 4


def test_products_of_nothing():
    build = Builder(64)
    empty = operands_of([], (2, 0))
    assert {x.number for x in products(build, empty, empty).ravel()} == {0.0}
