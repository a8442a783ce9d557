"""A native program as a function of JAX's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

from softground.native.errors import NotNative
from softground.native.ffi import register
from softground.native.llvm import LANES
from softground.native.program import Buffer, Program


def native(
    program: Program, shapes: Sequence[tuple[int, ...]] | None = None, lanes: int | None = None
) -> Callable[..., tuple[jax.Array, ...]]:
    """Compile a program for the CPU: a function of one array per input that returns one per output, of `shapes`.

    It can be used inside of `jit`, `scan`, `while_loop` and `vmap`, which makes a batch one call; it has no derivative.
    Inputs may have any shape of the right size. A batch is compiled for itself when it is first met: `lanes` of its
    rows are computed side by side (by default as many as a vector holds), and XLA's threads share it, if it has
    several.
    """
    shapes = [(buffer.size,) for buffer in program.outputs] if shapes is None else shapes
    lanes = LANES[program.precision] if lanes is None else lanes
    results = [
        jax.ShapeDtypeStruct(shape, dtype_of(program, buffer))
        for shape, buffer in zip(shapes, program.outputs, strict=True)
    ]
    for result, buffer in zip(results, program.outputs, strict=True):
        if result.size != buffer.size:
            raise ValueError(f"an output of {buffer.size} numbers cannot have the shape {result.shape}")
    name = register(program)

    @custom_vmap
    def one(*arrays):
        return tuple(jax.ffi.ffi_call(name, results)(*arrays))

    @one.def_vmap
    def _many(rows, batched, *arrays):
        arrays = [
            array if has_rows else jnp.broadcast_to(array, (rows, *jnp.shape(array)))
            for array, has_rows in zip(arrays, batched, strict=True)
        ]
        many = [jax.ShapeDtypeStruct((rows, *result.shape), result.dtype) for result in results]
        target = register(program, lanes)
        made = jax.ffi.ffi_call(target, many, vmap_method="broadcast_all")(*arrays)
        return tuple(made), (True,) * len(many)

    def function(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        _check(program, arrays)
        return one(*arrays)

    return function


def dtype_of(program: Program, buffer: Buffer) -> np.dtype:
    """Type of the numbers of a buffer, as an array has it."""
    if buffer.kind == "bool":
        return np.dtype(bool)
    return np.dtype(f"float{program.precision}" if buffer.kind == "float" else f"int{buffer.bits}")


def _check(program: Program, arrays: Sequence[jax.Array]) -> None:
    """Memory that is not as the program thinks would be read past its end."""
    if len(arrays) != len(program.inputs):
        raise NotNative(f"the program takes {len(program.inputs)} arrays, not {len(arrays)}")
    for position, (array, buffer) in enumerate(zip(arrays, program.inputs, strict=True)):
        if np.size(array) != buffer.size or jax.dtypes.result_type(array) != dtype_of(program, buffer):
            raise NotNative(
                f"input {position} must be {buffer.size} numbers of {dtype_of(program, buffer)}, "
                f"not {np.shape(array)} of {jax.dtypes.result_type(array)}"
            )
