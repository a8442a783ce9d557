"""Algebra on scalars: each rule where it applies, and all of them against plain arithmetic on random expressions."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softground.native.arithmetic import MEANING, kind_of_result
from softground.native.program import OPERATIONS, Compute, Constant, Value
from softground.native.rule_table import NUMBER, RULES
from softground.native.scalars import Builder

#: What an expression of x, y (floats), b (a flag) and constants becomes.
CASES = [
    (("add", "x", 0.0), "x"),
    (("add", 0.0, "x"), "x"),
    (("add", "x", ("neg", "y")), ("sub", "x", "y")),
    (("add", "x", "x"), ("mul", 2.0, "x")),
    (("sub", "x", 0.0), "x"),
    (("sub", 0.0, "x"), ("neg", "x")),
    (("sub", "x", "x"), 0.0),
    (("sub", "x", ("neg", "y")), ("add", "x", "y")),
    (("sub", ("neg", "x"), "y"), ("neg", ("add", "x", "y"))),
    (("neg", ("neg", "x")), "x"),
    (("neg", ("sub", "x", "y")), ("sub", "y", "x")),
    (("mul", "x", 0.0), 0.0),
    (("mul", 1.0, "x"), "x"),
    (("mul", -3.0, "x"), ("neg", ("mul", 3.0, "x"))),
    (("mul", ("mul", 2.0, "x"), 3.0), ("mul", 6.0, "x")),
    (("mul", ("neg", "x"), "y"), ("neg", ("mul", "x", "y"))),
    (("sub", ("mul", ("mul", "x", "y"), "z"), ("mul", ("mul", "x", "z"), "y")), 0.0),
    (("mul", "x", ("float_of_bool", "b")), ("select", "b", "x", 0.0)),
    (("div", 0.0, "x"), 0.0),
    (("div", "x", 1.0), "x"),
    (("div", "x", 4.0), ("mul", 0.25, "x")),
    (("div", "x", ("sqrt", "y")), ("mul", "x", ("rsqrt", "y"))),
    (("div", ("neg", "x"), "y"), ("neg", ("div", "x", "y"))),
    (("abs", ("neg", "x")), ("abs", "x")),
    (("min", "x", "x"), "x"),
    (("min", "x", math.inf), "x"),
    (("max", -math.inf, "x"), "x"),
    (("min", ("max", "x", 3.0), 2.0), 2.0),
    (("max", ("min", "x", 3.0), 4.0), 4.0),
    (("and", "b", True), "b"),
    (("and", False, "b"), False),
    (("or", "b", True), True),
    (("or", "b", "b"), "b"),
    (("xor", "b", True), ("not", "b")),
    (("not", ("not", "b")), "b"),
    (("lt", "x", "x"), False),
    (("lt", ("abs", "x"), 0.0), False),
    (("ne", ("int_of_bool", "b"), 0), "b"),
    (("eq", ("int_of_bool", "b"), 0), ("not", "b")),
    (("lt", 0, ("int_of_bool", "b")), "b"),
    (("le", ("select", "b", 1.0, 2.0), 5.0), True),
    (("select", True, "x", "y"), "x"),
    (("select", "b", "x", "x"), "x"),
    (("select", ("not", "b"), "x", "y"), ("select", "b", "y", "x")),
    (("select", "b", True, False), "b"),
    (("float_of_int", ("int_of_bool", "b")), ("float_of_bool", "b")),
]


def built(build: Builder, expression, names: dict):
    """The operand of an expression of names, numbers and operations."""
    if isinstance(expression, tuple):
        return build.compute(expression[0], *(built(build, x, names) for x in expression[1:]))
    if isinstance(expression, str):
        return names[expression]
    return build.constant(expression, {bool: "bool", int: "int", float: "float"}[type(expression)])


@pytest.mark.parametrize(("expression", "simpler"), CASES, ids=str)
def test_a_rule(expression, simpler):
    build = Builder(64)
    names = {"x": Value("float"), "y": Value("float"), "z": Value("float"), "b": Value("bool")}
    assert built(build, expression, names) is built(build, simpler, names)


def test_every_operation_with_rules_has_a_case():
    assert {expression[0] for expression, _ in CASES} == set(RULES)


def operands(build: Builder) -> dict[str, list]:
    """By kind: names, constants, and what each operation makes of them."""
    names = {"x": Value("float"), "y": Value("float"), "b": Value("bool"), "c": Value("bool")}
    x, y, b, c = names.values()
    of_flags = [
        build.compute("select", b, build.float(1.0), build.float(2.0)),
        build.compute("select", b, x, y),
        build.compute("float_of_bool", b),
    ]
    one = [build.compute(name, x) for name in ("neg", "abs", "sqrt", "exp")]
    two = [build.compute(name, x, y) for name in ("add", "sub", "mul", "div", "min", "max")]
    two += [build.compute(name, x, build.float(3.0)) for name in ("mul", "min", "max")]
    numbers = [build.float(number) for number in (0.0, 1.0, -3.0, 4.0, math.inf, -math.inf)]
    flags = [b, c, build.compute("not", b), build.compute("or", b, c), *(build.constant(f, "bool") for f in (0, 1))]
    whole = [Value("int"), build.compute("int_of_bool", b), *(build.constant(k, "int") for k in (0, 1, -3))]
    return {"float": [x, y, *one, *two, *of_flags, *numbers], "bool": flags, "int": whole}


@pytest.mark.parametrize("operation", RULES)
def test_a_rule_that_is_not_tried_would_not_apply(operation):
    build = Builder(64)
    by_kind = operands(build)
    kinds = (
        ("bool",) if operation in ("and", "or", "xor", "not") else ("int",) if "int" in operation else ("float", "int")
    )
    count = OPERATIONS[operation]
    for kind in (*kinds, "bool") if count == 3 else kinds:
        choices = [by_kind[kind]] * min(count, 2)
        for arguments in product(*([by_kind["bool"]] if count == 3 else []), *choices):
            forms = tuple(build.form(x) for x in arguments)
            alike = count > 1 and arguments[-1] is arguments[-2]
            for rule, condition in RULES[operation]:
                if forms.count(NUMBER) < count and not condition(forms, alike):
                    assert rule(build, *arguments) is None, (rule.__name__, forms)


def test_whether_a_number_is_one_is_not_simplified():
    build, x = Builder(64), Value("float")
    assert isinstance(build.compute("eq", x, x), Value)
    assert isinstance(build.compute("ne", x, x), Value)


FLOATS = st.sampled_from(["x", "y", 0.0, 1.0, -1.0, 2.5, -0.3])
FLAGS = st.sampled_from(["b", "c", True, False])


def expressions(floats, flags):
    more_floats = st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "min", "max"]), floats, floats),
        st.tuples(st.sampled_from(["neg", "abs"]), floats),
        st.tuples(st.just("select"), flags, floats, floats),
        st.tuples(st.just("float_of_bool"), flags),
    )
    more_flags = st.one_of(
        st.tuples(st.sampled_from(["lt", "le", "eq", "ne"]), floats, floats),
        st.tuples(st.sampled_from(["and", "or", "xor"]), flags, flags),
        st.tuples(st.just("not"), flags),
        st.tuples(st.just("select"), flags, flags, flags),
    )
    return more_floats, more_flags


def nested(depth: int):
    floats, flags = FLOATS, FLAGS
    for _ in range(depth):
        more_floats, more_flags = expressions(floats, flags)
        floats, flags = st.one_of(FLOATS, more_floats), st.one_of(FLAGS, more_flags)
    return st.one_of(floats, flags)


@settings(max_examples=300, deadline=None)
@given(nested(4), st.sampled_from([0.7, -2.0, 0.0]), st.sampled_from([1.3, 0.7]), st.booleans(), st.booleans())
def test_rules_keep_the_value(expression, x, y, b, c):
    numbers = {"x": x, "y": y, "b": b, "c": c}
    build = Builder(64)
    names = {name: Value("bool" if name in "bc" else "float") for name in numbers}
    operand = built(build, expression, names)
    known = {names[name]: number for name, number in numbers.items()}
    for statement in build.region.statements:
        assert isinstance(statement, Compute)
        known[statement.result] = MEANING[statement.operation](*(get(known, a) for a in statement.arguments))
        assert statement.result.kind == kind_of_result(statement.operation, tuple(a.kind for a in statement.arguments))
    assert get(known, operand) == pytest.approx(plain(expression, numbers), abs=1e-12)


def get(known: dict, operand):
    return operand.number if isinstance(operand, Constant) else known[operand]


def plain(expression, numbers: dict):
    if isinstance(expression, tuple):
        return MEANING[expression[0]](*(plain(x, numbers) for x in expression[1:]))
    return numbers[expression] if isinstance(expression, str) else expression
