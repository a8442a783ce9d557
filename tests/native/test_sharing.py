"""A batch among several threads: XLA's interface is played by Python, which helps now, later, or not at all."""

import ctypes
from threading import Thread

import numpy as np
import pytest

from softground.native.ffi import HANDLER, whole_text
from softground.native.machine import address, machine_code
from softground.native.program import Buffer

from .building import number, program

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
ROWS = 800_003  # of a program so small that only many of them are worth a thread


@pytest.fixture(scope="module", params=[1, 4])
def handler(request):
    made = program(64, [Buffer("float", 1)], lambda b, x: [b.op("mul", x, number(2.0)), b.op("lt", x, number(9.0))])
    digest, code = machine_code(whole_text(made, request.param))
    return FUNCTION(address(f"sharing {digest}", code, HANDLER))


class Interface:
    """XLA's tables of functions, of which three are used; `schedule` decides what becomes of a task."""

    def __init__(self, threads: int | None, schedule):
        self.destroyed, self.tasks = [], []

        def count(arguments):
            if threads is None:
                return 77  # an error
            _words(_words(arguments, 4)[3], 1)[0] = threads

        def ask(arguments):
            _, _, context, task, data = _words(arguments, 5)
            assert context == 4321
            self.tasks.append(lambda: ctypes.CFUNCTYPE(None, ctypes.c_void_p)(task)(data))
            return schedule(self.tasks)

        self.functions = [
            FUNCTION(lambda told: self.destroyed.append(_words(told, 3)[2])),
            FUNCTION(ask),
            FUNCTION(count),
        ]
        self.table = (ctypes.c_int64 * 24)()
        for offset, function in zip((64, 136, 144), self.functions, strict=True):
            self.table[offset // 8] = ctypes.cast(function, ctypes.c_void_p).value


def _words(pointer, count):
    return (ctypes.c_int64 * count).from_address(pointer)


def call(handler, interface: Interface, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Call the handler as XLA does."""
    arrays = [x, np.zeros_like(x), np.zeros(x.shape, bool)]
    rows = (ctypes.c_int64 * 1)(x.size)
    buffers = [(ctypes.c_int64 * 6)(48, 0, 0, array.ctypes.data, 1, ctypes.addressof(rows)) for array in arrays]
    table = (ctypes.c_int64 * 3)(*map(ctypes.addressof, buffers))
    frame = (ctypes.c_int64 * 22)()
    frame[2], frame[3], frame[9] = ctypes.addressof(interface.table), 4321, ctypes.addressof(table)
    frame[14] = ctypes.addressof(table) + 8
    assert handler(ctypes.addressof(frame)) is None
    return arrays[1], arrays[2]


def in_threads(tasks):
    Thread(target=tasks.pop()).start()


def at_once(tasks):
    tasks.pop()()


def later(tasks):
    pass


def refuse(tasks):
    tasks.pop()
    return 88


@pytest.mark.parametrize("rows", [0, 1, 2, 1000, ROWS])
@pytest.mark.parametrize("threads", [None, 1, 2, 5])
@pytest.mark.parametrize("schedule", [in_threads, at_once, later, refuse])
def test_every_row_is_computed(handler, rows, threads, schedule):
    interface = Interface(threads, schedule)
    x = np.arange(rows, dtype=float)
    doubled, small = call(handler, interface, x)
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_array_equal(small, x < 9)
    for task in interface.tasks:  # those that came too late touch nothing
        doubled[:] = 0
        task()
        assert not doubled.any()
    if rows == ROWS:
        asked = (threads or 1) - 1
        assert len(interface.tasks) == (asked if schedule is later else 0)
        assert len(interface.destroyed) == (asked if schedule is refuse else 0) + (threads is None)
