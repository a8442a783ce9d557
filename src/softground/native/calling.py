"""A native program as a function of JAX's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

from softground.native import ffi, gpu
from softground.native.errors import NotNative
from softground.native.llvm import LANES, module_text
from softground.native.program import Buffer, Interface, Program


def native(
    program: Program, shapes: Sequence[tuple[int, ...]] | None = None, lanes: int | None = None
) -> Callable[..., tuple[jax.Array, ...]]:
    """A program as a function of one array per input that returns one per output, of `shapes`."""
    shapes = [(buffer.size,) for buffer in program.outputs] if shapes is None else shapes
    return calling(program.interface, module_text(program), lambda: program, shapes, lanes)


def calling(
    interface: Interface,
    key: str,
    make: Callable[[], Program],
    shapes: Sequence[tuple[int, ...]],
    lanes: int | None = None,
) -> Callable[..., tuple[jax.Array, ...]]:
    """The program that is known by `key`, or else is made and compiled, as a function of arrays.

    It can be used inside of `jit`, `scan`, `while_loop` and `vmap`, which makes a batch one call; it has no derivative.
    Inputs may have any shape of the right size. A batch is compiled for itself when it is first met: `lanes` of its
    rows are computed side by side (by default as many as a vector holds), and XLA's threads share it, if it has
    several. On a GPU every row has a thread, and one row is a batch.
    """
    lanes = LANES[interface.precision] if lanes is None else lanes
    results = [
        jax.ShapeDtypeStruct(shape, dtype_of(interface, buffer))
        for shape, buffer in zip(shapes, interface.outputs, strict=True)
    ]
    for result, buffer in zip(results, interface.outputs, strict=True):
        if result.size != buffer.size:
            raise ValueError(f"an output of {buffer.size} numbers cannot have the shape {result.shape}")
    made = cache(make)  # at most once, for one row and for batches
    places = ([k for k, buffer in enumerate(side) if buffer.in_place] for side in (interface.inputs, interface.outputs))
    aliases = dict(zip(*places, strict=True))

    def name(lanes: int = 1) -> str:
        if platform() == "cpu":
            return ffi.register(key, made, lanes)
        return gpu.register(key, made, interface)

    @custom_vmap
    def one(*arrays):
        return tuple(jax.ffi.ffi_call(name(), results, input_output_aliases=aliases)(*arrays))

    @one.def_vmap
    def _many(rows, batched, *arrays):
        arrays = [
            array if has_rows else jnp.broadcast_to(array, (rows, *jnp.shape(array)))
            for array, has_rows in zip(arrays, batched, strict=True)
        ]
        many = [jax.ShapeDtypeStruct((rows, *result.shape), result.dtype) for result in results]
        call = jax.ffi.ffi_call(name(lanes), many, vmap_method="broadcast_all", input_output_aliases=aliases)
        return tuple(call(*arrays)), (True,) * len(many)

    def function(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        _check(interface, arrays)
        return one(*arrays)

    return function


def platform() -> str:
    """Where JAX computes what is now being traced, "cpu" or "gpu"; NotNative elsewhere."""
    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    found = jax.default_backend() if chosen is None else getattr(chosen, "platform", chosen)
    found = {"cuda": "gpu"}.get(found, found)
    if found not in ("cpu", "gpu"):
        raise NotNative(f"native code is made for processors and for NVIDIA's GPUs, and JAX computes on {found}")
    return found


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
