"""Arrays: parameters are NumPy arrays as loaded, JAX arrays once traced; in single or in double precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from softground.errors import OptionError

Array = jax.Array | np.ndarray
Tree = TypeVar("Tree")


def as_float(value) -> Array:
    """Parameters as arrays of floats: of NumPy unless they are traced."""
    if isinstance(value, jax.Array):
        return value
    try:
        return np.asarray(value, dtype=float)
    except ValueError as error:
        raise OptionError(f"expected numbers, in rows of one length, got {value!r}") from error


def is_known(value) -> bool:
    """Whether a number can be looked at; one that is being traced cannot, and checks pass it by."""
    return not isinstance(value, Tracer)


def in_precision(tree: Tree, dtype) -> Tree:
    """A pytree with its floating-point arrays in one precision."""
    return jax.tree.map(lambda x: jnp.asarray(x, dtype) if _is_float(x) else x, tree)


def _is_float(x) -> bool:
    return isinstance(x, (jax.Array, np.ndarray)) and jnp.issubdtype(x.dtype, jnp.floating)


def require_double(what: str) -> None:
    """OptionError with the remedy where JAX computes in single precision and `what` cannot."""
    if jax.dtypes.canonicalize_dtype(float) != np.float64:
        raise OptionError(
            f'{what} needs double precision: call jax.config.update("jax_enable_x64", True) before anything else, '
            "or set JAX_ENABLE_X64=1 in the environment"
        )


Given = ParamSpec("Given")
Result = TypeVar("Result")


def one_program(method: Callable[Given, Result]) -> Callable[Given, Result]:
    """The method, compiled as a whole where nothing that it is given is traced.

    Out of `jax.jit` JAX compiles operation by operation, for every shape: some seventy programs of 10 ms each for the
    kinematics of a robot, and then as many calls. Inside another program the method becomes part of it as before.
    """
    program = eqx.filter_jit(method)

    @wraps(method)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        # The arguments last: a robot has most leaves, and is traced least often.
        traced = any(isinstance(leaf, Tracer) for part in (kwargs, *args[::-1]) for leaf in jax.tree.leaves(part))
        return (method if traced else program)(*args, **kwargs)

    return call
