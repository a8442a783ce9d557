"""Passes over arrays: copies give way to their originals, arrays that are needed at different times share memory."""

from itertools import pairwise

import numpy as np
import pytest

from softground.native.copies import without_copies
from softground.native.interpreter import interpret
from softground.native.program import Buffer, Load, LocalArray, Program, Store
from softground.native.sharing_memory import with_shared_memory
from softground.native.traversal import walk

from .building import number, program
from .test_llvm import same

SIZE = 3


def arrays(made: Program) -> set[LocalArray]:
    return {one.array for one in walk(made.main.body) if isinstance(one, Load | Store)}


def run(made: Program, x: float) -> list:
    return [np.asarray(result).tolist() for result in interpret(made, np.array([x]))]


def multiples(b, array: LocalArray, x, factor: float) -> None:
    b.for_each(SIZE, [], lambda b, k: b.store(array, k, b.op("mul", x, number(factor))) or [])


def copied(order=range(SIZE), changed_afterwards=False, read_before=False) -> Program:
    """x, 2 x and 3 x in an array, copied element by element; the last element of the copy, and what it held before."""
    original, copy = LocalArray("float", SIZE), LocalArray("float", SIZE)

    def make(b, x):
        for k in range(SIZE):
            b.store(original, number(k), b.op("mul", x, number(k + 1.0)))
        if read_before:
            b.store(copy, number(0), x)
        early = [b.load(copy, number(0))] if read_before else []
        for k, place in enumerate(order):
            b.store(copy, number(k), b.load(original, number(place)))
        if changed_afterwards:
            b.store(original, number(SIZE - 1), x)
        return [b.load(copy, number(SIZE - 1)), *early]

    return program(64, [Buffer("float", 1)], make)


def test_what_reads_a_copy_reads_the_original():
    made = without_copies(copied())
    assert len(arrays(made)) == 1
    assert run(made, 2.0) == [[6.0]]


@pytest.mark.parametrize(
    ("what", "expected"),
    [({"order": (0, 2, 1)}, [4.0]), ({"changed_afterwards": True}, [6.0]), ({"read_before": True}, [6.0, 2.0])],
    ids=["another order", "an original that changes", "a copy that was read before"],
)
def test_what_is_no_copy_stays(what, expected):
    made = without_copies(copied(**what))
    assert len(arrays(made)) == 2
    assert run(made, 2.0) == [[x] for x in expected]


def test_a_copy_of_a_copy():
    first, second, third = (LocalArray("float", SIZE) for _ in range(3))

    def make(b, x):
        multiples(b, first, x, 2.0)
        for source, target in ((first, second), (second, third)):
            for k in range(SIZE):
                b.store(target, number(k), b.load(source, number(k)))
        return [b.load(third, number(1))]

    made = without_copies(program(64, [Buffer("float", 1)], make))
    assert arrays(made) == {first}
    assert run(made, 2.0) == [[4.0]]


@pytest.mark.parametrize("rounds", [SIZE, SIZE - 1], ids=["all", "not all"])
def test_a_loop_that_copies(rounds):
    original, copy = LocalArray("float", SIZE), LocalArray("float", SIZE)

    def make(b, x):
        multiples(b, original, x, 2.0)
        if rounds < SIZE:
            multiples(b, copy, x, 3.0)
        (total,) = b.for_each(rounds, ["add"], lambda b, k: [_copied(b, original, copy, k)])
        return [b.op("add", total, b.load(copy, number(SIZE - 1)))]

    made = without_copies(program(64, [Buffer("float", 1)], make))
    assert len(arrays(made)) == (1 if rounds == SIZE else 2)
    assert run(made, 1.0) == [[8.0] if rounds == SIZE else [7.0]]


def _copied(b, original: LocalArray, copy: LocalArray, k):
    value = b.load(original, k)
    b.store(copy, k, value)
    return value


def test_arrays_one_after_the_other_share_memory():
    """Three are needed in turn, two at a time."""
    each = [LocalArray("float", SIZE) for _ in range(3)]

    def make(b, x):
        multiples(b, each[0], x, 2.0)
        for before, after in pairwise(each):
            b.for_each(SIZE, [], lambda b, k, to=after, of=before: b.store(to, k, b.load(of, k)) or [])
        return b.for_each(SIZE, ["add"], lambda b, k: [b.load(each[-1], k)])

    made = program(64, [Buffer("float", 1)], make)
    assert len(arrays(with_shared_memory(made))) == 2
    assert run(with_shared_memory(made), 2.0) == run(made, 2.0) == [[12.0]]
    same(made, np.array([2.0]))  # machine code is made of what shares memory


def test_what_a_loop_reads_again_and_again_is_not_given_away():
    """An array from before a loop, and one of its own that begins when the other was read last in a turn."""
    outside, inside = LocalArray("float", SIZE), LocalArray("float", SIZE)

    def make(b, x):
        multiples(b, outside, x, 1.0)

        def turn(b, k, total):
            (more,) = b.for_each(SIZE, ["add"], lambda b, k: [b.load(outside, k)])
            multiples(b, inside, total, 0.5)
            (half,) = b.for_each(SIZE, ["add"], lambda b, k: [b.load(inside, k)])
            return [b.op("add", k, number(1)), b.op("add", more, half)]

        return b.loop([number(0), x], lambda b, k, total: [b.op("lt", k, number(3))], turn)

    made = program(64, [Buffer("float", 1)], make)
    assert len(arrays(with_shared_memory(made))) == 2
    assert run(with_shared_memory(made), 2.0) == run(made, 2.0)


def test_an_array_that_is_read_before_all_of_it_is_stored_keeps_its_memory():
    first, second = LocalArray("float", SIZE), LocalArray("float", SIZE)

    def make(b, x):
        multiples(b, first, x, 2.0)
        (total,) = b.for_each(SIZE, ["add"], lambda b, k: [b.load(first, k)])
        b.store(second, number(0), total)
        return [b.load(second, number(0))]

    made = with_shared_memory(program(64, [Buffer("float", 1)], make))
    assert arrays(made) == {first, second}
