"""The exponential against one of more digits, over all of its range."""

import ctypes

import numpy as np
import pytest

from softground.native.exponential import exponential
from softground.native.machine import address, machine_code

KINDS = {64: np.float64, 32: np.float32}


def computed(precision: int, width: int, x: np.ndarray) -> np.ndarray:
    """exp x by our lines, without XLA, whose threads have no subnormal numbers."""
    scalar = {64: "double", 32: "float"}[precision]
    floats = f"<{width} x {scalar}>" if width > 1 else scalar
    text = f"""{exponential(precision, width)}
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
  %b = call {floats} @exp.{width}({floats} %a)
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
    call(address(f"exponential {digest} {x.size}", code, "all"))(x.ctypes.data, y.ctypes.data, x.size)
    return y


@pytest.mark.parametrize(("precision", "width"), [(64, 1), (64, 4), (32, 1), (32, 8)])
def test_within_units_in_the_last_place(precision, width):
    kind = KINDS[precision]
    low, high = np.log(np.array([np.finfo(kind).smallest_subnormal, np.finfo(kind).max], np.longdouble))
    random = np.random.default_rng(precision + width)
    x = np.concatenate([random.uniform(low, high, 400_000), random.uniform(-1, 1, 400_000), [high], [low], [0.0] * 6])
    x = np.minimum(x.astype(kind), kind(high))
    exact = np.exp(x.astype(np.longdouble))
    y = computed(precision, width, x)
    with np.errstate(over="ignore"):
        unit = np.spacing(exact.astype(kind))
    good = np.isfinite(unit)  # the greatest of all: its rounding may be infinite
    error = np.abs(y - exact)[good] / unit[good]
    assert error.max() < 1.1
    assert np.mean(error > 0.5) < 0.1  # most are rounded correctly


@pytest.mark.parametrize(("precision", "width"), [(64, 4), (32, 8)])
def test_beyond_its_range(precision, width):
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, 800.0, -800.0, -0.0], KINDS[precision])
    expected = np.array([np.inf, 0, np.nan, np.inf, 0, np.inf, 0, 1])
    np.testing.assert_array_equal(computed(precision, width, x), expected)
    np.testing.assert_array_equal(computed(precision, 1, x), expected)
