"""A native program on a GPU as a function that XLA calls: a handler that starts the threads of all rows of a batch.

The handler runs on the host and is written in LLVM, as that of a processor (ffi.py). It asks XLA for the stream that it
computes on and starts the kernel there, so it can be recorded into a CUDA graph. The kernel's handle and the address of
the driver's function that starts it are numbers of this process, so only the kernel is kept on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax

from softground.native.cuda import BLOCK, kernel_named_in, kernel_text
from softground.native.errors import NotNative
from softground.native.ffi import HANDLER, begin_handler, interface_version, pointers_and_rows
from softground.native.frugal import frugal
from softground.native.machine import address, passing_code
from softground.native.nvrtc import gpu_code
from softground.native.program import Interface, Program
from softground.native.writer import Writer

# Bytes from the start of structures of XLA's interface (see ffi.py).
_FRAME_API, _FRAME_CONTEXT = 16, 24
_API_ERROR, _API_STREAM = 48, 80
_INTERNAL = 13  # XLA's code for an error of no other kind
_RECORDABLE = 1  # a trait: the handler does nothing but start the same kernel, which XLA may record and replay
# Numbers of attributes of a kernel and of a device, as the driver knows them.
_DYNAMIC_SHARED, _MOST_SHARED = 8, 97
_FAILURE = "softground could not start its kernel: the CUDA driver refused (cuLaunchKernel)"


class Kernel(NamedTuple):
    """What the handler starts."""

    handle: int
    team: int  # threads for a row
    memory: int  # bytes for a row of memory that a processor's threads share


def register(key: str, make: Callable[[], Program], interface: Interface) -> str:
    """Make a program known to XLA on GPUs, found on disk by its key or made and compiled: its name there."""
    digest, code = gpu_code(_capability(), key, lambda: kernel_text(frugal(make()), memory=_shared_bytes()))
    name = f"softground_{digest}"
    if name not in _REGISTERED:
        driver = _driver()
        launch = ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p).value
        assert launch is not None
        text = handler_text(interface, interface_version(), launch, _load(driver, code), _processors())
        handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address(name, passing_code(text), HANDLER))
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="CUDA")
        _REGISTERED.add(name)
    return name


_REGISTERED: set[str] = set()


@cache
def _capability() -> str:
    """Compute capability of the GPUs, as "9.0"."""
    found = {str(device.compute_capability) for device in jax.devices("gpu")}
    capability = found.pop()
    if found or not capability.replace(".", "").isdigit():
        raise NotNative(f"native code wants NVIDIA's GPUs, all of one kind, not {', '.join([capability, *found])}")
    return capability


@cache
def _processors() -> int:
    """Processors of a GPU, the least of all GPUs."""
    return min(int(device.core_count) for device in jax.devices("gpu"))


@cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NotNative(f"native code for GPUs needs NVIDIA's driver ({error})") from error


@cache
def _shared_bytes() -> int:
    """Memory that the threads of a block may share, the least of all GPUs."""
    return min(_asked(_driver().cuDeviceGetAttribute, _MOST_SHARED, device) for device in _devices())


def _devices() -> range:
    return range(_asked(_driver().cuDeviceGetCount))


def _asked(ask: Callable[..., int], *arguments: Any) -> int:
    """An int that the driver tells."""
    answer = ctypes.c_int()
    if ask(ctypes.byref(answer), *arguments):
        raise NotNative("the CUDA driver does not say what its devices are like")
    return answer.value


def _load(driver: ctypes.CDLL, code: bytes) -> Kernel:
    """A kernel, good for every device, for as long as this process lives."""
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    name, team, memory = kernel_named_in(code)
    status = driver.cuLibraryLoadData(ctypes.byref(library), code, None, None, 0, None, None, 0)
    status = status or driver.cuLibraryGetKernel(ctypes.byref(kernel), library, name.encode())
    if status or kernel.value is None:
        raise NotNative(f"the CUDA driver cannot load a kernel (error {status}): native code needs CUDA 12 or later")
    shared = memory * (BLOCK // team)
    for device in _devices() if shared else ():
        status = driver.cuKernelSetAttribute(_DYNAMIC_SHARED, shared, kernel, device)
        if status or _asked(driver.cuKernelGetAttribute, _DYNAMIC_SHARED, kernel, device) != shared:
            raise NotNative(f"the CUDA driver does not give a kernel {shared} bytes of shared memory (error {status})")
    return Kernel(kernel.value, team, memory)


def handler_text(interface: Interface, version: tuple[int, int], launch: int, kernel: Kernel, processors: int) -> str:
    """The handler. launch: address of a function like cuLaunchKernel.

    processors: of the GPU, among which rows are shared: the threads of each are one block, as long as they fit.
    """
    writer = Writer(interface.precision)
    begin_handler(writer, version, traits=_RECORDABLE)
    data, rows = pointers_and_rows(writer, interface)
    buffers = len(interface.inputs) + len(interface.outputs)
    message = _FAILURE.encode() + b"\0"
    letters = "".join(f"\\{byte:02X}" for byte in message)
    arguments = "".join(
        f"""  %slot{k} = getelementptr ptr, ptr {data}, i64 {k}
  %argument{k} = getelementptr ptr, ptr %arguments, i64 {k}
  store ptr %slot{k}, ptr %argument{k}
"""
        for k in range(buffers)
    )
    return f"""@message = private constant [{len(message)} x i8] c"{letters}"
{chr(10).join(writer.lines)}
  %none = icmp eq i64 {rows}, 0
  br i1 %none, label %done, label %ask
ask:
  %rows.at = alloca i64
  store i64 {rows}, ptr %rows.at
  %arguments = alloca [{buffers + 1} x ptr]
{arguments}  %argument{buffers} = getelementptr ptr, ptr %arguments, i64 {buffers}
  store ptr %rows.at, ptr %argument{buffers}
  %api.at = getelementptr i8, ptr %frame, i64 {_FRAME_API}
  %api = load ptr, ptr %api.at
  %context.at = getelementptr i8, ptr %frame, i64 {_FRAME_CONTEXT}
  %context = load ptr, ptr %context.at
  %asked = alloca {{i64, ptr, ptr, ptr}}
  %question = insertvalue {{i64, ptr, ptr, ptr}} {{i64 32, ptr null, ptr null, ptr null}}, ptr %context, 2
  store {{i64, ptr, ptr, ptr}} %question, ptr %asked
  %ask.at = getelementptr i8, ptr %api, i64 {_API_STREAM}
  %ask.function = load ptr, ptr %ask.at
  %refusal = call ptr %ask.function(ptr %asked)
  %answered = icmp eq ptr %refusal, null
  br i1 %answered, label %start, label %refused
refused:
  ret ptr %refusal
start:
  %stream.at = getelementptr i8, ptr %asked, i64 24
  %stream = load ptr, ptr %stream.at
  %all = mul i64 {rows}, {kernel.team}
  %share = udiv i64 %all, {32 * processors}
  %warps = add i64 %share, 1
  %many = icmp ugt i64 %warps, {BLOCK // 32}
  %together = select i1 %many, i64 {BLOCK // 32}, i64 %warps
  %threads = mul i64 %together, 32
  %size = trunc i64 %threads to i32
  %above = add i64 %all, %threads
  %up = sub i64 %above, 1
  %blocks = udiv i64 %up, %threads
  %grid = trunc i64 %blocks to i32
  %launch = inttoptr i64 {launch} to ptr
  %rows.together = udiv i32 %size, {kernel.team}
  %shared = mul i32 %rows.together, {kernel.memory}
  %kernel = inttoptr i64 {kernel.handle} to ptr
  %status = call i32 %launch(ptr %kernel, i32 %grid, i32 1, i32 1, i32 %size, i32 1, i32 1, i32 %shared, ptr %stream, \
ptr %arguments, ptr null)
  %started = icmp eq i32 %status, 0
  br i1 %started, label %done, label %failed
failed:
  %told = alloca {{i64, ptr, ptr, i32}}
  store {{i64, ptr, ptr, i32}} {{i64 32, ptr null, ptr @message, i32 {_INTERNAL}}}, ptr %told
  %tell.at = getelementptr i8, ptr %api, i64 {_API_ERROR}
  %tell = load ptr, ptr %tell.at
  %error = call ptr %tell(ptr %told)
  ret ptr %error
done:
  ret ptr null
}}
"""
