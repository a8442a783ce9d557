"""Several warps that share a program out: what they compute together, run by threads of the processor."""

import jax
import numpy as np
import pytest

from softground import media
from softground.bench.motions import swaying
from softground.native import cuda_warps, gpu
from softground.native.cuda import kernel_text
from softground.native.cuda_warps import warps_text
from softground.native.errors import NotNative
from softground.native.frugal import frugal
from softground.native.inlining import with_calls_inlined
from softground.native.program import Buffer, Call, LocalArray, Program
from softground.native.scalarise import scalarise
from softground.native.traversal import walk
from softground.simulation import Simulator

from . import reference
from .building import function, number, program
from .on_host import needs_compiler, run
from .test_cuda import start


def loops_and_arms(precision=64) -> Program:
    """Rows that leave a loop one after the other, loops over arrays inside, variables that swap, arms, calls."""
    table, memory = LocalArray("float", 9, tuple(np.linspace(-1.0, 2.0, 9).tolist())), LocalArray("float", 9)
    mixed = function(
        "mixed", ["float", "int"], lambda b, x, k: [b.op("add", x, b.op("float_of_int", k)), b.op("lt", x, number(0.0))]
    )

    def make(b, x, y, flag, k):
        def turn(b, n, p, q):
            b.for_each(9, [], lambda b, i: b.store(memory, i, b.op("mul", b.load(table, i), p)) or [])
            total, top = b.for_each(9, ["add", "max"], lambda b, i: [b.load(memory, i), b.load(memory, i)])
            more = b.op("mul", b.op("add", total, top), number(0.125))
            return [b.op("add", n, number(1)), q, b.op("sub", more, b.op("sin", p))]

        ends = b.loop([number(0), x, y], lambda b, n, p, q: [b.op("lt", n, k)], turn)
        (left,) = b.for_each(9, ["add"], lambda b, i: [b.load(memory, i)])
        arms = b.when(flag, lambda b: [*b.call(mixed, ends[1], k), left], lambda b: [b.op("exp", y), flag, ends[2]])
        return [*ends, *arms, *b.call(mixed, y, k)]

    return program(precision, [Buffer("float", 2), Buffer("bool", 1), Buffer("int", 1)], make, [mixed])


def rows_of(count: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.normal(size=(count, 2)), np.arange(count)[:, None] % 3 == 0, 1 + np.arange(count)[:, None] % 4]


@needs_compiler
@pytest.mark.parametrize(("precision", "warps"), [(64, 3), (32, 4)])
def test_all_statements(precision, warps):
    """Each row as alone."""
    made, rows = loops_and_arms(precision), rows_of(34)
    found = run(made, *rows, warps=warps)
    for row, arrays in enumerate(zip(*rows, strict=True)):
        for result, expected in zip(found, reference.run(made, *arrays), strict=True):
            np.testing.assert_allclose(result[row], expected, rtol=1e-14 if precision == 64 else 1e-5)


@needs_compiler
@pytest.mark.parametrize("gaps", [cuda_warps._GAPS, (0,)])
def test_a_step_is_the_simulator_s(gaps, monkeypatch):
    """In the air, at touch-down and in the ground: rows that go different ways; also where numbers give slots away
    as soon as they can, and come again."""
    motion = swaying("foot")
    simulator = Simulator(motion.robot, media.sand(eps=1e-3), 0.002)
    step = jax.jit(lambda state: simulator.step(state, motion.policy(state)))
    states = [simulator.initial_state(height=height) for height in (0.05, 0.0, -0.03)]
    batch = [np.stack(leaves) for leaves in zip(*map(jax.tree.leaves, states), strict=True)]
    made = frugal(scalarise(step, states[0]))
    roomy = cuda_warps._Text(made, 4).slots
    monkeypatch.setattr(cuda_warps, "_GAPS", gaps)
    slots = cuda_warps._Text(made, 4).slots
    assert (slots.count < roomy.count) == (sum(map(len, slots.again.values())) > 0) == (gaps == (0,))
    found = run(made, *batch, warps=4)
    for row, state in enumerate(states):
        for result, expected in zip(found, jax.tree.leaves(step(state)), strict=True):
            np.testing.assert_allclose(result[row], np.ravel(expected), rtol=1e-9, atol=1e-9)


def test_calls_are_inlined():
    """Small functions only, with values of their own at each call."""
    made = loops_and_arms()
    inlined = with_calls_inlined(made, 10)
    assert not inlined.functions
    assert not any(isinstance(one, Call) for one in walk(inlined.main.body))
    assert [one.name for one in with_calls_inlined(made, 1).functions] == ["mixed"]
    for arrays in zip(*rows_of(4), strict=True):
        for one, other in zip(reference.run(made, *arrays), reference.run(inlined, *arrays), strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_has_no_warps_has_threads(monkeypatch):
    """Memory that is indexed by a value, and what does not fit into the memory of a block."""
    made, table = loops_and_arms(), LocalArray("int", 4)
    stored = program(64, [Buffer("int", 1)], lambda b, k: b.store(table, k, k) or [b.load(table, number(2))])
    with pytest.raises(NotNative, match="indexed by a value"):
        warps_text(stored)
    assert "warps" in gpu.text_of(made)
    monkeypatch.setattr(cuda_warps, "_GREATEST_MEMORY", 2048)
    with pytest.raises(NotNative, match="do not fit"):
        warps_text(made)
    assert gpu.text_of(made) == kernel_text(made)


def test_a_kernel_is_started_with_its_memory():
    """32 rows for each block of all warps; what it is like stands in its name."""
    name = "softground_kernel_by_8_warps_with_203776_bytes"
    started = gpu.Started.named(f"...\0{name}\0...".encode())
    assert started == gpu.Started(name, 0, 8, 203776)
    assert start(shape=(130, 2), how=started)[1] == [(0xF, (5, 1, 1, 256, 1, 1, 203776, 0x57), [0x1000, 0x2000, 130])]
    assert gpu.Started.named(b"softground_kernel_4").team == 4
    assert gpu.Started.named(b"softground_kernel_1").team == 1
