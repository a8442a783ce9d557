"""Which rules of `rules.py` are tried: those whose condition the forms of the arguments meet.

Most values are made by operations that no rule looks for, so that few rules are left to try.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from softground.native.rules import (
    Result,
    absolute_below_zero,
    absolute_of_negative,
    add_itself,
    add_negative,
    add_zero,
    both_known,
    choose_by_opposite,
    choose_flags,
    choose_known,
    choose_same,
    compare_choice,
    differ_known,
    divide_by_constant,
    divide_by_integer_one,
    divide_by_root,
    divide_negative,
    divide_zero,
    either_known,
    float_of_flag,
    greatest_below,
    greatest_of_infinity,
    least_above,
    least_of_infinity,
    less_than_itself,
    multiply_constants,
    multiply_flag,
    multiply_negative,
    multiply_negative_constant,
    multiply_one,
    multiply_regrouped,
    multiply_zero,
    negate_difference,
    negate_negative,
    not_not,
    same,
    subtract_from_negative,
    subtract_from_zero,
    subtract_itself,
    subtract_negative,
    subtract_zero,
)

COMMUTATIVE = frozenset({"add", "mul", "min", "max", "and", "or", "xor", "eq", "ne"})
#: The form of a constant among arguments; that of a value is the operation that made it, or None.
NUMBER = "number"
Form = str | None
#: Whether a rule may apply to arguments of these forms, the last two of which are one operand.
Condition = Callable[[Sequence[Form], bool], bool]


def first(*forms: str) -> Condition:
    return lambda found, _: found[0] in forms


def second(*forms: str) -> Condition:
    return lambda found, _: found[1] in forms


def both(one: Condition, other: Condition) -> Condition:
    return lambda found, alike: one(found, alike) and other(found, alike)


def alike(found: Sequence[Form], are_alike: bool) -> bool:
    return are_alike


def number_and_choice(found: Sequence[Form], _: bool) -> bool:
    return NUMBER in found and not {"int_of_bool", "float_of_bool", "select"}.isdisjoint(found)


def some_number(found: Sequence[Form], _: bool) -> bool:
    return NUMBER in found


RULES: dict[str, tuple[tuple[Callable[..., Result], Condition], ...]] = {
    "add": ((add_zero, second(NUMBER)), (add_negative, second("neg")), (add_itself, alike)),
    "sub": (
        (subtract_zero, second(NUMBER)),
        (subtract_from_zero, first(NUMBER)),
        (subtract_itself, alike),
        (subtract_negative, second("neg")),
        (subtract_from_negative, first("neg")),
    ),
    "neg": ((negate_negative, first("neg")), (negate_difference, first("sub"))),
    "mul": (
        (multiply_zero, second(NUMBER)),
        (multiply_one, second(NUMBER)),
        (multiply_negative_constant, second(NUMBER)),
        (multiply_constants, both(first("mul"), second(NUMBER))),
        (multiply_negative, second("neg")),
        (multiply_flag, second("float_of_bool", "int_of_bool")),
        (multiply_regrouped, first("mul")),
    ),
    "div": (
        (divide_zero, first(NUMBER)),
        (divide_by_integer_one, second(NUMBER)),
        (divide_by_constant, second(NUMBER)),
        (divide_by_root, second("sqrt")),
        (divide_negative, first("neg")),
    ),
    "abs": ((absolute_of_negative, first("neg", "abs")),),
    "min": (
        (same, alike),
        (least_of_infinity, second(NUMBER)),
        (least_above, both(first("max"), second(NUMBER))),
    ),
    "max": (
        (same, alike),
        (greatest_of_infinity, second(NUMBER)),
        (greatest_below, both(first("min"), second(NUMBER))),
    ),
    "and": ((both_known, second(NUMBER)), (same, alike)),
    "or": ((either_known, second(NUMBER)), (same, alike)),
    "xor": ((differ_known, second(NUMBER)),),
    "not": ((not_not, first("not")),),
    "lt": (
        (less_than_itself, alike),
        (absolute_below_zero, both(first("abs"), second(NUMBER))),
        (compare_choice("lt"), number_and_choice),
    ),
    "le": ((compare_choice("le"), number_and_choice),),
    "eq": ((compare_choice("eq"), number_and_choice),),
    "ne": ((compare_choice("ne"), number_and_choice),),
    "select": (
        (choose_known, first(NUMBER)),
        (choose_same, alike),
        (choose_by_opposite, first("not")),
        (choose_flags, some_number),
    ),
    "float_of_int": ((float_of_flag, first("int_of_bool")),),
}


@cache
def rules_for(operation: str, forms: tuple[Form, ...], are_alike: bool) -> tuple[Callable[..., Result], ...]:
    """Rules to try, in order, on arguments of these forms."""
    found = []
    for rule, condition in RULES.get(operation, ()):
        if condition(forms, are_alike):
            found.append(rule)
        if operation in COMMUTATIVE and condition(forms[::-1], are_alike):
            found.append(_turned(rule))
    return tuple(found)


def _turned(rule: Callable[..., Result]) -> Callable[..., Result]:
    return lambda build, x, y: rule(build, y, x)
