"""A native program as a function of JAX's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import numpy as np

from softground.native.errors import NotNative
from softground.native.ffi import register
from softground.native.llvm import module_text
from softground.native.program import Buffer, Interface, Program


def native(program: Program, shapes: Sequence[tuple[int, ...]] | None = None) -> Callable[..., tuple[jax.Array, ...]]:
    """A program for the CPU: a function of one array per input that returns one per output, of `shapes`."""
    shapes = [(buffer.size,) for buffer in program.outputs] if shapes is None else shapes
    return calling(program.interface, module_text(program), lambda: program, shapes)


def calling(
    interface: Interface, key: str, make: Callable[[], Program], shapes: Sequence[tuple[int, ...]]
) -> Callable[..., tuple[jax.Array, ...]]:
    """The program that is known by `key`, or else is made and compiled, as a function of arrays.

    It can be used inside of `jit`, `scan`, `while_loop` and `vmap`, which makes a batch one call; it has no derivative.
    Inputs may have any shape of the right size. Rows of a batch are shared among XLA's threads, if it has several.
    """
    results = [
        jax.ShapeDtypeStruct(shape, dtype_of(interface, buffer))
        for shape, buffer in zip(shapes, interface.outputs, strict=True)
    ]
    for result, buffer in zip(results, interface.outputs, strict=True):
        if result.size != buffer.size:
            raise ValueError(f"an output of {buffer.size} numbers cannot have the shape {result.shape}")
    call = jax.ffi.ffi_call(register(key, make), results, vmap_method="broadcast_all")

    def function(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        _check(interface, arrays)
        return tuple(call(*arrays))

    return function


def dtype_of(program: Interface, buffer: Buffer) -> np.dtype:
    """Type of the numbers of a buffer, as an array has it."""
    if buffer.kind == "bool":
        return np.dtype(bool)
    return np.dtype(f"float{program.precision}" if buffer.kind == "float" else f"int{buffer.bits}")


def _check(program: Interface, arrays: Sequence[jax.Array]) -> None:
    """Memory that is not as the program thinks would be read past its end."""
    if len(arrays) != len(program.inputs):
        raise NotNative(f"the program takes {len(program.inputs)} arrays, not {len(arrays)}")
    for position, (array, buffer) in enumerate(zip(arrays, program.inputs, strict=True)):
        if np.size(array) != buffer.size or jax.dtypes.result_type(array) != dtype_of(program, buffer):
            raise NotNative(
                f"input {position} must be {buffer.size} numbers of {dtype_of(program, buffer)}, "
                f"not {np.shape(array)} of {jax.dtypes.result_type(array)}"
            )
