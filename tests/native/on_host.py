"""Kernels of a GPU, run by the processor: the very text, behind a few definitions that make it C++."""

import ctypes
import hashlib
import shutil
import subprocess

import numpy as np
import pytest

from softground.native.cuda import KERNEL, kernel_text
from softground.native.frugal import frugal
from softground.native.interpreter import dtype_of
from softground.native.program import Program

COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no compiler of C++")

_SHIM = """
#include <math.h>
#include <string.h>
#define __device__
#define __constant__
#define __global__
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(threads)
static struct { long long x; } blockIdx, blockDim = {1}, threadIdx;
#define __syncthreads()
static inline double rsqrt(double a) { return 1 / sqrt(a); }
static inline float rsqrtf(float a) { return 1 / sqrtf(a); }
static inline float __int_as_float(unsigned a) { float b; memcpy(&b, &a, 4); return b; }
static inline double __longlong_as_double(unsigned long long a) { double b; memcpy(&b, &a, 8); return b; }
"""


def run(program: Program, *arrays) -> list[np.ndarray]:
    """Outputs of a program for a batch: arrays of (rows, size) per input, and the same per output."""
    rows = len(arrays[0])
    inputs = [
        np.ascontiguousarray(np.reshape(array, (rows, -1)), dtype_of(buffer, program.precision))
        for array, buffer in zip(arrays, program.inputs, strict=True)
    ]
    in_place = (array.copy() for array, buffer in zip(inputs, program.inputs, strict=True) if buffer.in_place)
    outputs = [
        next(in_place) if buffer.in_place else np.zeros((rows, buffer.size), dtype_of(buffer, program.precision))
        for buffer in program.outputs
    ]
    pointers = (ctypes.c_void_p * (len(inputs) + len(outputs)))(*(array.ctypes.data for array in (*inputs, *outputs)))
    _library(program).run(pointers, ctypes.c_longlong(rows))
    return outputs


def _library(program: Program) -> ctypes.CDLL:
    from softground.cache import cache_folder

    buffers = len(program.inputs) + len(program.outputs)
    arguments = ", ".join(f"cast(p[{k}])" for k in range(buffers))
    text = f"""{_SHIM}
struct cast {{ void* p; cast(void* q) : p(q) {{}} template <class T> operator T*() const {{ return (T*)p; }} }};
{kernel_text(frugal(program))}
extern "C" void run(void** p, long long rows) {{
  for (blockIdx.x = 0; blockIdx.x < rows; blockIdx.x++) {KERNEL}({arguments}, rows);
}}
"""
    folder = cache_folder() / "host"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cpp"
    source.write_text(text)
    options = ["-O0", "-w", "-shared", "-fPIC", "-std=c++17", "-fwrapv"]
    assert COMPILER is not None
    subprocess.run([COMPILER, *options, str(source), "-o", str(source.with_suffix(".so"))], check=True)
    return ctypes.CDLL(str(source.with_suffix(".so")))
