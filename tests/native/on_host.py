"""Kernels of a GPU, run by the processor: the very text, behind a few definitions that make it C++."""

import ctypes
import hashlib
import shutil
import subprocess

import numpy as np
import pytest

from softground.native.cuda import kernel_named_in, kernel_text, team_of
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
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __shared__
static struct { long long x; } blockIdx, blockDim = {TEAM};
static thread_local struct { long long x; } threadIdx;
#define __syncthreads()
#define __syncwarp(members) pthread_barrier_wait(&meeting)
static inline double rsqrt(double a) { return 1 / sqrt(a); }
static inline float rsqrtf(float a) { return 1 / sqrtf(a); }
static inline float __int_as_float(unsigned a) { float b; memcpy(&b, &a, 4); return b; }
static inline double __longlong_as_double(unsigned long long a) { double b; memcpy(&b, &a, 8); return b; }
"""
#: The threads of a team are threads of the processor, which wait for each other where they exchange numbers.
_EXCHANGE = """
#include <pthread.h>
static pthread_barrier_t meeting;
static double shown[TEAM];
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
template <class T> static T __shfl_sync(unsigned members, T a, int from, int team) {
  shown[threadIdx.x] = a;
  pthread_barrier_wait(&meeting);
  const T found = (T)shown[from];
  pthread_barrier_wait(&meeting);
  return found;
}
template <class T> static T __shfl_xor_sync(unsigned members, T a, int bit) {
  return __shfl_sync(members, a, (int)threadIdx.x ^ bit, TEAM);
}
"""


def run(program: Program, *arrays, team: int | None = None, memory: int = 0) -> list[np.ndarray]:
    """Outputs of a program for a batch: arrays of (rows, size) per input, and the same per output.

    team: threads for a row, by default as many as the program has. memory: bytes that a block of them shares.
    """
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
    _library(program, team_of(program) if team is None else team, memory).run(pointers, ctypes.c_longlong(rows))
    return outputs


def _library(program: Program, team: int, memory: int) -> ctypes.CDLL:
    from softground.cache import cache_folder

    buffers = len(program.inputs) + len(program.outputs)
    arguments = ", ".join(f"cast(p[{k}])" for k in range(buffers))
    kernel = kernel_text(frugal(program), team, memory)
    text = f"""#define TEAM {team}
{_SHIM}{_EXCHANGE}
struct cast {{ void* p; cast(void* q) : p(q) {{}} template <class T> operator T*() const {{ return (T*)p; }} }};
{kernel}
real places[1 << 16];
struct Job {{ void** p; long long rows; int lane; }};
static void* work(void* job) {{
  void** p = ((Job*)job)->p;
  threadIdx.x = ((Job*)job)->lane;
  {kernel_named_in(kernel.encode())[0]}({arguments}, ((Job*)job)->rows);
  return 0;
}}
extern "C" void run(void** p, long long rows) {{
  pthread_barrier_init(&meeting, 0, TEAM);
  for (blockIdx.x = 0; blockIdx.x < rows; blockIdx.x++) {{
    pthread_t threads[TEAM];
    Job jobs[TEAM];
    for (int k = 0; k < TEAM; k++) jobs[k] = {{p, rows, k}};
    for (int k = 1; k < TEAM; k++) pthread_create(&threads[k], 0, work, &jobs[k]);
    work(&jobs[0]);
    for (int k = 1; k < TEAM; k++) pthread_join(threads[k], 0);
  }}
}}
"""
    folder = cache_folder() / "host"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cpp"
    source.write_text(text)
    options = ["-O0", "-w", "-shared", "-fPIC", "-std=c++17", "-fwrapv", "-pthread"]
    assert COMPILER is not None
    subprocess.run([COMPILER, *options, str(source), "-o", str(source.with_suffix(".so"))], check=True)
    return ctypes.CDLL(str(source.with_suffix(".so")))
