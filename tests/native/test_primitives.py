"""Every primitive of the table against JAX, on random numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from softground.native.errors import NotNative
from softground.native.primitives.functions import inner_jaxprs
from softground.native.primitives.table import PRIMITIVES
from softground.native.scalarise import scalarise

from .programs import check

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(2, 3, 4))
U = rng.uniform(0.1, 0.9, size=(3, 4))
K, J = rng.integers(-5, 6, size=(2, 3, 4)).astype(np.int32)
N = np.where(J == 0, 1, J)
B, C = rng.integers(0, 2, size=(2, 3, 4)).astype(bool)
A = rng.normal(size=(5, 5))
SPD = A @ A.T + 5 * np.eye(5)
MASKS = np.tri(4)


@jax.custom_batching.custom_vmap
def batched(x):
    return jnp.sin(x)


@batched.def_vmap
def _(axis_size, in_batched, x):
    return jnp.sin(x), True


UNARY = ("neg", "abs", "sign", "floor", "ceil", "round", "exp", "expm1", "sin", "cos", "tan", "tanh", "logistic")
UNARY += ("square", "exp2", "cbrt", "sinh", "cosh", "is_finite", "stop_gradient")
POSITIVE = ("sqrt", "rsqrt", "log", "log1p", "asin", "acos", "atan")
#: How several devices hold an array, here one; trainers say so of what they hand to `vmap`.
EVERYWHERE = NamedSharding(jax.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,)), PartitionSpec())

CASES = {
    **{name: (getattr(lax, name), X) for name in UNARY},
    **{name: (getattr(lax, name), U) for name in POSITIVE},
    **{name: (getattr(lax, name), X, Y) for name in ("add", "sub", "mul", "div", "rem", "min", "max", "atan2")},
    **{
        f"{name} of ints": (getattr(lax, name), K, np.where(J == 0, 1, J))
        for name in ("add", "sub", "mul", "div", "rem")
    },
    **{f"{name} of ints": (getattr(lax, name), K) for name in ("neg", "abs", "sign")},
    **{name: (getattr(lax, name), K, J) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{f"bitwise {name}": (getattr(lax, f"bitwise_{name}"), K, J) for name in ("and", "or", "xor")},
    **{f"logical {name}": (getattr(lax, f"bitwise_{name}"), B, C) for name in ("and", "or", "xor")},
    "bitwise not": (lax.bitwise_not, K),
    "logical not": (lax.bitwise_not, B),
    "not a number": (jnp.isnan, np.array([1.0, np.nan])),
    "greatest of not a number": (lax.max, np.array([np.nan, 1.0, np.nan]), np.array([1.0, np.nan, np.nan])),
    "pow": (lax.pow, U, Y),
    "pow, whole": (lambda x: lax.pow(x, jnp.full_like(x, 3.0)), X),
    "pow, root": (lambda x: x**0.5, U),
    "pow, int": (lambda x, n: lax.pow(x, n), U, K),
    "integer_pow": (lambda x: [lax.integer_pow(x, n) for n in (-3, -1, 1, 2, 5, 8)], X),
    "round away": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), np.array([0.5, -0.5, 1.5, 2.2])),
    "clamp": (lambda x: lax.clamp(-0.5, x, 0.7), X),
    "select_n": (lax.select, B, X, Y),
    "select_n of three": (lambda k, x, y: lax.select_n(jnp.abs(k) % 3, x, y, x + y), K, X, Y),
    "convert": (lambda x, k, b: [x.astype(t) for x in (x, k, b) for t in (float, jnp.int32, bool, jnp.int64)], X, K, B),
    "divisor shared": (lambda x: x / x.sum(-1, keepdims=True), U),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None], (3, 2, 4)), X),
    "reshape": (lambda x: x.reshape(2, 6).T[None].squeeze(0), X),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, 2)), X),
    "rev": (lambda x: lax.rev(x, (1,)), X),
    "concatenate": (lambda x, y: jnp.concatenate([x, y], 1), X, Y),
    "stack": (lambda x, y: jnp.stack([x, y], 1), X, Y),
    "split": (lambda x: jnp.split(x, [1, 3], 1), X),
    "unstack": (lambda x: [jnp.unstack(x, axis=1), jnp.unstack(x[0])], X),
    "tile": (lambda x: jnp.tile(x, (2, 3)), X),
    "slice": (lambda x: x[::2, 1:3], X),
    "pad": (lambda x: lax.pad(x, 9.0, [(1, -1, 0), (-1, 2, 1)]), X),
    "iota": (lambda x: x + lax.broadcasted_iota(float, (3, 4), 1), X),
    "reductions": (lambda x: [r(x, axis=a) for r in (jnp.sum, jnp.max, jnp.min, jnp.prod) for a in (0, 1, None)], X),
    "reductions of flags": (lambda b: [jnp.all(b, 0), jnp.any(b, 1), lax.reduce_xor(b, (0,))], B),
    "long sum": (lambda x, y: (x * y[0, 0]).sum() + (y[:, None] * x[None]).sum(), X, Y),
    "sum of nothing": (lambda x: x[:0].sum(0), X),
    "argmax": (lambda x: [jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)], X),
    "cumulations": (lambda x: [f(x, 1) for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin)], X),
    "cumsum, reverse": (lambda x: lax.cumsum(x, 0, reverse=True), X),
    "dot": (lambda x, y: [x @ y.T, jnp.einsum("ij,ij->i", x, y), jnp.einsum("ij,kj->ikj", x, y)], X, Y),
    "dot with a mask": (lambda x: [MASKS @ x.T, x @ MASKS], X),
    "dot with zeros": (lambda x: np.diag([1.0, 0.0, 2.0]) @ x, X),
    "cholesky": (jnp.linalg.cholesky, SPD),
    "cholesky, batch": (jnp.linalg.cholesky, np.stack([SPD, 2 * SPD])),
    "solve": (lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b), SPD, A),
    "triangular_solve": (
        lambda a, b: [
            lax.linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=t, unit_diagonal=u)
            for left in (True, False)
            for lower in (True, False)
            for t in (True, False)
            for u in (True, False)
        ],
        SPD,
        A,
    ),
    "gather, known": (lambda x: [x[np.array([2, 0, 2])], x[:, np.array([3, 1])], x[[0, 1], [2, 3]]], X),
    "scatter, known": (lambda x: x.at[np.array([2, 0])].set(1.0).at[1, 2].add(3.0).at[:, 3].multiply(2.0), X),
    "gather": (lambda x, k: [x[k[0]], x[:, k[1, 0]], x[k[0], k[1]]], X, K),
    "gather, fill": (lambda x, k: x.at[k[0]].get(mode="fill", fill_value=-7.0), X, K),
    "gather, fill with nan": (lambda x, k: x.at[k[0], k[1]].get(mode="fill"), X, K),
    "gather, clip": (lambda x, k: x.at[k[0], k[1]].get(mode="clip"), X, K),
    "gather, batch": (lambda x, k: jax.vmap(lambda x, k: x[k])(x, jnp.clip(k, 0, 3)), X, K),
    "gather of a table": (lambda k: jnp.asarray(X)[k[0] % 3], K),
    "scatter, drop": (lambda x, k: x.at[k[0]].set(2.0, mode="drop"), X, K),
    "scatter, clip": (lambda x, k: x.at[k[0, 0]].set(2.0, mode="clip"), X, K),
    "scatter, batch": (lambda x, k: jax.vmap(lambda x, k: x.at[k].set(5.0))(x, jnp.clip(k[:, 0], 0, 3)), X, K),
    **{
        f"scatter {name}": (lambda x, k, name=name: getattr(x.at[k[0], k[1]], name)(0.5), X, K)
        for name in ("add", "subtract", "multiply", "min", "max")
    },
    "dynamic_slice": (lambda x, k: lax.dynamic_slice(x, (k[0, 0], k[0, 1]), (2, 3)), X, K),
    "dynamic_slice, known": (lambda x: lax.dynamic_slice(x, (5, -1), (2, 3)), X),
    "dynamic_update_slice": (lambda x, k: lax.dynamic_update_slice(x, x[:2, :2], (k[0, 0], k[0, 1])), X, K),
    "custom_jvp": (jax.nn.relu, X),
    "custom_vmap": (batched, X),
    "jit": (lambda x: jax.jit(jnp.sin)(x) + jax.jit(jnp.sin)(x + 1), X),
    "checkpoint": (jax.checkpoint(jnp.sin), X),
    "optimization_barrier": (lax.optimization_barrier, X),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 11, 52), X),
    "reshard": (lambda x: jax.sharding.reshard(x, EVERYWHERE), X),
    "platform": (lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos), X),
    "cond": (lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), X),
    "while": (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x)), X),
    "scan": (lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(4), x), X),
}


@pytest.mark.parametrize("name", CASES)
def test_a_primitive_is_what_it_is_in_jax(name):
    check(*CASES[name])


def test_single_precision():
    check(
        lambda x, y: jnp.exp(x) / (1 + y @ y.T).sum() + 0.1, X.astype(np.float32), Y.astype(np.float32), tolerance=1e-6
    )


def test_every_primitive_has_a_case():
    seen = set()
    for function, *arguments in CASES.values():
        _collect(jax.make_jaxpr(function)(*arguments).jaxpr, seen)
    aliases = {
        "pjit",
        "core_call",
        "closed_call",
        "remat2",
        "copy_p",
        "copy",
        "add_any",
        "device_put",
        "custom_vjp_call",
    }
    assert set(PRIMITIVES) - seen - aliases == set()


def _collect(jaxpr, seen: set[str]) -> None:
    for equation in jaxpr.eqns:
        seen.add(equation.primitive.name)
        for inner in inner_jaxprs(equation):
            _collect(inner, seen)


def test_an_unknown_primitive_is_named():
    with pytest.raises(NotNative, match="sort"):
        scalarise(jnp.sort, X)


def test_an_unknown_type_is_named():
    with pytest.raises(NotNative, match="complex128"):
        scalarise(lambda x: x + 1j, X)
