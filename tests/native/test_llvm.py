"""Statements of a program, run natively, against the reference."""

import jax
import numpy as np
import pytest

from softground.native.calling import native
from softground.native.program import Buffer, LocalArray

from .building import function, number, program
from .reference import run


def same(made, *arrays):
    """Native results, which must be the reference's."""
    results = [np.asarray(result) for result in native(made)(*arrays)]
    for result, expected in zip(results, run(made, *arrays), strict=True):
        np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(np.float64).eps)
    same_rows(
        made,
        *(
            np.stack([array, array - array, -array, array, array])
            if array.dtype != bool
            else np.stack([array, ~array, array, ~array, array])
            for array in arrays
        ),
    )
    return results


def same_rows(made, *batches):
    """Rows of a batch that go different ways, side by side."""
    results = jax.vmap(native(made))(*batches)
    for row, arrays in enumerate(zip(*batches, strict=True)):
        for result, expected in zip(results, run(made, *arrays), strict=True):
            np.testing.assert_allclose(result[row], expected, rtol=4 * np.finfo(np.float64).eps)


@pytest.mark.parametrize("x", [-3.0, 4.0])
def test_if(x):
    def make(b, x):
        root = b.when(
            b.op("lt", x, number(0.0)),
            lambda b: (number(-1.0), number(0)),
            lambda b: (b.when(number(True), lambda b: [b.op("sqrt", x)], lambda b: [x])[0], number(1)),
        )
        return [*root, b.op("add", root[0], x)]

    same(program(64, [Buffer("float", 1)], make), np.array([x]))


@pytest.mark.parametrize("x", [-3.0, 0.5, 4.0])
def test_arms_write_the_outputs_that_they_make(x):
    """Some are made by arms inside of arms, some are used again, some are one number twice, or one from outside."""

    def make(b, x, y):
        def inner(b):
            root = b.op("sqrt", x)
            return [root, root, b.op("mul", y, root)]

        def above(b):
            return b.when(b.op("lt", x, number(1.0)), inner, lambda b: [y, x, number(0.0)])

        twice = b.op("mul", x, number(2.0))
        one, two, three, four = b.when(
            b.op("lt", x, number(0.0)), lambda b: [number(1.0), twice, y, twice], lambda b: [*above(b), twice]
        )
        return [one, b.op("add", two, y), two, three, three, four]

    same(program(64, [Buffer("float", 1), Buffer("float", 1)], make), np.array([x]), np.array([0.25]))


@pytest.mark.parametrize("n", [0, 1, 7])
def test_while(n):
    """Variables change at once: Fibonacci's numbers need the old ones. Loops stand in loops."""

    def make(b, n, x):
        def inner(b, k, s):
            return [b.op("add", k, number(1)), b.op("add", s, b.op("float_of_int", k))]

        def body(b, i, first, second, s):
            (_, s) = b.loop([number(0), s], lambda b, k, _: [b.op("lt", k, i)], inner)
            return [b.op("add", i, number(1)), second, b.op("add", first, second), s]

        return b.loop(
            [number(0), number(0), number(1), x], lambda b, i, *_: [b.op("lt", b.op("add", i, number(0)), n)], body
        )

    results = same(program(64, [Buffer("int", 1), Buffer("float", 1)], make), np.array([n], np.int32), np.array([0.5]))
    assert results[1][0] == [0, 1, 1, 2, 3, 5, 8, 13][n]


def test_call():
    """Functions of all kinds, called from one another, twice, in a loop; two may have one name."""
    swap = function("f", ["float", "int", "bool"], lambda b, x, i, c: [c, b.op("add", i, number(1)), b.op("exp", x)])

    def twice(b, x):
        _, i, y = b.call(swap, x, number(3), number(True))
        c, _, z = b.call(swap, b.op("neg", y), i, number(False))
        return [z, c]

    nested = function("f", ["float"], twice)

    def make(b, x):
        looped = b.loop(
            [number(0), x],
            lambda b, i, _: [b.op("lt", i, number(3))],
            lambda b, i, x: [b.op("add", i, number(1)), b.call(nested, x)[0]],
        )
        return [*b.call(nested, x), *looped]

    same(program(64, [Buffer("float", 1)], make, [swap, nested]), np.array([0.3]))


@pytest.mark.parametrize("index", [-5, -1, 0, 2, 3, 100, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("kind", ["float", "int", "bool"])
def test_memory(index, kind):
    """Loads outside take the nearest, stores outside do nothing; an array that is stored into starts anew each time."""
    numbers = {"float": (0.5, 1.5, 2.5), "int": (5, 6, 7), "bool": (True, False, True)}[kind]
    table, changed, unset = LocalArray(kind, 3, numbers), LocalArray(kind, 3, numbers), LocalArray(kind, 2)

    def make(b, i, x):
        b.store(unset, number(0), x)
        b.store(unset, number(1), x)
        before = b.load(changed, i)
        b.store(changed, i, x)
        return [b.load(table, i), before, *(b.load(changed, number(k)) for k in range(3)), b.load(unset, i)]

    made = program(64, [Buffer("int", 1), Buffer(kind, 1)], make)
    one = np.array([numbers[1]])
    same(made, np.array([index], np.int32), one.astype(np.int32) if kind == "int" else one)
    many = jax.vmap(native(made), in_axes=(0, None))(
        np.full((3, 1), index, np.int32), one.astype(np.int32) if kind == "int" else one
    )
    for result in many:
        assert (result == result[0]).all()


def test_groups_in_loops_and_arms():
    """They do not reach over the borders of blocks."""

    def make(b, *x):
        e = [b.op("rsqrt", b.op("sqrt", b.op("exp", value))) for value in x]
        (f,) = b.when(b.op("lt", e[0], e[1]), lambda b: [b.op("exp", e[2])], lambda b: [b.op("exp", e[3])])
        (g, _) = b.loop(
            [number(0.0), number(0)],
            lambda b, g, i: [b.op("lt", b.op("exp", g), number(9.0))],
            lambda b, g, i: [b.op("add", g, b.op("exp", b.op("mul", g, number(-0.5)))), i],
        )
        return [*e, f, g]

    same(program(64, [Buffer("float", 6)], make), np.linspace(-1, 1, 6))


def test_one_text_for_one_program():
    """Else it would not be found again on disk."""
    from softground.native.llvm import module_text

    def make():
        f = function("f", ["float"], lambda b, x: [b.op("exp", x)])
        return program(64, [Buffer("float", 1)], lambda b, x: b.call(f, x), [f])

    assert module_text(make()) == module_text(make())
