"""Functions of JAX as native code: traced, looked for on disk, and made only if they are not there.

What takes time is turning a trace into scalars and those into machine code; a trace is known again by its digest
before either.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from softground.native.calling import calling
from softground.native.scalarise import interface_of, scalarise_jaxpr


def natively(function: Callable, *examples, in_place: int = 0) -> Callable:
    """The function as native code, for arguments (pytrees of arrays) with the shapes and types of the examples.

    in_place: how many of the last leaves of the arguments are changed where they are, and are the last of the result.
    For the CPU or the GPU, whichever JAX computes on while it is traced; works inside of `jit`, `scan`, `while_loop`
    and `vmap`, and has no derivative. Raises `NotNative` where the function, or this machine, has no native form.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*examples)
    leaves, structure = jax.tree.flatten(shapes)
    key = f"{sources_digest()} {digest(closed)} {in_place}"
    interface = interface_of(closed, in_place)
    call = calling(interface, key, lambda: scalarise_jaxpr(closed, in_place), [x.shape for x in leaves])
    return lambda *arguments: jax.tree.unflatten(structure, call(*jax.tree.leaves(arguments)))


def digest(closed: ClosedJaxpr) -> str:
    """What a jaxpr computes, in a few letters: its text and all its numbers."""
    text = re.sub(r" at 0x[0-9a-f]+", "", str(closed.jaxpr))  # where a function lies in memory says nothing
    found = hashlib.sha256(text.encode())
    for number in _numbers(closed):
        array = np.asarray(number)
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _numbers(closed: ClosedJaxpr) -> Iterator:
    """Constants and literals of a jaxpr and of those inside it, in order."""
    yield from closed.consts
    yield from _literals(closed.jaxpr)


def _literals(jaxpr: Jaxpr) -> Iterator:
    for equation in jaxpr.eqns:
        yield from (variable.val for variable in equation.invars if isinstance(variable, Literal))
        for inner in jax.tree.leaves(equation.params, is_leaf=lambda x: isinstance(x, ClosedJaxpr | Jaxpr)):
            if isinstance(inner, ClosedJaxpr):
                yield from _numbers(inner)
            elif isinstance(inner, Jaxpr):
                yield from _literals(inner)
    yield from (variable.val for variable in jaxpr.outvars if isinstance(variable, Literal))


@cache
def sources_digest() -> str:
    """Digest of this compiler: what another version of it has kept is not used."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
