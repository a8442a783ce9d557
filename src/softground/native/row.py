"""Calls of C functions with arguments that never change, one after the other, as one function of machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import count

from softground.native.machine import address, passing_code

SYMBOL = "softground_row"
_NUMBERS = count()


def in_a_row(calls: Sequence[tuple[int, Sequence[int]]]) -> Callable[[], None]:
    """The calls (address of a function, its arguments) as one. Arguments are pointers or ints; results are dropped.

    Raises `NotNative` where there is no LLVM. Python's lock is held meanwhile, as functions so short want it.
    """
    lines = [f"define void @{SYMBOL}() {{"]
    for function, arguments in calls:
        given = ", ".join(f"i64 {argument}" for argument in arguments)
        lines.append(f"  call void inttoptr (i64 {function} to ptr)({given})")
    code = passing_code("\n".join([*lines, "  ret void", "}", ""]))
    return ctypes.PYFUNCTYPE(None)(address(f"softground_row_{next(_NUMBERS)}", code, SYMBOL))
