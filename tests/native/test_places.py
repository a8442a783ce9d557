"""Numbers that wait in places instead of registers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softground.native import places
from softground.native.interpreter import interpret
from softground.native.places import with_places
from softground.native.program import Buffer, Compute, Load, LocalArray, Program, Store
from softground.native.traversal import walk

from .building import number, program
from .test_frugal import most_alive
from .test_random_programs import programs


def moves(made: Program, array: LocalArray) -> tuple[int, int]:
    """How often numbers are put into places and taken from them, in the text."""
    touching = [s for s in walk(made.main.body) if isinstance(s, Load | Store) and s.array is array]
    return sum(isinstance(s, Store) for s in touching), sum(isinstance(s, Load) for s in touching)


@pytest.fixture
def all_long(monkeypatch):
    """Every branch and loop is taken apart."""
    monkeypatch.setattr(places, "LONG", 1)


@pytest.mark.usefixtures("all_long")
@settings(deadline=None, max_examples=40)
@given(made=programs(), registers=st.integers(1, 4), room=st.integers(1, 6), flag=st.booleans())
def test_any_program_does_the_same(made, registers, room, flag):
    rows = [np.array([0.5, -1.25]), np.array([3, -2], np.int32), np.array([flag])]
    shorter, array = with_places(made, registers, room)
    assert array.size <= room
    for result, expected in zip(interpret(shorter, *rows), interpret(made, *rows), strict=True):
        np.testing.assert_array_equal(result, expected)


def products(count: int) -> Program:
    """All products of numbers that are made first, and then the numbers, the first ones again last."""

    def make(b, x):
        numbers = [b.op("mul", x, number(float(k))) for k in range(count)]
        total = x
        for one in numbers:
            for other in numbers:
                total = b.op("add", total, b.op("mul", one, other))
        return [total, *numbers]

    return program(64, [Buffer("float", 1)], make)


def test_few_are_in_registers_at_a_time():
    made = products(12)
    block, results = made.main.body, {x for x in made.main.results[:1]}
    assert most_alive(block, results) > 12
    shorter, array = with_places(made, 6, 100)
    assert most_alive(shorter.main.body, results) <= 6 + places.AHEAD
    stores, loads = moves(shorter, array)
    assert array.size == stores <= 12  # each is put somewhere once, and is there until the end
    assert loads < 12 * 12
    assert interpret(shorter, np.array([0.5])) == interpret(made, np.array([0.5]))


def test_places_are_handed_on():
    def make(b, x):
        totals = []
        for part in range(5):
            numbers = [b.op("mul", x, number(float(k + part))) for k in range(8)]
            total = numbers[0]
            for one in (*numbers, *numbers):
                total = b.op("add", total, one)
            totals.append(total)
        return totals

    made = program(64, [Buffer("float", 1)], make)
    shorter, array = with_places(made, 4, 100)
    stores, _ = moves(shorter, array)
    assert array.size <= 12 < stores


@pytest.mark.usefixtures("all_long")
def test_what_waits_for_a_branch_gives_way():
    """With one place, it goes to the number that is taken outside of a branch."""

    def make(b, x):
        far = b.op("exp", x)
        near = b.op("sin", x)
        total = x
        for k in range(6):
            numbers = [b.op("mul", total, number(float(j + k))) for j in range(4)]
            for one in numbers:
                total = b.op("add", total, one)
            total = b.op("mul", total, near)
        return b.when(b.op("lt", total, number(0.0)), lambda b: [b.op("add", far, total)], lambda b: [total])

    shorter, array = with_places(program(64, [Buffer("float", 1)], make), 5, 1)
    stored = {s.value for s in walk(shorter.main.body) if isinstance(s, Store) and s.array is array}
    names = {s.result: s.operation for s in shorter.main.body if isinstance(s, Compute)}
    assert {names[value] for value in stored} == {"sin"}
