"""Arrays that native code reads and sets at indices where they are: interpreted, in JAX, and as a kernel's text."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.native.compiling import natively
from softground.native.errors import NotNative
from softground.native.interpreter import interpret
from softground.native.scalarise import scalarise

from .on_host import needs_compiler, run

SIZE = 40


def wandered(place, steps, field):
    """A walker that leaves its step's number where it is, and goes on by what it finds there: sets, reads and adds, in
    a loop and in a branch. Returns the sum of what it found and the field."""

    def turn(k, carry):
        place, total, field = carry
        at = jnp.mod(place, SIZE)
        found = field.at[at, 0].get(mode="promise_in_bounds")
        near = field[jnp.mod(at + jnp.arange(3), SIZE), 1]

        def leave():
            changed = field.at[at, 0].set(found + k + 1.0, mode="promise_in_bounds")
            return changed.at[jnp.mod(at + 5, SIZE), 1].add(near.sum() + 1.0)

        field = jax.lax.cond(found < 20.0, leave, lambda: field)
        return place + 1 + found.astype(jnp.int32), total + found + near.sum(), field

    _, total, field = jax.lax.fori_loop(0, steps, turn, (place, jnp.zeros(()), field))
    return total, field


PLACES, STEPS = jnp.arange(13, dtype=jnp.int32) * 7, jnp.arange(13, dtype=jnp.int32)
FIELDS = jnp.asarray(np.random.default_rng(0).integers(0, 5, size=(13, SIZE, 2)).astype(float))


@pytest.fixture(scope="module")
def expected():
    return jax.jit(jax.vmap(wandered))(PLACES, STEPS, FIELDS)


@pytest.fixture(scope="module")
def program():
    return scalarise(wandered, PLACES[0], STEPS[0], FIELDS[0], in_place=1)


def test_the_field_is_not_taken_apart(program):
    assert len(program.main.parameters) == 2
    assert len(program.main.results) == 1
    assert [array.size for array in program.memory] == [2 * SIZE]


def test_interpreted(program, expected):
    for row in range(len(PLACES)):
        found = interpret(program, PLACES[row], STEPS[row], FIELDS[row])
        for one, leaf in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, np.ravel(leaf[row]))


@pytest.mark.parametrize("batched", [False, True])
def test_in_jax(batched, expected):
    """One row, and 13 rows in lanes of four, of which the last lanes repeat a row. What was given stays as it was."""
    call = natively(wandered, PLACES[0], STEPS[0], FIELDS[0], in_place=1)
    given = (PLACES, STEPS, FIELDS) if batched else (PLACES[6], STEPS[6], FIELDS[6])
    before = np.asarray(given[2]).copy()
    found = jax.jit(jax.vmap(call) if batched else call)(*given)
    for one, leaf in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, leaf if batched else leaf[6])
    np.testing.assert_array_equal(given[2], before)


@needs_compiler
@pytest.mark.parametrize("team", [1, 4])
def test_as_a_kernel(program, expected, team):
    """With one thread for a row, and with several, of which one writes what all read."""
    found = run(program, PLACES, STEPS, FIELDS, team=team)
    for one, leaf in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.ravel(one), np.ravel(leaf))


@pytest.mark.parametrize(
    "function",
    [lambda field: 2 * field, lambda field: (field[0, 0], jnp.zeros_like(field)), lambda field: -field[::-1]],
)
def test_nothing_else_can_be_done_with_it(function):
    with pytest.raises(NotNative, match="in place"):
        scalarise(function, FIELDS[0], in_place=1)
