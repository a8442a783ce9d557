"""Programs that nobody thought of, run natively, against the reference."""

import jax
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from softground.native.calling import native
from softground.native.program import Buffer, LocalArray

from .building import function, number, program
from .reference import run

#: Without those that magnify a rounding without bound (rem, floor, int_of_float, a comparison of floats that are nearly
#: equal): fused products differ from the reference's in the last place. Of ints everything is exact.
SMOOTH = {"add": 2, "sub": 2, "mul": 2, "max": 2, "min": 2, "atan2": 2}
SMOOTH |= dict.fromkeys(("neg", "abs", "exp", "sin", "cos", "tanh", "atan"), 1)
EXACT = {"add": 2, "sub": 2, "mul": 2, "div": 2, "rem": 2, "max": 2, "min": 2, "and": 2, "xor": 2}
EXACT |= dict.fromkeys(("neg", "abs", "sign", "not"), 1)
FLAGS = ("lt", "le", "eq", "ne")


class Author:
    """Writes statements at random: what hypothesis draws decides, so that it can make a failure small."""

    def __init__(self, draw):
        self.draw = draw

    def choose(self, values):
        return self.draw(st.sampled_from(values))

    def block(self, b, floats, ints, bools, depth, functions):
        """Add statements to a block, and return the values that are known after it."""
        floats, ints, bools = list(floats), list(ints), list(bools)
        for _ in range(self.draw(st.integers(1, 6))):
            what = self.choose(
                ["float", "float", "float", "int", "bool", "if", "while", "call", "memory"][: 9 if depth else 5]
            )
            match what:
                case "float":
                    operation = self.choose(sorted(SMOOTH))
                    made = b.op(operation, *(self.choose(floats) for _ in range(SMOOTH[operation])))
                    floats.append(b.op("max", b.op("min", made, number(3.0)), number(-3.0)))  # else exp of exp of exp
                case "int":
                    operation = self.choose(sorted(EXACT))
                    ints.append(b.op(operation, *(self.choose(ints) for _ in range(EXACT[operation]))))
                    floats.append(b.op("select", self.choose(bools), self.choose(floats), self.choose(floats)))
                case "bool":
                    bools.append(b.op(self.choose(FLAGS), self.choose(ints), self.choose(ints)))
                    ints.append(b.op("int_of_bool", self.choose(bools)))
                case "if":
                    arm = lambda b: self.last(b, floats, ints, bools, depth - 1, functions)  # noqa: E731
                    for values, new in zip((floats, ints, bools), b.when(self.choose(bools), arm, arm), strict=True):
                        values.append(new)
                case "while":
                    rounds = number(self.draw(st.integers(0, 3)))
                    start = [number(0), self.choose(floats), self.choose(ints)]
                    results = b.loop(
                        start,
                        lambda b, k, x, i, rounds=rounds: [b.op("lt", k, rounds)],
                        lambda b, k, x, i: [
                            b.op("add", k, number(1)),
                            *self.last(b, [*floats, x], [*ints, k, i], bools, depth - 1, functions)[:2],
                        ],
                    )
                    floats.append(results[1])
                    ints.append(results[2])
                case "call" if functions:
                    called = self.choose(functions)
                    values = b.call(called, self.choose(floats), self.choose(ints), self.choose(bools))
                    for known, new in zip((floats, ints, bools), values, strict=True):
                        known.append(new)
                case "memory":
                    array = LocalArray("float", 3, (0.25, 0.5, 0.75))
                    b.store(array, self.choose(ints), self.choose(floats))
                    floats.extend([b.load(array, self.choose(ints)), b.load(array, number(1))])
        return floats, ints, bools

    def last(self, b, *known):
        return [values[-1] for values in self.block(b, *known)]


@st.composite
def programs(draw):
    author, functions = Author(draw), []
    for _ in range(draw(st.integers(0, 2))):
        functions.append(
            function("f", ["float", "int", "bool"], lambda b, *p: author.last(b, *([x] for x in p), 0, list(functions)))
        )

    def make(b, x, y, i, j, c):
        return [value for values in author.block(b, [x, y], [i, j], [c], 2, functions) for value in values]

    return program(64, [Buffer("float", 2), Buffer("int", 2), Buffer("bool", 1)], make, functions)


@settings(deadline=None, max_examples=10)
@given(
    programs(), st.lists(st.floats(-3, 3), min_size=2, max_size=2), st.lists(st.integers(-9, 9), min_size=2, max_size=2)
)
def test_native_and_reference_agree(made, floats, ints):
    call = native(made)
    signs = np.array([[1], [-1], [0]])
    rows = [signs * floats, (signs * ints).astype(np.int32), np.array([[True], [False], [True]])]
    side_by_side = jax.vmap(call)(*rows)
    for row, arrays in enumerate(zip(*rows, strict=True)):
        expected = run(made, *arrays)
        # Each statement magnifies errors at most 20 times (exp 3), a few of them in a chain.
        for result, value in zip(side_by_side, expected, strict=True):
            np.testing.assert_allclose(result[row], value, rtol=1e-9, atol=1e-9)
        if row == 0:
            for result, value in zip(call(*arrays), expected, strict=True):
                np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-9)
