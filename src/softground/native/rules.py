"""Algebra on scalars: what an operation becomes when something is known of its arguments.

Results may differ from the operation's own by rounding, by the sign of a zero, and where a number is not finite (0 x is
zero, x - x is zero). But nothing here hides the question whether a number is finite: x == x is not simplified.

A rule takes the arguments and gives the simpler operand, or None where it does not apply. Rules of commutative
operations are tried with both orders of the arguments, so each is written for one (`rule_table.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from softground.native.arithmetic import MEANING
from softground.native.program import Constant, Operand

if TYPE_CHECKING:
    from softground.native.scalars import Builder

Result = Operand | None


def is_number(x: Operand, number: float) -> bool:
    """Whether an operand is known to be this number."""
    return type(x) is Constant and x.number == number


# Sums


def add_zero(build: Builder, x: Operand, y: Operand) -> Result:
    return x if is_number(y, 0) else None


def add_negative(build: Builder, x: Operand, y: Operand) -> Result:
    """x + (-y) = x - y."""
    inner = build.arguments_of(y, "neg")
    return build.compute("sub", x, inner[0]) if inner else None


def add_itself(build: Builder, x: Operand, y: Operand) -> Result:
    return build.compute("mul", build.constant(2, x.kind), x) if x is y else None


def subtract_zero(build: Builder, x: Operand, y: Operand) -> Result:
    return x if is_number(y, 0) else None


def subtract_from_zero(build: Builder, x: Operand, y: Operand) -> Result:
    return build.compute("neg", y) if is_number(x, 0) else None


def subtract_itself(build: Builder, x: Operand, y: Operand) -> Result:
    return build.constant(0, x.kind) if x is y else None


def subtract_negative(build: Builder, x: Operand, y: Operand) -> Result:
    """x - (-y) = x + y."""
    inner = build.arguments_of(y, "neg")
    return build.compute("add", x, inner[0]) if inner else None


def subtract_from_negative(build: Builder, x: Operand, y: Operand) -> Result:
    """(-x) - y = -(x + y)."""
    inner = build.arguments_of(x, "neg")
    return build.compute("neg", build.compute("add", inner[0], y)) if inner else None


def negate_negative(build: Builder, x: Operand) -> Result:
    inner = build.arguments_of(x, "neg")
    return inner[0] if inner else None


def negate_difference(build: Builder, x: Operand) -> Result:
    """-(x - y) = y - x."""
    inner = build.arguments_of(x, "sub")
    return build.compute("sub", inner[1], inner[0]) if inner else None


# Products: signs go out, so that products are shared and sums take the signs up; constants are merged


def multiply_zero(build: Builder, x: Operand, y: Operand) -> Result:
    return y if is_number(y, 0) else None


def multiply_one(build: Builder, x: Operand, y: Operand) -> Result:
    return x if is_number(y, 1) else None


def multiply_negative_constant(build: Builder, x: Operand, y: Operand) -> Result:
    """x (-c) = -(c x)."""
    if type(y) is not Constant or y.number >= 0 or y.kind == "int":
        return None
    return build.compute("neg", build.compute("mul", build.float(-y.number), x))


def multiply_constants(build: Builder, x: Operand, y: Operand) -> Result:
    """(c x) d = (c d) x."""
    inner = build.arguments_of(x, "mul") if type(y) is Constant else None
    if not inner:
        return None
    for one, other in (inner, inner[::-1]):
        if type(one) is Constant:
            return build.compute("mul", build.compute("mul", one, y), other)
    return None


def multiply_regrouped(build: Builder, x: Operand, y: Operand) -> Result:
    """(a b) y where (a y) b is there already: moments w p q come as (w p) q and as (w q) p."""
    for a, b in _both_orders(build.arguments_of(x, "mul")):
        other = build.known("mul", a, y)
        found = build.known("mul", other, b) if other is not None else None
        if found is not None:
            return found
    return None


def _both_orders(pair: tuple[Operand, ...] | None) -> tuple[tuple[Operand, ...], ...]:
    return (pair, pair[::-1]) if pair else ()


def multiply_negative(build: Builder, x: Operand, y: Operand) -> Result:
    """x (-y) = -(x y)."""
    inner = build.arguments_of(y, "neg")
    return build.compute("neg", build.compute("mul", x, inner[0])) if inner else None


def multiply_flag(build: Builder, x: Operand, y: Operand) -> Result:
    """A product with a flag is a choice."""
    inner = build.arguments_of(y, "float_of_bool") or build.arguments_of(y, "int_of_bool")
    return build.compute("select", inner[0], x, build.constant(0, x.kind)) if inner else None


def divide_zero(build: Builder, x: Operand, y: Operand) -> Result:
    return x if is_number(x, 0) else None


def divide_by_constant(build: Builder, x: Operand, y: Operand) -> Result:
    """x / c = (1/c) x."""
    if type(y) is not Constant or y.kind != "float" or y.number == 0:
        return None
    return build.compute("mul", build.float(1 / y.number), x)


def divide_by_integer_one(build: Builder, x: Operand, y: Operand) -> Result:
    return x if is_number(y, 1) else None


def divide_by_root(build: Builder, x: Operand, y: Operand) -> Result:
    inner = build.arguments_of(y, "sqrt")
    return build.compute("mul", x, build.compute("rsqrt", inner[0])) if inner else None


def divide_negative(build: Builder, x: Operand, y: Operand) -> Result:
    """(-x) / y = -(x / y)."""
    inner = build.arguments_of(x, "neg") if x.kind == "float" else None
    return build.compute("neg", build.compute("div", inner[0], y)) if inner else None


def absolute_of_negative(build: Builder, x: Operand) -> Result:
    inner = build.arguments_of(x, "neg") or build.arguments_of(x, "abs")
    return build.compute("abs", inner[0]) if inner else None


# Extrema


def same(build: Builder, x: Operand, y: Operand) -> Result:
    return x if x is y else None


def least_of_infinity(build: Builder, x: Operand, y: Operand) -> Result:
    return x if is_number(y, math.inf) else None


def greatest_of_infinity(build: Builder, x: Operand, y: Operand) -> Result:
    return x if is_number(y, -math.inf) else None


def least_above(build: Builder, x: Operand, y: Operand) -> Result:
    """min(max(x, c), d) = d where d <= c."""
    if type(y) is not Constant:
        return None
    known = [c.number for c in build.arguments_of(x, "max") or () if type(c) is Constant]
    return y if known and known[0] >= y.number else None


def greatest_below(build: Builder, x: Operand, y: Operand) -> Result:
    """max(min(x, c), d) = d where d >= c."""
    if type(y) is not Constant:
        return None
    known = [c.number for c in build.arguments_of(x, "min") or () if type(c) is Constant]
    return y if known and known[0] <= y.number else None


# Flags and choices


def both_known(build: Builder, x: Operand, y: Operand) -> Result:
    if type(y) is not Constant or y.kind != "bool":
        return None
    return x if y.number else y


def either_known(build: Builder, x: Operand, y: Operand) -> Result:
    if type(y) is not Constant or y.kind != "bool":
        return None
    return y if y.number else x


def differ_known(build: Builder, x: Operand, y: Operand) -> Result:
    if type(y) is not Constant or y.kind != "bool":
        return None
    return build.compute("not", x) if y.number else x


def not_not(build: Builder, x: Operand) -> Result:
    inner = build.arguments_of(x, "not")
    return inner[0] if inner else None


def less_than_itself(build: Builder, x: Operand, y: Operand) -> Result:
    return build.constant(False, "bool") if x is y else None


def absolute_below_zero(build: Builder, x: Operand, y: Operand) -> Result:
    known = type(y) is Constant and y.number <= 0 and build.arguments_of(x, "abs")
    return build.constant(False, "bool") if known else None


def compare_choice(operation: str) -> Callable[[Builder, Operand, Operand], Result]:
    """A comparison of a constant with a choice of two constants is the choice's flag, its opposite, or known."""

    def rule(build: Builder, x: Operand, y: Operand) -> Result:
        for one, other, turned in ((x, y, False), (y, x, True)):
            choice = _choice(build, one)
            if choice is None or type(other) is not Constant:
                continue
            flag, *numbers = choice
            known = other.number
            yes, no = (MEANING[operation](*((known, n) if turned else (n, known))) for n in numbers)
            if yes == no:
                return build.constant(yes, "bool")
            return flag if yes else build.compute("not", flag)
        return None

    return rule


def _choice(build: Builder, x: Operand) -> tuple[Operand, float, float] | None:
    """Flag and both numbers of a choice between constants."""
    converted = build.arguments_of(x, "int_of_bool") or build.arguments_of(x, "float_of_bool")
    if converted:
        return converted[0], 1, 0
    chosen = build.arguments_of(x, "select")
    if chosen and type(chosen[1]) is Constant and type(chosen[2]) is Constant:
        return chosen[0], chosen[1].number, chosen[2].number
    return None


def choose_known(build: Builder, flag: Operand, x: Operand, y: Operand) -> Result:
    if type(flag) is not Constant:
        return None
    return x if flag.number else y


def choose_same(build: Builder, flag: Operand, x: Operand, y: Operand) -> Result:
    return x if x is y else None


def choose_by_opposite(build: Builder, flag: Operand, x: Operand, y: Operand) -> Result:
    inner = build.arguments_of(flag, "not")
    return build.compute("select", inner[0], y, x) if inner else None


def choose_flags(build: Builder, flag: Operand, x: Operand, y: Operand) -> Result:
    """A choice between flags of which one is known."""
    if x.kind != "bool":
        return None
    if type(x) is Constant:
        return build.compute("or", flag, y) if x.number else build.compute("and", build.compute("not", flag), y)
    if type(y) is Constant:
        return build.compute("or", build.compute("not", flag), x) if y.number else build.compute("and", flag, x)
    return None


def float_of_flag(build: Builder, x: Operand) -> Result:
    inner = build.arguments_of(x, "int_of_bool")
    return build.compute("float_of_bool", inner[0]) if inner else None
