"""Native programs inside of compiled JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.native.calling import native
from softground.native.errors import NotNative
from softground.native.program import Buffer, Program

from .building import number, program


def swing(precision=64) -> Program:
    """A pendulum's step: (angle, speed) and a bool that holds it still, to both and the number of steps."""

    def make(b, angle, speed, still, steps):
        faster = b.op("sub", speed, b.op("mul", number(0.01), b.op("sin", angle)))
        further = b.op("add", angle, b.op("mul", number(0.01), faster))
        return [
            b.op("select", still, angle, further),
            b.op("select", still, speed, faster),
            b.op("add", steps, number(1)),
        ]

    made = program(precision, [Buffer("float", 2), Buffer("bool", 1), Buffer("int", 1)], make)
    return Program(precision, made.main, (), made.inputs, (Buffer("float", 2), Buffer("int", 1)))


def swing_of_jax(state, still, steps):
    angle, speed = state
    faster = speed - 0.01 * jnp.sin(angle)
    return jnp.where(still, state, jnp.stack([angle + 0.01 * faster, faster])), steps + 1


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_in_scan(kind):
    call = native(swing(np.dtype(kind).itemsize * 8), [(2,), ()])

    state = jnp.array([0.5, 0.1], kind)
    roll = jax.jit(
        lambda state, step: jax.lax.scan(
            lambda carry, _: (tuple(step(carry[0], jnp.array(False), carry[1])), carry[0]),
            (state, jnp.int32(0)),
            length=50,
        ),
        static_argnums=1,
    )
    (end, steps), path = roll(state, call)
    (end_of_jax, _), path_of_jax = roll(state, swing_of_jax)
    assert end.dtype == kind
    assert steps == 50
    np.testing.assert_allclose(end, end_of_jax, rtol=100 * np.finfo(kind).eps)
    np.testing.assert_allclose(path, path_of_jax, rtol=100 * np.finfo(kind).eps)


def test_in_a_loop_that_ends_by_value():
    call = native(swing(), [(2,), ()])
    end, steps = jax.jit(
        lambda state: jax.lax.while_loop(
            lambda carry: carry[0][0] > 0.4,
            lambda carry: call(carry[0], jnp.array(False), carry[1]),
            (state, jnp.int32(0)),
        )
    )(jnp.array([0.5, 0.0]))
    assert end[0] <= 0.4
    assert steps > 10


@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)])
def test_a_batch_is_one_call(axes):
    """Also where only some of the arguments are batches."""
    call = native(swing(), [(2,), ()])
    states, stills, steps = (
        np.random.default_rng(0).normal(size=(5, 2)),
        np.arange(5) % 2 == 0,
        np.arange(5, dtype=np.int32),
    )
    given = [x if axis == 0 else x[1] for x, axis in zip((states, stills, steps), axes, strict=True)]
    mapped = jax.vmap(call, axes)
    for result, expected in zip(mapped(*given), jax.vmap(swing_of_jax, axes)(*given), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-14)
    assert str(jax.make_jaxpr(mapped)(*given)).count("ffi_call[") == 1


def test_a_batch_of_batches():
    call = native(swing(), [(2,), ()])
    states, stills = np.random.default_rng(0).normal(size=(3, 4, 2)), np.arange(3) == 0
    mapped = lambda step: jax.vmap(jax.vmap(step, (0, None, None)), (0, 0, None))  # noqa: E731
    for result, expected in zip(
        mapped(call)(states, stills, np.int32(3)), mapped(swing_of_jax)(states, stills, np.int32(3)), strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-14)


def test_an_empty_batch():
    call = native(swing(), [(2,), ()])
    state, steps = jax.vmap(call, (0, None, None))(np.zeros((0, 2)), np.array(False), np.int32(0))
    assert state.shape == (0, 2)
    assert steps.shape == (0,)


@pytest.mark.parametrize(
    "arrays",
    [
        (np.zeros(2), np.array(True)),
        (np.zeros(3), np.array(True), np.int32(0)),
        (np.zeros(2, np.float32), np.array(True), np.int32(0)),
        (np.zeros(2), np.array(True), np.int64(0)),
    ],
)
def test_other_arrays_are_refused(arrays):
    with pytest.raises(NotNative):
        native(swing())(*arrays)
