"""What the operations of scalar programs mean, on Python's numbers.

One table for two users: constants are folded by it while a program is made, and the interpreter runs programs by it.
Nothing raises: domain errors give not-a-number and overflows infinity, as in compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from softground.native.program import COMPARISONS, Kind

Number = float | int | bool


def _of_numpy(function: np.ufunc) -> Callable[..., Number]:
    def apply(*arguments: Number) -> Number:
        with np.errstate(all="ignore"):
            return function(*map(float, arguments)).item()

    return apply


def _quotient(x: Number, y: Number) -> Number:
    """Of integers, towards zero."""
    if isinstance(x, float):
        return _float_quotient(x, y)
    if y == 0:
        return -1
    size = abs(x) // abs(y)
    return size if (x < 0) == (y < 0) else -size


def _remainder(x: Number, y: Number) -> Number:
    """With the sign of the first."""
    if isinstance(x, float):
        return _float_remainder(x, y)
    return x if y == 0 else int(math.copysign(abs(x) % abs(y), x))


def _least(x: Number, y: Number) -> Number:
    """Not-a-number wins."""
    return x if x != x or x < y else y


def _greatest(x: Number, y: Number) -> Number:
    return x if x != x or x > y else y


def _sign(x: Number) -> Number:
    return x if x != x else type(x)((x > 0) - (x < 0))


def _truncated(x: float) -> int:
    if math.isnan(x):
        return 0
    return int(max(-(2.0**31), min(2.0**31 - 1, x)))


_float_quotient = _of_numpy(np.divide)
_float_remainder = _of_numpy(np.fmod)
_sqrt = _of_numpy(np.sqrt)

MEANING: dict[str, Callable[..., Number]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": _quotient,
    "rem": _remainder,
    "min": _least,
    "max": _greatest,
    "pow": _of_numpy(np.power),
    "atan2": _of_numpy(np.arctan2),
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "sign": _sign,
    "floor": _of_numpy(np.floor),
    "ceil": _of_numpy(np.ceil),
    "round": _of_numpy(np.rint),
    "not": lambda x: (not x) if isinstance(x, bool) else ~x,
    "is_finite": math.isfinite,
    "sqrt": _sqrt,
    "rsqrt": lambda x: _float_quotient(1.0, _sqrt(x)),
    "exp": _of_numpy(np.exp),
    "log": _of_numpy(np.log),
    "log1p": _of_numpy(np.log1p),
    "expm1": _of_numpy(np.expm1),
    "sin": _of_numpy(np.sin),
    "cos": _of_numpy(np.cos),
    "tan": _of_numpy(np.tan),
    "tanh": _of_numpy(np.tanh),
    "asin": _of_numpy(np.arcsin),
    "acos": _of_numpy(np.arccos),
    "atan": _of_numpy(np.arctan),
    "float_of_int": float,
    "float_of_bool": float,
    "int_of_float": _truncated,
    "int_of_bool": int,
    "select": lambda flag, x, y: x if flag else y,
}


@cache
def kind_of_result(operation: str, kinds: tuple[Kind, ...]) -> Kind:
    """Kind of what an operation makes of arguments of these kinds."""
    if operation in COMPARISONS:
        return "bool"
    if operation.startswith("float_of_"):
        return "float"
    if operation.startswith("int_of_"):
        return "int"
    return kinds[-1]


def rounded(number: Number, kind: Kind, precision: int) -> Number:
    """A number as a program keeps it: floats in its precision, integers in 32 bits."""
    if kind == "float":
        if precision == 64:
            return float(number)
        with np.errstate(over="ignore"):
            return float(np.float32(number))
    if kind == "int":
        return (int(number) + 2**31) % 2**32 - 2**31
    return bool(number)
