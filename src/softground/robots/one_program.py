"""Methods that run as one compiled program when they are called with numbers."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax
from jax.core import Tracer

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
