"""Primitives that work on each element by itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
from jax import lax

from softground.native.primitives.table import PRIMITIVES, primitive
from softground.native.program import Constant, Operand
from softground.native.scalars import Builder, Operands, each, kind_of, operands_of

#: Primitives that are one operation, by the operation's name.
DIRECT = {
    **{name: name for name in ("add", "sub", "mul", "rem", "min", "max", "atan2", "lt", "le", "eq", "ne", "and", "or")},
    **{name: name for name in ("xor", "neg", "abs", "sign", "floor", "ceil", "not", "is_finite", "sqrt", "rsqrt")},
    **{name: name for name in ("exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "asin", "acos", "atan")},
    "add_any": "add",
}


def _direct(operation: str):
    return lambda build, equation, inputs: each(build, operation, *inputs)


for _name, _operation in DIRECT.items():
    PRIMITIVES[_name] = _direct(_operation)


def _on_scalars(function):
    """A rule from a function of a builder and scalars."""

    def rule(build, equation, inputs):
        arrays = np.broadcast_arrays(*inputs)
        columns = [x.ravel().tolist() for x in arrays]
        return operands_of([function(build, *row) for row in zip(*columns, strict=True)], arrays[0].shape)

    return rule


@primitive("gt")
def greater(build, equation, inputs):
    return each(build, "lt", *inputs[::-1])


@primitive("ge")
def greater_or_equal(build, equation, inputs):
    return each(build, "le", *inputs[::-1])


@primitive("div")
def divide(build: Builder, equation, inputs):
    """A divisor that the array has several times is inverted once."""
    x, y = np.broadcast_arrays(*inputs)
    if equation.outvars[0].aval.dtype.kind != "f":
        return each(build, "div", x, y)
    times = Counter(y.ravel().tolist())
    one = build.float(1.0)

    def quotient(a: Operand, b: Operand) -> Operand:
        if times[b] < 2 or type(b) is Constant:
            return build.compute("div", a, b)
        return build.compute("mul", a, build.compute("div", one, b))

    return operands_of([quotient(*pair) for pair in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)], x.shape)


@primitive("square")
def square(build, equation, inputs):
    return each(build, "mul", inputs[0], inputs[0])


@primitive("integer_pow")
def integer_power(build, equation, inputs):
    """By repeated squaring."""
    exponent = equation.params["y"]
    return _on_scalars(lambda build, x: _power(build, x, exponent))(build, equation, inputs)


def _power(build: Builder, x: Operand, exponent: int) -> Operand:
    if exponent < 0:
        return build.compute("div", build.float(1.0), _power(build, x, -exponent))
    if exponent == 0:
        return build.constant(1, x.kind)
    half = _power(build, x, exponent // 2) if exponent > 1 else None
    even = build.compute("mul", half, half) if half is not None else None
    if even is None:
        return x
    return build.compute("mul", even, x) if exponent % 2 else even


@primitive("pow")
def power(build, equation, inputs):
    """Powers of known whole numbers up to eight, and roots, are products and roots."""

    def of(build: Builder, x: Operand, y: Operand) -> Operand:
        if y.kind == "int":
            y = build.compute("float_of_int", y)
        if type(y) is Constant:
            if y.number == 0.5:
                return build.compute("sqrt", x)
            if abs(y.number) <= 8 and y.number == int(y.number):
                return _power(build, x, int(y.number))
        return build.compute("pow", x, y)

    return _on_scalars(of)(build, equation, inputs)


@primitive("exp2")
def power_of_two(build, equation, inputs):
    return _on_scalars(lambda build, x: build.compute("pow", build.float(2.0), x))(build, equation, inputs)


@primitive("cbrt")
def cube_root(build, equation, inputs):
    def of(build: Builder, x: Operand) -> Operand:
        size = build.compute("pow", build.compute("abs", x), build.float(1 / 3))
        return build.compute("mul", build.compute("sign", x), size)

    return _on_scalars(of)(build, equation, inputs)


@primitive("logistic")
def logistic(build, equation, inputs):
    """1 / (1 + exp(-x))."""

    def of(build: Builder, x: Operand) -> Operand:
        one = build.float(1.0)
        return build.compute("div", one, build.compute("add", one, build.compute("exp", build.compute("neg", x))))

    return _on_scalars(of)(build, equation, inputs)


@primitive("sinh")
def hyperbolic_sine(build, equation, inputs):
    """(t + t / (t + 1)) / 2 with t = exp(x) - 1, which is exact to rounding also near zero."""

    def of(build: Builder, x: Operand) -> Operand:
        t = build.compute("expm1", x)
        other = build.compute("div", t, build.compute("add", t, build.float(1.0)))
        return build.compute("mul", build.float(0.5), build.compute("add", t, other))

    return _on_scalars(of)(build, equation, inputs)


@primitive("cosh")
def hyperbolic_cosine(build, equation, inputs):
    def of(build: Builder, x: Operand) -> Operand:
        up = build.compute("exp", x)
        down = build.compute("div", build.float(1.0), up)
        return build.compute("mul", build.float(0.5), build.compute("add", up, down))

    return _on_scalars(of)(build, equation, inputs)


@primitive("round")
def nearest(build, equation, inputs):
    if equation.params["rounding_method"] == lax.RoundingMethod.TO_NEAREST_EVEN:
        return each(build, "round", *inputs)

    def away_from_zero(build: Builder, x: Operand) -> Operand:
        size = build.compute("floor", build.compute("add", build.compute("abs", x), build.float(0.5)))
        return build.compute("mul", build.compute("sign", x), size)

    return _on_scalars(away_from_zero)(build, equation, inputs)


@primitive("clamp")
def clamp(build, equation, inputs):
    low, x, high = inputs
    return each(build, "min", each(build, "max", x, low), high)


@primitive("select_n")
def choose(build: Builder, equation, inputs):
    which, *cases = inputs
    if equation.invars[0].aval.dtype == bool:
        return each(build, "select", which, cases[1], cases[0])
    result = cases[-1]
    for k in reversed(range(len(cases) - 1)):
        result = each(build, "select", each(build, "le", which, build.lift(np.int32(k))), cases[k], result)
    return result


@primitive("convert_element_type")
def convert(build: Builder, equation, inputs) -> Operands:
    """Between kinds; precisions are all the program's own."""
    before, after = kind_of(equation.invars[0].aval.dtype), kind_of(equation.params["new_dtype"])
    if before == after:
        return inputs[0]
    if after == "bool":
        return each(build, "ne", inputs[0], operands_of([build.constant(0, before)], ()))
    return each(build, f"{after}_of_{before}", inputs[0])
