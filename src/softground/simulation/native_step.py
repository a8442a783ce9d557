"""The step of a simulator as native code.

What is known of the simulator when a step is traced becomes constants of the code; what is being traced (a state, a
control, a strength that a batch varies) becomes its inputs. Derivatives are those of the step in JAX, behind the
implicit rule of `contact/solve.py`.
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
from softground.native.calling import platform
from softground.native.compiling import natively

#: Steps from which on making native code takes less time than it saves, on one core.
PAYS_FROM = 200_000


def native_step(step: Callable[..., Any], simulator: Any, state: Any, control: Any) -> Any:
    """`step(simulator, state, control)` by native code; raises `NotNative` where there is none for it."""
    platform()
    is_input = (lambda leaf: not is_known(leaf), eqx.is_array_like, eqx.is_array_like)
    inputs, constants = eqx.partition((simulator, state, control), is_input)
    inputs = jax.tree.map(lambda leaf: _in_precision(leaf, state.q.dtype), inputs)

    def function(inputs):
        return step(*eqx.combine(inputs, constants))

    compiled = natively(function, inputs)

    @jax.custom_jvp
    def differentiable(inputs):
        return compiled(inputs)

    @differentiable.defjvp
    def _derivative(primals, tangents):
        return differentiable(*primals), jax.jvp(function, primals, tangents)[1]

    return differentiable(inputs)


def _in_precision(leaf: Any, dtype: Any) -> jax.Array:
    """A number or an array of JAX, floats in one precision."""
    array = jnp.asarray(leaf)
    return array.astype(dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array


@cache
def say_why_not(reason: str) -> None:
    """Warn, once for each reason."""
    warnings.warn(f"steps stay with XLA: {reason}", stacklevel=2)
