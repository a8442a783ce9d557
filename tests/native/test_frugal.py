"""Fewer numbers alive at a time."""

from softground.native.frugal import frugal
from softground.native.program import Buffer, LocalArray, Value
from softground.native.traversal import made, used

from . import reference
from .building import number, program


def most_alive(block, results) -> int:
    """Values of a straight block that are alive at a time."""
    last = {x: k for k, statement in enumerate(block) for x in used(statement) if isinstance(x, Value)}
    last |= dict.fromkeys(results, len(block))
    counts, alive = [], set()
    for k, statement in enumerate(block):
        alive = {x for x in alive | set(made(statement)) if last.get(x, -1) > k}
        counts.append(len(alive))
    return max(counts)


def test_numbers_are_used_up_before_others_are_made():
    def make(b, *x):
        parts = [[b.op("mul", one, number(float(k))) for k in range(2, 7)] for one in x]
        sums = []
        for part in parts:
            total = part[0]
            for one in part[1:]:
                total = b.op("add", total, one)
            sums.append(total)
        return sums

    made_so = program(64, [Buffer("float", 6)], make)
    better = frugal(made_so)
    assert most_alive(made_so.main.body, made_so.main.results) == 30
    assert most_alive(better.main.body, better.main.results) <= 8
    assert reference.run(better, [1.0] * 6) == reference.run(made_so, [1.0] * 6)


def test_memory_is_read_and_written_in_turn():
    array = LocalArray("float", 2, (0.0, 0.0))

    def make(b, x, y):
        b.store(array, number(0), x)
        first = b.load(array, number(0))
        b.store(array, number(0), y)
        second = b.load(array, number(0))
        return [b.op("sub", second, first), first]

    made_so = frugal(program(64, [Buffer("float", 2)], make))
    assert [x[0] for x in reference.run(made_so, [1.0, 5.0])] == [4.0, 1.0]
