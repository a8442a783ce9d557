"""Kernels for GPUs: their text, what it computes (run by the processor), and how XLA starts them."""

import ctypes
from itertools import count

import jax
import numpy as np
import pytest

from softground import media
from softground.bench.motions import swaying
from softground.native import cuda_operations, gpu, nvrtc, operations
from softground.native.cuda import kernel_text
from softground.native.errors import NotNative
from softground.native.ffi import HANDLER
from softground.native.machine import address, passing_code
from softground.native.program import OPERATIONS, Buffer, Interface, LocalArray, Program
from softground.native.scalarise import scalarise
from softground.simulation import Simulator

from . import reference
from .building import function, number, program
from .on_host import needs_compiler, run
from .test_operations import BOOLS, FLOATS, INTS, oracle


def test_every_operation_of_a_processor_has_a_form():
    assert cuda_operations.OPERATIONS.keys() == operations.OPERATIONS.keys()


@needs_compiler
@pytest.mark.parametrize("precision", [64, 32])
@pytest.mark.parametrize("arity", [1, 2])
def test_operations_are_those_of_jax(precision, arity):
    kinds = {"float": FLOATS[precision], "int": INTS, "bool": BOOLS}
    names = {
        kind: [name for name, of in cuda_operations.OPERATIONS if of == kind and OPERATIONS[name] == arity]
        for kind in kinds
    }
    tables = {
        kind: np.stack([axis.ravel() for axis in np.meshgrid(*[values] * arity)]) for kind, values in kinds.items()
    }
    rows = max(table.shape[1] for table in tables.values())
    arrays = [np.resize(column, rows) for table in tables.values() for column in table]

    def make(b, *x):
        given = {kind: x[k * arity : (k + 1) * arity] for k, kind in enumerate(kinds)}
        return [b.op(name, *given[kind]) for kind in kinds for name in names[kind]]

    made = program(precision, [Buffer(kind, 1) for kind in kinds for _ in range(arity)], make)
    results = iter(run(made, *arrays))
    for kind, table in tables.items():
        for name in names[kind]:
            expected, result = oracle(name, kind, list(table)), next(results)[: table.shape[1], 0]
            if result.dtype.kind == "f":
                tolerance = dict(rtol=2 * np.finfo(result.dtype).eps, atol=np.finfo(result.dtype).tiny)
                np.testing.assert_allclose(result, expected, err_msg=name, **tolerance)
            else:
                np.testing.assert_array_equal(result, expected, err_msg=name)


def everything(precision=64) -> Program:
    """Loops, arms, calls, tables, memory and a wide int."""
    table = LocalArray("float", 3, (0.5, float("inf"), -2.0))
    memory = LocalArray("int", 4, (1, 2, 3, -(2**31)))
    mixed = function(
        "mixed", ["float", "int"], lambda b, x, k: [b.op("add", x, b.load(table, k)), b.op("lt", x, number(0.0))]
    )

    def make(b, x, y, flag, k):
        b.store(memory, k, number(7))
        swapped = b.loop(
            [x, y, number(0)],
            lambda b, p, q, n: [b.op("lt", n, b.op("and", k, number(3)))],
            lambda b, p, q, n: [q, b.op("mul", p, number(1.25)), b.op("add", n, number(1))],
        )
        arms = b.when(
            flag,
            lambda b: [*b.call(mixed, x, k), b.load(memory, k)],
            lambda b: [b.op("exp", y), flag, b.load(memory, number(9))],
        )
        return [*swapped, *arms]

    made = program(precision, [Buffer("float", 2), Buffer("bool", 1), Buffer("int", 1, 64)], make, [mixed])
    return Program(precision, made.main, made.functions, made.inputs, (*made.outputs[:-1], Buffer("int", 1, 64)))


@needs_compiler
@pytest.mark.parametrize("precision", [64, 32])
def test_all_statements(precision):
    made, generator = everything(precision), np.random.default_rng(0)
    rows = [generator.normal(size=(16, 2)), np.arange(16)[:, None] % 2 == 0, np.arange(-3, 13)[:, None]]
    found = run(made, *rows)
    for row, arrays in enumerate(zip(*rows, strict=True)):
        for result, expected in zip(found, reference.run(made, *arrays), strict=True):
            np.testing.assert_allclose(result[row], expected, rtol=4 * 2.0 ** (-52 if precision == 64 else -23))


def test_large_tables_are_not_constant_memory():
    def make(b, k):
        return [b.load(LocalArray("float", size, (0.0,) * size), k) for size in (1000, 10_000, 100)]

    text = kernel_text(program(64, [Buffer("int", 1)], make))
    assert text.count("static __constant__") == 2
    assert text.count("static __device__ const") == 1


def test_an_operation_without_code_is_named():
    with pytest.raises(NotNative, match="pow of ints"):
        kernel_text(program(64, [Buffer("int", 2)], lambda b, x, y: [b.op("pow", x, y)]))


@needs_compiler
def test_a_step_is_the_simulator_s():
    """In the air, at touch-down and in the ground."""
    motion = swaying("foot")
    simulator = Simulator(motion.robot, media.sand(eps=1e-3), 0.002)
    step = jax.jit(lambda state: simulator.step(state, motion.policy(state)))
    states = [simulator.initial_state(height=height) for height in (0.05, 0.0, -0.03)]
    batch = [np.stack(leaves) for leaves in zip(*map(jax.tree.leaves, states), strict=True)]
    found = run(scalarise(step, states[0]), *batch)
    for row, state in enumerate(states):
        for result, expected in zip(found, jax.tree.leaves(step(state)), strict=True):
            np.testing.assert_allclose(result[row], np.ravel(expected), rtol=1e-9, atol=1e-9)


# -- the handler, with a driver and a frame of our own ------------------------------------------------------

_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
_FROM_API = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_NUMBERS = count()
_INTERFACE = Interface(64, (Buffer("float", 3),), (Buffer("float", 2),))


def words(*numbers) -> ctypes.Array:
    return (ctypes.c_uint64 * len(numbers))(*numbers)


def start(shape=(130, 2), status=0, refusal=0, team=1, memory=0):
    """What the handler returns, and with what it started a kernel."""
    started, errors = [], []

    @_LAUNCH
    def launch(kernel, *rest):
        arguments = ctypes.cast(rest[-2], ctypes.POINTER(ctypes.c_void_p))[:3]
        numbers = [ctypes.c_uint64.from_address(argument).value for argument in arguments]
        started.append((kernel, rest[:8], numbers))
        return status

    @_FROM_API
    def stream_of(asked):
        ctypes.c_uint64.from_address(asked + 24).value = 0x57
        return refusal

    @_FROM_API
    def error_of(told):
        errors.append(ctypes.string_at(ctypes.c_uint64.from_address(told + 16).value))
        return 0xE

    def place(thing) -> int:
        return ctypes.cast(thing, ctypes.c_void_p).value or 0

    dimensions = words(*shape)
    buffers = [words(48, 0, 0, 0x1000, 1, place(dimensions)), words(48, 0, 0, 0x2000, 2, place(dimensions))]
    tables = [words(place(buffer)) for buffer in buffers]
    api = words(*[0] * 6, place(error_of), 0, 0, 0, place(stream_of))
    frame = words(136, 0, place(api), 0xC, 3, *[0] * 4, place(tables[0]), *[0] * 4, place(tables[1]))
    text = gpu.handler_text(_INTERFACE, (0, 3), place(launch), gpu.Kernel(0xF, team, memory), processors=132)
    name = f"test_cuda {next(_NUMBERS)}"
    handler = _FROM_API(address(name, passing_code(text), HANDLER))
    return handler(place(frame)), started, errors


def test_threads_meet_only_where_all_come_by():
    """At every turn of a loop that counts, not at those of a loop whose end depends on a row, nor of one inside."""

    def counted(x, count):
        def turn(carry, k):
            inner = jax.lax.while_loop(lambda y: y < carry, lambda y: y + 1.0, 0.0)
            return carry * 0.5 + inner, None

        x = jax.lax.scan(turn, x, None, length=3000)[0]
        return jax.lax.fori_loop(0, count, lambda k, y: y + x, x)

    text = kernel_text(scalarise(counted, 1.0, np.int32(3)))
    before, after = text.split("__syncthreads();")
    assert before.count("while (true)") == 1
    assert after.count("while (true)") == 2


@pytest.mark.parametrize(
    ("rows", "team", "threads"),
    [(130, 1, 32), (4096, 1, 32), (8192, 1, 64), (32768, 1, 256), (10**6, 1, 256), (4096, 4, 128)],
)
@pytest.mark.parametrize("memory", [0, 404])
def test_a_kernel_is_started_on_the_stream_of_xla(rows, team, threads, memory):
    """A block for every processor, as long as a processor has room for its threads."""
    returned, started, errors = start(shape=(rows, 2), team=team, memory=memory)
    assert returned is None
    assert not errors
    sizes = (-(-rows * team // threads), 1, 1, threads, 1, 1, threads // team * memory)
    assert started == [(0xF, (*sizes, 0x57), [0x1000, 0x2000, rows])]


class Driver:
    """What the driver would do with machine code, for two devices."""

    def __init__(self, refusal=0, gives=True):
        self.known, self.granted = "softground_kernel_8_404", {}
        self.refusal, self.gives = refusal, gives

    def cuDeviceGetCount(self, count):
        count._obj.value = 2
        return 0

    def cuDeviceGetAttribute(self, answer, attribute, device):
        answer._obj.value = 101_376 + device
        return 0 if attribute == 97 else 1

    def cuLibraryLoadData(self, library, code, *options):
        return 0 if self.known.encode() in code else 200

    def cuLibraryGetKernel(self, kernel, library, name):
        kernel._obj.value = 0xF
        return 0 if name == self.known.encode() else 500

    def cuKernelSetAttribute(self, attribute, value, kernel, device):
        self.granted[attribute, kernel.value, device] = value if self.gives else 0
        return self.refusal

    def cuKernelGetAttribute(self, answer, attribute, kernel, device):
        answer._obj.value = self.granted[attribute, kernel.value, device]
        return 0


def test_a_kernel_gets_the_memory_that_its_name_tells(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(gpu, "_driver", lambda: driver)
    assert gpu._shared_bytes.__wrapped__() == 101_376
    assert gpu._load(driver, b"..softground_kernel_8_404\0..") == (0xF, 8, 404)
    assert driver.granted == {(8, 0xF, device): 404 * 32 for device in (0, 1)}
    with pytest.raises(NotNative, match="200"):
        gpu._load(driver, b"..softground_kernel_1_0..")
    with pytest.raises(NotNative, match="no kernel"):
        gpu._load(driver, b"")


@pytest.mark.parametrize("driver", [Driver(refusal=1), Driver(gives=False)], ids=["refused", "not given"])
def test_memory_that_is_refused_leaves_it_to_xla(monkeypatch, driver):
    monkeypatch.setattr(gpu, "_driver", lambda: driver)
    with pytest.raises(NotNative, match="12928 bytes of shared memory"):
        gpu._load(driver, b"..softground_kernel_8_404\0..")


def test_no_rows_start_nothing():
    assert start(shape=(0, 2)) == (None, [], [])


def test_errors_reach_xla():
    returned, _, errors = start(status=700)
    assert returned == 0xE
    assert b"cuLaunchKernel" in errors[0]
    assert start(refusal=0xBAD) == (0xBAD, [], [])


def test_without_nvrtc(monkeypatch):
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["/nowhere/libnvrtc.so"]))
    nvrtc._library.cache_clear()
    with pytest.raises(NotNative, match="NVRTC"):
        nvrtc.gpu_code("9.0", "key", str)
    nvrtc._library.cache_clear()
