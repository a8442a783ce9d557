"""Random programs of JAX, with branches, loops, functions and memory in one another, against their interpreter."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from .programs import check

SIZE = 4
LEVEL = 0.0173  # no number that comes about by symmetry, where rounding would decide
TABLE = jnp.cos(jnp.arange(7.0))
STEPS = ["add", "mul", "wave", "mask", "reverse", "take", "put", "branch", "loop", "scan", "call", "settle", "divide"]


def run(steps, x, k):
    """A vector of numbers below 2 in size and an integer through some steps."""
    for name, *inner in steps:
        x, k = _step(name, inner[0] if inner else [], x, k)
        x = 2 * jnp.tanh(x / 2)
    return x, k


def _step(name: str, inner, x, k):
    match name:
        case "add":
            return x + x[::-1] * k, k + 1
        case "mul":
            return x * jnp.roll(x, 1) - 0.5, 3 - k
        case "wave":
            return jnp.sin(x) + TABLE[k % 7], k
        case "mask":
            return np.tri(SIZE) @ x, k
        case "reverse":
            return jnp.where(x > LEVEL, x[::-1], -x), k + (x > LEVEL).sum(dtype=k.dtype)
        case "take":
            return x + x[k % SIZE], k
        case "put":
            return x.at[k % SIZE].set(0.3).at[(k + 1) % SIZE].add(x[0]), k
        case "divide":
            return x / (1 + x @ x), k % 5
        case "branch":
            return lax.cond(x.sum() > LEVEL, lambda x, k: run(inner, x, k), lambda x, k: (x, k + 2), x, k)
        case "loop":

            def body(c):
                return (c[0] + 1, *run(inner, c[1], c[2]))

            return lax.while_loop(lambda c: (c[0] < 3) & (c[1][0] < 1.5), body, (0, x, k))[1:]
        case "scan":
            (x, k), rows = lax.scan(lambda c, row: (run(inner, *c), row * c[0][0]), (x, k), x[:3])
            return x.at[:3].add(rows), k
        case "call":
            function = jax.jit(lambda x, k: run(inner, x, k))
            (x, k), (y, _) = function(x, k), function(x + 1, k)
            return x + y, k
        case _:
            return jnp.exp(-(x**2)), jnp.clip(k, -3, 3)


simple = st.tuples(st.sampled_from([x for x in STEPS if x not in ("branch", "loop", "scan", "call")]))
inner = st.lists(simple, min_size=1, max_size=2)
compound = st.tuples(st.sampled_from(["branch", "loop", "scan", "call"]), inner)
deeper = st.tuples(
    st.sampled_from(["branch", "loop", "scan", "call"]), st.lists(st.one_of(simple, compound), min_size=1, max_size=2)
)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.one_of(simple, compound, deeper), min_size=1, max_size=4), st.integers(-2, 5), st.booleans())
def test_a_random_program(steps, k, turned):
    x = jnp.array([0.3, -0.8, 1.1, -0.1])
    check(lambda x, k: run(steps, x, k), -x if turned else x, jnp.int32(k), tolerance=1e-9)
