"""Functions of arrays with a long axis: loops over it, which do what JAX does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.native.program import ForEach
from softground.native.scalarise import scalarise

from .programs import check, compare, statements

LENGTH = 21
POINTS = np.random.default_rng(5).normal(size=(2, LENGTH, 3))
TWISTS = np.array([[0.5, -1.0, 0.25], [2.0, 0.1, -0.7]])


def loops(program) -> list[ForEach]:
    return [x for x in statements(program) if isinstance(x, ForEach)]


@jax.jit
def each_moment(points, twist):
    """A softmax over the points: its first and second moment."""
    score = (points * twist).sum(-1)
    weight = jnp.exp(score - score.max())
    weighted = weight[:, None] * points
    total, first = weight.sum(), weighted.sum(0)
    second = (weighted[:, :, None] * points[:, None, :]).sum(0)
    return first / total, second / total


def test_two_loops_for_each_row():
    program = check(lambda points, twists: jax.vmap(each_moment)(points, twists), POINTS, TWISTS, tolerance=1e-13)
    assert len(loops(program)) == 4
    assert {one.count for one in loops(program)} == {LENGTH}
    # one sum, three first moments, and the six second ones that differ
    assert sorted(len(one.results) for one in loops(program)) == [1, 1, 10, 10]


def test_points_are_put_into_memory_once():
    def function(points, twists):
        def body(_, twists):
            return jax.vmap(each_moment)(points, twists)[0]

        return jax.lax.fori_loop(0, 3, body, twists)

    check(function, POINTS, TWISTS, tolerance=1e-12)
    inside = scalarise(function, POINTS, TWISTS)
    assert sum(type(x).__name__ == "Store" for x in inside.main.body) == POINTS.size


@jax.jit
def each_of_all_kinds(x, y):
    """What is spread at its end, a divisor of all rounds, a choice, a flag, a transposed array, a sum after a sum."""
    z = jnp.where(x > y[0], x / y[1], jnp.sqrt(jnp.abs(x)) ** 3)
    table = (x[None, :] * y[:, None]).T
    mean = z.sum() / LENGTH
    spread = ((z - mean) ** 2).sum()
    return z - mean, spread, table.sum(), (table.sum(1) * z).max(), jnp.sin(x).reshape(LENGTH, 1)


def test_operations_on_elements():
    x = np.linspace(-2.0, 2.0, 2 * LENGTH).reshape(2, LENGTH)
    program = check(lambda x, y: jax.vmap(each_of_all_kinds)(x, y), x, TWISTS, tolerance=1e-13)
    assert len(loops(program)) >= 4


@pytest.mark.parametrize("change", [lambda x: jnp.cumsum(x), lambda x: x[::-1], lambda x: x.reshape(3, 7).sum(0)])
def test_what_is_no_loop_is_written_out(change):
    @jax.jit
    def each_changed(x):
        return (change(jnp.exp(x)) ** 2).sum()

    x = np.linspace(-2.0, 2.0, 2 * LENGTH).reshape(2, LENGTH)
    program = scalarise(jax.vmap(each_changed), x)
    compare(program, jax.vmap(each_changed), x)
    assert not loops(program)


def test_short_axes_are_written_out():
    assert not loops(check(lambda p, t: jax.vmap(each_moment)(p, t), POINTS[:, :7], TWISTS, tolerance=1e-13))


@jax.jit
def each_rearranged(points, twist):
    """Parts taken, put side by side and stacked along axes that are not the long one."""
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    turned = jnp.stack([jnp.stack([x, -y], axis=-1), jnp.stack([z, twist[0] * x], axis=-1)], axis=-2)
    wide = jnp.concatenate([points[:, 1:], twist[1] * points[:, :2]], axis=-1)
    first, second = jnp.unstack(wide[:, 1:3], axis=1)
    return turned.sum(0), (wide * wide).sum((0, 1)), (first * second).sum(), turned[:, 1]


def test_what_moves_elements_across_the_long_axis_stays_in_loops():
    program = check(lambda points, twists: jax.vmap(each_rearranged)(points, twists), POINTS, TWISTS, tolerance=1e-13)
    assert {one.count for one in loops(program)} == {LENGTH}
