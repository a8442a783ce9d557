"""Every operation against JAX's own, where numbers are ordinary and where they are not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from softground.native.calling import native
from softground.native.errors import NotNative
from softground.native.operations import OPERATIONS as WRITTEN
from softground.native.program import OPERATIONS, Buffer

from .building import number, program

LEAST = np.iinfo(np.int32).min
FLOATS = {
    bits: np.array(
        [
            *(0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 0.3, -0.7, 3.0, 1e-3, 7.3, -9.1, 88.0, -88.0, 1e5, 3e9, -3e9),
            *(np.inf, -np.inf, np.nan, np.finfo(kind).tiny, np.finfo(kind).max),
        ],
        kind,
    )
    for bits, kind in ((64, np.float64), (32, np.float32))
}
INTS = np.array([0, 1, -1, 2, -2, 7, -7, 31, 100003, -100003, 2**31 - 1, LEAST, LEAST + 1], np.int32)
BOOLS = np.array([False, True])

ORACLES = {
    "round": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "not": lax.bitwise_not,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
    "rsqrt": lambda x: 1 / jnp.sqrt(x),
    # XLA's own differ from the true value by more than our tolerance, so NumPy is asked.
    **{name: getattr(np, name) for name in ("exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh")},
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "pow": np.power, "rem": np.fmod},
    "float_of_int": lambda x: x,
    "float_of_bool": lambda x: x,
    # What XLA makes of floats that no int can hold depends on its version: the nearest int, and 0 of NaN, is ours.
    "int_of_float": lambda x: np.trunc(np.clip(np.nan_to_num(x.astype(float)), LEAST, 2**31 - 1)).astype(np.int32),
    "int_of_bool": lambda x: x,
    "select": lambda c, x, y: jnp.where(c, x, y),
}


def oracle(operation, kind, arguments):
    if operation == "rem" and kind == "int":
        return lax.rem(*arguments)
    find = ORACLES.get(operation) or getattr(lax, operation)
    with np.errstate(all="ignore"):
        return np.asarray(find(*arguments))


@pytest.mark.parametrize("precision", [64, 32])
@pytest.mark.parametrize("kind", ["float", "int", "bool"])
@pytest.mark.parametrize("arity", [1, 2])
@pytest.mark.parametrize("lanes", [1, None])
def test_operations_are_those_of_jax(precision, kind, arity, lanes):
    operations = [name for (name, of), _ in WRITTEN.items() if of == kind and OPERATIONS[name] == arity]
    values = {"float": FLOATS[precision], "int": INTS, "bool": BOOLS}[kind]
    arguments = [axis.ravel() for axis in np.meshgrid(*[values] * arity)]
    made = program(precision, [Buffer(kind, 1)] * arity, lambda b, *x: [b.op(name, *x) for name in operations])
    results = jax.vmap(native(made, lanes=lanes))(*(argument[:, None] for argument in arguments))
    for name, result in zip(operations, results, strict=True):
        expected = oracle(name, kind, arguments)
        if result.dtype.kind == "f":  # two units in the last place, which C's library keeps; XLA has no subnormals
            tolerance = dict(rtol=2 * np.finfo(result.dtype).eps, atol=np.finfo(result.dtype).tiny)
            np.testing.assert_allclose(result[:, 0], expected, err_msg=name, **tolerance)
        else:
            np.testing.assert_array_equal(result[:, 0], expected, err_msg=name)


@pytest.mark.parametrize("kind", ["float", "int", "bool"])
def test_select(kind):
    values = {"float": FLOATS[64], "int": INTS, "bool": BOOLS}[kind][:2]
    inputs = [Buffer("bool", 1), Buffer(kind, 2)]
    call = native(program(64, inputs, lambda b, flag, x, y: [b.op("select", flag, x, y)]))
    assert call(np.array([True]), values)[0][0] == values[0]
    assert call(np.array([False]), values)[0][0] == values[1]


def test_signs_of_zeros():
    """Kept, but that of a maximum or minimum of two zeros."""
    names = ["neg", "abs", "sign", "floor", "ceil", "round", "sqrt", "sin", "tan"]
    call = native(program(64, [Buffer("float", 1)], lambda b, x: [b.op(name, x) for name in names]))
    signs = [np.signbit(result[0]) for result in call(np.array([-0.0]))]
    assert signs == [name not in ("neg", "abs") for name in names]


@pytest.mark.parametrize("precision", [64, 32])
def test_constants_are_exact(precision):
    constants = [*map(float, FLOATS[precision]), 0.1, 1 / 3, 1e300, *map(int, INTS), 2**31, True, False]
    call = native(program(precision, [], lambda b: [number(x) for x in constants]))
    for result, constant in zip(jax.jit(call)(), constants, strict=True):
        with np.errstate(over="ignore"):
            expected = np.array(constant).astype(result.dtype)
        np.testing.assert_array_equal(result[0], expected)


def test_wide_ints_are_cut_and_widened():
    made = program(64, [Buffer("int", 2, 64)], lambda b, x, y: [b.op("add", x, y)])
    made = type(made)(made.precision, made.main, (), made.inputs, (Buffer("int", 1, 64),))
    (result,) = native(made)(np.array([2**40 - 5, 3]))
    (rows,) = jax.vmap(native(made))(np.array([[2**40 - 5, 3], [7, 2**33]]))
    assert result.dtype == rows.dtype == np.int64
    assert result[0] == -2
    np.testing.assert_array_equal(rows[:, 0], [-2, 7])


def test_a_table_of_operations_without_holes():
    assert {name for name, _ in WRITTEN} == set(OPERATIONS)


def test_an_operation_without_code_is_named():
    made = program(64, [Buffer("int", 2)], lambda b, x, y: [b.op("pow", x, y)])
    with pytest.raises(NotNative, match="pow of ints"):
        native(made)
