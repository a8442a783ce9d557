"""Functions of mathematics that are our own, against those of more digits, over all of their range."""

import ctypes
import itertools
from typing import Literal

import numpy as np
import pytest

from softground.native.machine import address, machine_code
from softground.native.mathematics import mathematics
from softground.native.sine import LIMIT
from softground.native.writer import Writer

COUNT = itertools.count()  # a library can be loaded once
KINDS = {64: np.float64, 32: np.float32}


def computed(name: str, precision: Literal[32, 64], width: int, x: np.ndarray) -> np.ndarray:
    """A function by our lines, without XLA, whose threads have no subnormal numbers."""
    scalar = {64: "double", 32: "float"}[precision]
    floats = f"<{width} x {scalar}>" if width > 1 else scalar
    writer = Writer(precision)
    writer.functions.add((name, width))
    definitions = mathematics(writer)
    declarations = "\n".join(writer.declarations.values())
    text = f"""{declarations}
{definitions}
define void @all(ptr %x, ptr %y, i64 %n) {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k1, %body ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %from = getelementptr {scalar}, ptr %x, i64 %k
  %to = getelementptr {scalar}, ptr %y, i64 %k
  %a = load {floats}, ptr %from, align 4
  %b = call {floats} @{name}.{width}({floats} %a)
  store {floats} %b, ptr %to, align 4
  %k1 = add i64 %k, {width}
  br label %next
done:
  ret void
}}
"""
    digest, code = machine_code(text)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    x = np.ascontiguousarray(x, KINDS[precision])
    assert x.size % width == 0
    y = np.empty_like(x)
    call(address(f"{name} {digest} {next(COUNT)}", code, "all"))(x.ctypes.data, y.ctypes.data, x.size)
    return y


@pytest.mark.parametrize(("precision", "width"), [(64, 1), (64, 4), (32, 1), (32, 8)])
def test_exponential_within_units_in_the_last_place(precision, width):
    kind = KINDS[precision]
    low, high = np.log(np.array([np.finfo(kind).smallest_subnormal, np.finfo(kind).max], np.longdouble))
    random = np.random.default_rng(precision + width)
    x = np.concatenate([random.uniform(low, high, 400_000), random.uniform(-1, 1, 400_000), [high], [low], [0.0] * 6])
    x = np.minimum(x.astype(kind), kind(high))
    exact = np.exp(x.astype(np.longdouble))
    y = computed("exp", precision, width, x)
    with np.errstate(over="ignore"):
        unit = np.spacing(exact.astype(kind))
    good = np.isfinite(unit)  # the greatest of all: its rounding may be infinite
    error = np.abs(y - exact)[good] / unit[good]
    assert error.max() < 1.1
    assert np.mean(error > 0.5) < 0.1  # most are rounded correctly


@pytest.mark.parametrize(("precision", "width"), [(64, 4), (32, 8)])
def test_exponential_beyond_its_range(precision, width):
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, 800.0, -800.0, -0.0], KINDS[precision])
    expected = np.array([np.inf, 0, np.nan, np.inf, 0, np.inf, 0, 1])
    np.testing.assert_array_equal(computed("exp", precision, width, x), expected)
    np.testing.assert_array_equal(computed("exp", precision, 1, x), expected)


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize(("precision", "width"), [(64, 4), (32, 8)])
def test_sine(name, precision, width):
    """Within 2.5 units in the last place, and 1e-20 near its zeros (NumPy's sine of more digits is good to 1e-18)."""
    kind = KINDS[precision]
    random = np.random.default_rng(precision)
    x = np.concatenate([random.uniform(-a, a, 200_000) for a in (1.0, 10.0, LIMIT)]).astype(kind)
    exact = getattr(np, name)(x.astype(np.longdouble))
    error = np.abs(computed(name, precision, width, x) - exact)
    assert (error / np.spacing(np.abs(exact).astype(kind))).max() < 2.5
    near = (np.arange(-400, 400) * np.pi / 2).astype(kind)
    error = np.abs(computed(name, precision, width, near) - getattr(np, name)(near.astype(np.longdouble)))
    assert (error / np.maximum(np.spacing(np.abs(getattr(np, name)(near)).astype(kind)), 1e-18)).max() < 2.5


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize(("precision", "width"), [(64, 4), (32, 8)])
def test_sine_beyond_its_limit(name, precision, width):
    """The library's, and of what is not finite not a number."""
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e9, 2.0, 0.0, -0.0], KINDS[precision])
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(x)
    for order in (slice(None), slice(None, None, -1)):
        y = computed(name, precision, width, x[order])
        np.testing.assert_allclose(y, expected[order], rtol=2 * np.finfo(KINDS[precision]).eps)
        zeros = x[order] == 0
        np.testing.assert_array_equal(np.signbit(y[zeros]), np.signbit(expected[order][zeros]))
