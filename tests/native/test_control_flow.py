"""Branches and loops: resolved where they can be, over as few variables as they need where they cannot."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from softground.native.program import If, Load, Store, While
from softground.native.scalarise import scalarise

from .programs import check, compare, operations, statements

X = jnp.linspace(-1.0, 2.0, 6)


def of(kind, program) -> list:
    return [x for x in statements(program) if isinstance(x, kind)]


def test_a_branch_runs_one_side():
    def function(x):
        return lax.cond(x.sum() > 0, lambda x: jnp.sin(x) @ x, lambda x: jnp.cos(x) @ x, x)

    program = scalarise(function, X)
    for sign in (1, -1):
        compare(program, function, sign * X)
    (branch,) = of(If, program)
    assert [x.operation for x in branch.then].count("sin") == 6
    assert [x.operation for x in branch.otherwise].count("cos") == 6


def test_a_branch_that_is_known_is_no_branch():
    program = check(lambda x: lax.cond(np.array(True), jnp.sin, jnp.cos, x), X)
    assert set(operations(program)) == {"sin"}
    assert not of(If, program)


def test_a_branch_that_does_nothing_is_a_choice():
    program = check(lambda x: lax.cond(x[0] > 0, lambda x: (x[1], x[5]), lambda x: (x[2], x[5]), x), X)
    assert sorted(operations(program)) == ["lt", "select"]


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 3, 9])
def test_several_branches(index):
    cases = [lambda x, k=k: jnp.sin(x + k) for k in range(4)]
    check(lambda k, x: lax.switch(k, cases, x), jnp.int32(index), X)


def test_what_a_branch_has_done_is_not_taken_for_done_outside():
    def function(x):
        return lax.cond(x[0] > 0, jnp.sin, jnp.cos, x) + jnp.sin(x)

    program = scalarise(function, X)
    for sign in (1, -1):
        compare(program, function, sign * X)


def test_a_loop_keeps_only_what_changes():
    """Of ten numbers that are carried five change, two of them alike, and one of these is not needed."""

    def body(carry):
        k, x, twice, same, unused = carry
        return k + 1, x * 1.5 + same[0], twice * 1.5 + same[0], same, unused + x

    def function(x):
        start = (0, x[0], x[0], x[:6], x[1])
        return lax.while_loop(lambda carry: (carry[0] < 7) & (carry[1] < 3), body, start)[:4]

    program = scalarise(function, X)
    for sign in (1, -1):
        compare(program, function, sign * X)
    (loop,) = of(While, program)
    assert len(loop.variables) == 2
    assert program.main.results[-1] not in loop.results


def test_a_loop_that_never_runs():
    program = check(lambda x: lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] - 1, c[1] * 2), (0, x)), X)
    assert not statements(program)


def test_loops_in_loops_and_branches():
    def inner(x):
        return lax.while_loop(
            lambda c: c[0] < 5, lambda c: (c[0] + 1, lax.cond(c[1] > 1, jnp.sqrt, jnp.exp, c[1])), (0, x)
        )

    def function(x):
        return lax.while_loop(lambda c: c[1] < 20, lambda c: (c[0] + 1, c[1] + inner(c[1])[1]), (0, x[1]))

    check(function, X)


def test_a_short_scan_is_unrolled():
    program = check(lambda x: lax.scan(lambda c, row: (c * row, c + row), 1.0, x, reverse=True), X)
    assert not of(While, program)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_scan_is_a_loop_in_memory(reverse):
    rows = jnp.sin(jnp.arange(600.0)).reshape(300, 2)

    def step(carry, row):
        carry = jnp.cos(carry + row[0]) * 0.9 + row[1]
        return carry, (carry.sum() + row, carry[0] > 0)

    program = check(lambda x, rows: lax.scan(step, x, rows, reverse=reverse), X, rows)
    (loop,) = of(While, program)
    assert len(loop.variables) == 7
    assert len(statements(program)) < 3000
    assert {type(x) for x in loop.body} >= {Load, Store}


def test_a_loop_without_inputs_of_its_own():
    check(lambda x: lax.fori_loop(0, 1000, lambda k, c: c + jnp.sin(k * c), x), X)


def test_an_array_that_a_loop_indexes():
    """A sum along a path through a table: memory is filled before the loop, not in it."""
    table = jnp.arange(50.0) ** 2

    def function(x, start):
        def body(carry):
            k, total = carry
            return (7 * k + 1) % 50, total + table[k] + x[k % 6]

        return lax.while_loop(lambda carry: carry[1] < 5000, body, (start, 0.0))

    program = scalarise(function, X, jnp.int32(3))
    for start in (3, 4):
        compare(program, function, X, jnp.int32(start))


def test_an_array_that_a_loop_changes():
    def body(k, x):
        return x.at[(3 * k) % 6].add(x[k % 6] * 0.1)

    check(lambda x: lax.fori_loop(0, 5000, body, x), X, tolerance=1e-9)


def test_derivatives_of_loops():
    def function(x):
        return lax.scan(lambda c, row: (jnp.sin(c * row), c), x[0], x)[0]

    check(jax.grad(function), X)
    check(jax.hessian(function), X)
