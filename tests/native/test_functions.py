"""Functions: kept where they are large and called more than once."""

import jax
import jax.numpy as jnp
import numpy as np

from softground.native.program import Call
from softground.native.scalarise import scalarise

from .programs import check, compare, statements

X = jnp.linspace(0.1, 1.0, 12)


@jax.jit
def large(x, scale):
    for _ in range(20):
        x = jnp.sin(x * scale)
    return x, x.sum(), 2.0


@jax.jit
def small(x):
    return jnp.sin(x)


def calls(program) -> list[Call]:
    return [x for x in statements(program) if isinstance(x, Call)]


def test_a_large_function_is_made_once():
    program = check(lambda x: (large(x, 1.3), large(x * 2, 1.3), large(-x, 1.3)), X)
    (function,) = program.functions
    assert function.name == "large"
    assert len(calls(program)) == 3
    assert len(function.parameters) == 12
    assert len(statements(program)) < 1.2 * len(function.body)


def test_patterns_of_constants_have_functions_of_their_own():
    zeros = np.array([1.0] * 6 + [0.0] * 6)
    program = check(lambda x: [large(m * y, s) for m in (1.0, zeros) for s in (1.3, 1.4) for y in (x, x + 1)], X)
    assert len(program.functions) == 4
    assert len(calls(program)) == 8


def test_a_function_called_once_in_the_end_is_inlined():
    program = check(lambda x: (large(x, 1.3), large(x, 1.3), large(x, 1.4)), X)
    assert not program.functions
    assert not calls(program)


def test_a_small_function_is_inlined():
    assert not check(lambda x: small(x) + small(x + 1), X).functions


def test_what_no_call_needs_of_a_function_is_dropped():
    def function(x):
        return large(x, 1.3)[0][0], large(x + 1, 1.3)[0][1]

    program = check(function, X)
    assert len(program.functions[0].results) == 2


def test_functions_in_functions_and_loops():
    @jax.jit
    def outer(x):
        return large(large(jnp.exp(x), 1.3)[0] + jnp.outer(x, x).sum(0), 1.3)[0] + jnp.outer(x, x + 1).sum(1)

    def function(x):
        def body(c):
            return (c[0] + 1, outer(c[1]) * 0.1)

        return jax.lax.while_loop(lambda c: c[0] < 3, body, (0, x)), outer(x)

    program = check(function, X)
    assert [f.name for f in program.functions] == ["large", "outer"]


@jax.jit
def each_large(x, y):
    """Of one row, some 300 statements."""
    return large(x, 1.3)[0] * y, (x * y).sum()


def test_rows_of_vmap_are_calls():
    def function(x, scale):
        return jax.vmap(each_large)(x, scale)

    x, scale = np.linspace(-1, 1, 36).reshape(3, 12), np.array([1.0, 2.0, 3.0])
    program = scalarise(function, x, scale)
    compare(program, function, x, scale)
    assert len(calls(program)) == 3
    assert len(program.functions) == 1


def test_rows_that_differ_are_written_out():
    """Not made by `vmap` alone: each row is multiplied by a number of its own."""

    @jax.jit
    def each_differs(x):
        return jax.vmap(lambda row: large(row, 1.3)[0])(x) * np.array([[1.0], [2.0], [3.0]])

    x = np.linspace(-1, 1, 36).reshape(3, 12)
    program = scalarise(each_differs, x)
    compare(program, each_differs, x)
    assert not calls(program)
