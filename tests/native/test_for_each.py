"""Loops over arrays: lanes that are rounds, lanes that are rows, threads; against the reference."""

import numpy as np
import pytest

from softground.native import cuda
from softground.native.dead_code import without_dead_code
from softground.native.interpreter import interpret
from softground.native.program import Buffer, ForEach, LocalArray, Program

from . import on_host, reference
from .building import number, program
from .test_llvm import same

TABLE = tuple(np.linspace(-1.0, 2.0, 86).tolist())


def softmax(count: int) -> Program:
    """The greatest of some scores, then sums of their exponentials: two loops with memory in between."""
    table, scores = LocalArray("float", count, TABLE[:count]), LocalArray("float", count)

    def make(b, x, y):
        def score(b, k):
            number = b.op("mul", b.load(table, k), x)
            b.store(scores, k, number)
            return [number]

        (top,) = b.for_each(count, ["max"], score)

        def weigh(b, k):
            weight = b.op("exp", b.op("sub", b.load(scores, k), top))
            return [weight, b.op("mul", weight, b.load(table, k)), y]

        total, first, several = b.for_each(count, ["add", "add", "add"], weigh)
        return [top, b.op("div", first, total), several, b.load(scores, number(count - 1))]

    return program(64, [Buffer("float", 1), Buffer("float", 1)], make)


@pytest.mark.parametrize("count", [1, 3, 4, 27, 86])
def test_rounds_side_by_side_and_rows_side_by_side(count):
    """Whole vectors, a rest, a rest alone; what is the same in all rounds counts once for each."""
    top, _, several, last = same(softmax(count), np.array([1.5]), np.array([0.25]))
    assert several == pytest.approx(0.25 * count)
    assert top == last == 1.5 * TABLE[count - 1]


def test_rows_that_wait_keep_their_memory():
    """Rows leave a loop one after the other; what later rounds store must not reach those that have left."""
    memory = LocalArray("float", 5)

    def make(b, x):
        def rounds(b, k, total):
            b.for_each(5, [], lambda b, k: b.store(memory, k, total) or [])
            (more,) = b.for_each(5, ["add"], lambda b, k: [b.load(memory, k)])
            return [b.op("add", k, number(1.0)), b.op("add", total, b.op("mul", more, number(0.125)))]

        ends = b.loop([number(0.0), x], lambda b, k, total: [b.op("lt", k, b.op("abs", x))], rounds)
        return [*ends, b.load(memory, number(4))]

    same(program(64, [Buffer("float", 1)], make), np.array([3.0]))


@on_host.needs_compiler
@pytest.mark.parametrize("precision", [64, 32])
def test_threads(precision):
    made = softmax(27)
    made = Program(precision, made.main, made.functions, made.inputs, made.outputs)
    rows = [np.array([[1.5], [-2.0]]), np.array([[0.25], [4.0]])]
    for row, results in enumerate(zip(*on_host.run(made, *rows), strict=True)):
        for result, expected in zip(results, reference.run(made, *(x[row] for x in rows)), strict=True):
            np.testing.assert_allclose(result, expected, rtol=30 * np.finfo(f"f{precision // 8}").eps)


@on_host.needs_compiler
def test_threads_whose_numbers_wait_in_places(monkeypatch):
    monkeypatch.setattr(cuda, "_REGISTER_BYTES", 16)
    made, memory = softmax(27), 8192
    assert "taken<" in cuda.kernel_text(made, memory=memory)
    assert "taken<" not in cuda.kernel_text(made)
    rows = [np.array([[1.5], [-2.0]]), np.array([[0.25], [4.0]])]
    for found, expected in zip(on_host.run(made, *rows, memory=memory), on_host.run(made, *rows), strict=True):
        np.testing.assert_array_equal(found, expected)


@on_host.needs_compiler
@pytest.mark.parametrize("team", [1, 4])
def test_tables_that_a_loop_reads_together(team):
    """Six of them, of which the last is shorter than a round of all threads."""
    tables = [LocalArray("float", 9, tuple(float(10 * k + j) for j in range(9))) for k in range(6)]

    def make(b, x):
        def turn(b, k):
            total = x
            for table in tables:
                total = b.op("add", b.op("mul", total, number(0.5)), b.load(table, k))
            return [total]

        return b.for_each(9, ["add"], turn)

    made = program(64, [Buffer("float", 1)], make)
    assert ("const Four" in cuda.kernel_text(made, team)) == (team > 1)
    (found,) = on_host.run(made, np.array([[0.75]]), team=team)
    assert found.item() == pytest.approx(reference.run(made, np.array([0.75]))[0].item(), rel=1e-14)


def test_the_interpreter():
    arrays = np.array([1.5]), np.array([0.25])
    made = softmax(27)
    for result, expected in zip(interpret(made, *arrays), reference.run(made, *arrays), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-14)


def test_what_nobody_needs_of_a_loop_goes():
    def make(b, x):
        loaded = LocalArray("float", 9)
        b.for_each(9, ["add"], lambda b, k: b.store(loaded, k, x) or [b.op("exp", x)])
        (total,) = b.for_each(9, ["add", "max"], lambda b, k: [b.load(loaded, k), b.op("sin", x)])[:1]
        b.for_each(9, ["add"], lambda b, k: [b.op("cos", b.load(loaded, k))])
        return [total]

    made = without_dead_code(program(64, [Buffer("float", 1)], make))
    first, second = made.main.body
    assert isinstance(first, ForEach)
    assert isinstance(second, ForEach)
    assert (len(first.body), first.joints) == (1, ())
    assert (len(second.body), second.joints) == (1, ("add",))
