"""A native program called on NumPy's memory, without JAX or XLA in between.

For programs that live in another program's loop, in which a call must cost little: through JAX it takes some tens of
microseconds, here one. Arrays are handed over once, by their addresses; a call then reads and writes them in place.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from softground.native.calling import dtype_of
from softground.native.compiling import digest, sources_digest
from softground.native.errors import NotNative
from softground.native.ffi import rows_text
from softground.native.llvm import module_text
from softground.native.machine import address, machine_code
from softground.native.program import Buffer, Interface, Program
from softground.native.scalarise import interface_of, scalarise_jaxpr

SYMBOL = "softground_direct"


class Direct:
    """A function of JAX as native code that works on arrays in place."""

    def __init__(self, function: Callable, *examples: Any):
        """For arguments (pytrees of arrays) with the shapes and types of the examples; raises `NotNative`."""
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*examples)
        self._interface = interface_of(closed)
        self._results, self._structure = jax.tree.flatten(shapes)
        key = f"direct {sources_digest()} {digest(closed)}"
        name, code = machine_code(key, lambda: _text(scalarise_jaxpr(closed)))
        self._entry = _loaded(f"softground_direct_{name}", code)

    def results(self) -> Any:
        """Arrays that can hold what the function returns."""
        pairs = zip(self._results, self._interface.outputs, strict=True)
        made = [np.zeros(shape.shape, dtype_of(self._interface, buffer)) for shape, buffer in pairs]
        return jax.tree.unflatten(self._structure, made)

    def bound(self, arguments: tuple, results: Any) -> Callable[[], None]:
        """A call that reads these arguments and writes these results, where they are now, every time.

        Arrays must stay where they are, and results must not share memory with arguments.
        """
        inputs, outputs = jax.tree.leaves(arguments), jax.tree.leaves(results)
        _check(self._interface, self._interface.inputs, inputs, "input")
        _check(self._interface, self._interface.outputs, outputs, "output")
        arrays = [*inputs, *outputs]
        table = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        entry, at = self._entry, ctypes.addressof(table)
        kept = (self, arrays, table)  # as long as the call lives

        def call(_kept=kept) -> None:
            entry(at)

        return call


_ENTRIES: dict[str, Callable[[int], None]] = {}  # of this process, which loads a library once


def _loaded(name: str, code: bytes) -> Callable[[int], None]:
    """The entry of a program, in this process."""
    if name not in _ENTRIES:
        _ENTRIES[name] = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address(name, code, SYMBOL))
    return _ENTRIES[name]


def _text(program: Program) -> str:
    """Text of a program that is called with a table of where its buffers begin."""
    entry = f"define void @{SYMBOL}(ptr %data) {{\n  call void @rows(ptr %data, i64 0, i64 1)\n  ret void\n}}\n"
    return "\n".join([module_text(program), rows_text(program), entry])


def _check(interface: Interface, buffers: tuple[Buffer, ...], arrays: list, what: str) -> None:
    """Memory that is not as the program thinks would be read, or written, past its end."""
    if len(arrays) != len(buffers):
        raise NotNative(f"the program has {len(buffers)} {what}s, not {len(arrays)}")
    for number, (array, buffer) in enumerate(zip(arrays, buffers, strict=True)):
        dtype = dtype_of(interface, buffer)
        sound = isinstance(array, np.ndarray) and array.size == buffer.size and array.dtype == dtype
        if not sound or not array.flags.c_contiguous:
            raise NotNative(f"{what} {number} must be {buffer.size} numbers of {dtype} in one piece, not {array!r}")
