"""From text of CUDA C++ to machine code of a GPU, kept on disk. NVIDIA's compiler is a library that comes with JAX."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from softground.native.errors import NotNative
from softground.native.kept import digest_of, kept

#: A thread may take all registers that there are: what does not fit goes through memory. In single precision quotients
#: and roots may be off by a unit or two in the last place, for a sixth less time; subnormals are zero, as in XLA.
OPTIONS = (
    *("--maxrregcount=255", "--std=c++17", "--ptxas-options=-O2"),
    *("--ftz=true", "--prec-div=false", "--prec-sqrt=false"),
)


def gpu_code(capability: str, key: str, write: Callable[[], str]) -> tuple[str, bytes]:
    """A digest of the program, and its machine code for GPUs of a compute capability ("9.0"): from disk, or compiled.

    key: what the program is known by; `write` makes its text, and is asked only if it must be compiled.
    """
    library = _library()
    options = (f"--gpu-architecture=sm_{capability.replace('.', '')}", *OPTIONS)
    digest = digest_of(library.version, *options, key)
    return digest, kept(f"{digest}.cubin", lambda: library.compile(write(), options))


class _Library:
    """NVRTC, found and loaded."""

    def __init__(self, path: str):
        self._library = ctypes.CDLL(path)
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.version = f"nvrtc {major.value}.{minor.value}"

    def compile(self, text: str, options: tuple[str, ...]) -> bytes:
        program = ctypes.c_void_p()
        source = text.encode()
        self._check(self._library.nvrtcCreateProgram(ctypes.byref(program), source, b"softground.cu", 0, None, None))
        try:
            words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            status = self._library.nvrtcCompileProgram(program, len(options), words)
            if status:
                log = self._read(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
                raise NotNative(f"NVRTC refuses the program: {log.decode(errors='replace')[:500]}")
            return self._read(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program: ctypes.c_void_p, ask_size: str, ask: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, ask_size)(program, ctypes.byref(size)))
        memory = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, ask)(program, memory))
        return memory.raw

    def _check(self, status: int) -> None:
        if status:
            raise NotNative(f"NVRTC failed: {self._library.nvrtcGetErrorString(status).decode()}")


@cache
def _library() -> _Library:
    for path in _candidates():
        try:
            return _Library(path)
        except OSError:
            continue
    raise NotNative("native code for GPUs needs NVRTC, which JAX's CUDA wheels bring: pip install 'jax[cuda13]'")


def _candidates() -> Iterator[str]:
    """Files that may be it: those of NVIDIA's wheels, then what the system knows."""
    wheels = importlib.util.find_spec("nvidia")
    for folder in (wheels.submodule_search_locations or ()) if wheels else ():
        found = Path(folder).glob("*/lib/libnvrtc.so.*")
        yield from map(str, sorted((file for file in found if "builtins" not in file.name), reverse=True))
    if known := ctypes.util.find_library("nvrtc"):
        yield known
    yield from map(str, sorted(Path("/usr/local").glob("cuda*/lib64/libnvrtc.so*"), reverse=True))
