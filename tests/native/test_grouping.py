"""Exponentials that can stand together do, and nothing is used before it is made."""

from hypothesis import given, settings
from hypothesis import strategies as st

from softground.native.grouping import grouped
from softground.native.program import Compute, LocalArray, Store, Value

from .building import Builder, number

OPERATIONS = {"exp", "sqrt"}


def groups(block, width):
    return [len(item) for item in grouped(block, width, OPERATIONS) if isinstance(item, tuple)]


def test_exponentials_used_one_by_one_are_grouped():
    builder, x, total = Builder(), [Value("float") for _ in range(10)], number(0.0)
    for value in x:
        total = builder.op("add", total, builder.op("exp", builder.op("neg", value)))
    assert groups(builder.block, 4) == [4, 4, 2]


def test_chains_are_grouped_side_by_side():
    builder = Builder()
    for _ in range(4):
        builder.op("exp", builder.op("exp", builder.op("exp", Value("float"))))
    assert groups(builder.block, 4) == [4, 4, 4]


def test_operations_wait_for_their_own_kind():
    builder = Builder()
    for _ in range(4):
        builder.op("sqrt", builder.op("neg", builder.op("exp", Value("float"))))
        builder.op("exp", builder.op("sqrt", Value("float")))
    assert groups(builder.block, 4) == [4, 4, 4, 4]
    assert all(
        len({s.operation for s in g}) == 1 for g in grouped(builder.block, 4, OPERATIONS) if isinstance(g, tuple)
    )


def test_memory_is_not_overtaken():
    builder, array, x = Builder(), LocalArray("float", 2), Value("float")
    first = builder.op("exp", x)
    builder.store(array, number(0), first)
    builder.op("exp", builder.load(array, number(0)))
    ordered = grouped(builder.block, 4, OPERATIONS)
    assert [isinstance(item, tuple) for item in ordered] == [True, False, False, True]
    assert isinstance(ordered[1], Store)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["exp", "sqrt", "neg", "add"]), st.integers(0), st.integers(0)), max_size=60))
def test_every_statement_once_after_those_it_needs(chosen):
    values, block = [Value("float") for _ in range(3)], []
    known = set(values)
    for operation, i, j in chosen:
        arguments = tuple(values[k % len(values)] for k in (i, j)[: 2 if operation == "add" else 1])
        values.append(Value("float"))
        block.append(Compute(operation, arguments, values[-1]))
    seen = []
    for item in grouped(block, 4, OPERATIONS):
        statements = item if isinstance(item, tuple) else (item,)
        assert all(known.issuperset(statement.arguments) for statement in statements)
        known.update(statement.result for statement in statements)
        seen += map(id, statements)
    assert sorted(seen) == sorted(map(id, block))
