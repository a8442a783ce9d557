"""Functions of MuJoCo called in a row: through its library at once, or one by one through its Python bindings."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from softground.native.errors import NotNative
from softground.native.row import in_a_row

Call = tuple[str, tuple[Any, ...]]
"""Name of a function of MuJoCo's, and its arguments as its Python bindings take them."""


def one_by_one(calls: Sequence[Call]) -> Callable[[], None]:
    """The calls through MuJoCo's bindings. They keep no `MjData` alive, as those through its library do not."""
    functions = [(getattr(mujoco, name), [_found(one) for one in arguments]) for name, arguments in calls]

    def run() -> None:
        for function, arguments in functions:
            function(*(find() for find in arguments))

    return run


def _found(argument: Any) -> Callable[[], Any]:
    """A function that says what an argument is."""
    return weakref.ref(argument) if isinstance(argument, mujoco.MjData) else lambda: argument


def at_once(calls: Sequence[Call]) -> Callable[[], None]:
    """The same as one function of machine code; raises `NotNative` where that cannot be made.

    An error of MuJoCo's (memory that does not suffice) ends the process there, where its bindings raise.
    """
    library = _library()
    return in_a_row([(_address(library, name), _c_arguments(name, arguments)) for name, arguments in calls])


def _c_arguments(name: str, arguments: tuple[Any, ...]) -> list[int]:
    """Arguments as C takes them: addresses of objects and of arrays' memory, and ints."""
    made = [_as_int(argument) for argument in arguments]
    return [*made, arguments[0].size] if name == "mju_copy" else made  # whose length the bindings find out


def _as_int(argument: Any) -> int:
    if isinstance(argument, np.ndarray):
        if not argument.flags.c_contiguous or argument.dtype != np.float64:
            raise NotNative("MuJoCo takes arrays of doubles in one piece")
        return argument.ctypes.data
    return argument._address if hasattr(argument, "_address") else int(argument)


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except AttributeError:
        found = None
    if found is None:
        raise NotNative(f"MuJoCo's library has no function {name}")
    return found


@cache
def _library() -> ctypes.CDLL:
    """MuJoCo's library, the one that its bindings have loaded."""
    folder = Path(mujoco.__file__).parent
    files = [*folder.glob("libmujoco*.so*"), *folder.glob("libmujoco*.dylib"), *folder.glob("mujoco.dll")]
    if not files:
        raise NotNative(f"MuJoCo's library is not in {folder}")
    return ctypes.CDLL(str(files[0]))
