"""Functions of objects (a simulator, a block of constraints) as native code.

What is known of an object when a function of it is traced becomes constants of the code; what is being traced (a
state, a strength that a batch varies, the surface of a terrain) becomes its inputs. Derivatives are those of the
function in JAX.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from softground.arrays import is_known


def by_native_code(function: Callable[..., Any], parts: Any, *arrays: Any, in_place: Any = None) -> Any:
    """`function(parts, *arrays)` by native code; raises `NotNative` where there is none for it.

    parts: of what the function is made, constants where they are known. arrays: pytrees of arrays, all inputs. Floats
    of both have the precision of the first float among the arrays. in_place: large arrays of which the function reads
    and sets elements at indices; it takes them as its last argument and returns them, changed, as its last result.
    """
    from softground.native.calling import platform  # the compiler is imported where it is used: 0.05 s
    from softground.native.compiling import natively

    platform()
    last = () if in_place is None else (in_place,)
    is_input = (lambda leaf: not is_known(leaf), *[eqx.is_array_like] * (len(arrays) + len(last)))
    inputs, constants = eqx.partition((parts, *arrays, *last), is_input)
    first = next(leaf for leaf in jax.tree.leaves(arrays) if jnp.issubdtype(jnp.result_type(leaf), jnp.floating))
    inputs = jax.tree.map(lambda leaf: _in_precision(leaf, jnp.result_type(first)), inputs)

    def of_inputs(inputs):
        return function(*eqx.combine(inputs, constants))

    compiled = natively(of_inputs, inputs, in_place=len(jax.tree.leaves(in_place)))

    @jax.custom_jvp
    def differentiable(inputs):
        return compiled(inputs)

    @differentiable.defjvp
    def _derivative(primals, tangents):
        return differentiable(*primals), jax.jvp(of_inputs, primals, tangents)[1]

    return differentiable(inputs)


def _in_precision(leaf: Any, dtype: Any) -> jax.Array:
    """A number or an array of JAX, floats in one precision."""
    array = jnp.asarray(leaf)
    return array.astype(dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array


@cache
def say_why_not(what: str, reason: str) -> None:
    """Warn, once for each reason, that something stays with XLA."""
    warnings.warn(f"{what} stay with XLA: {reason}", stacklevel=2)
