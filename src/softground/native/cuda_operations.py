"""Operations of scalar programs in CUDA C++: one table, with JAX's meaning of each.

Products and sums are fused by the compiler, as on the processor; nothing else is loosened. Functions are CUDA's own,
within two units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from softground.native.errors import NotNative
from softground.native.program import Kind

#: What the table below uses. Numbers are not in the way of infinities and NaNs.
_COMMON = """
static __device__ inline int inside(int i, int size) { return i < 0 ? 0 : i < size ? i : size - 1; }
static __device__ inline int quotient(int a, int b) {
  return b == 0 ? -1 : b == -1 ? (int)(0u - (unsigned)a) : a / b;
}
static __device__ inline int rest(int a, int b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
static __device__ inline real sign(real a) { return a > 0 ? (real)1 : a < 0 ? (real)-1 : a; }
static __device__ inline int truncated(real a) {
  return a != a ? 0 : a >= (real)2147483648.0 ? 2147483647 : a <= (real)-2147483648.0 ? -2147483647 - 1 : (int)a;
}
"""
#: Numbers that are read in one go.
FOUR = "struct __align__(16) Four { real a, b, c, d; };"
#: A NaN wins, which the processor can do by itself in single precision.
_GREATER = """
static __device__ inline real {name}(real a, real b) {{
#if __CUDA_ARCH__ >= 800 && {bits} == 32
  real c;
  asm("{instruction}.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
#else
  return a != a || a {comparison} b ? a : b;
#endif
}}
"""


#: Functions of many instructions, by how many arguments they take: each stands in the code once and is called, since
#: code is read from memory as it runs and a step asks for dozens of sines.
_LONG = {
    **dict.fromkeys(("log1p", "expm1", "sin", "cos", "tan", "tanh", "asin", "acos", "atan"), 1),
    **dict.fromkeys(("pow", "atan2", "fmod"), 2),
}


def _preamble(bits: int) -> str:
    least = _GREATER.format(name="least", bits=bits, instruction="min", comparison="<")
    greatest = _GREATER.format(name="greatest", bits=bits, instruction="max", comparison=">")
    letter = "f" if bits == 32 else ""
    called = "".join(
        f"static __device__ __noinline__ real called_{name}({', '.join(f'real a{k}' for k in range(arity))}) "
        f"{{ return {name}{letter}({', '.join(f'a{k}' for k in range(arity))}); }}\n"
        for name, arity in _LONG.items()
    )
    return _COMMON + least + greatest + called


PREAMBLE = {bits: _preamble(bits) for bits in (32, 64)}


def expression(operation: str, kind: Kind, arguments: Sequence[str], precision: int) -> str:
    """An operation of arguments of a kind. {f}: the letter at the end of a function's name in single precision."""
    text = OPERATIONS.get((operation, kind))
    if text is None:
        raise NotNative(f"{operation} of {kind}s has no native code")
    return text.format(*arguments, f="f" if precision == 32 else "")


def literal(kind: Kind, number: float | int | bool, precision: int) -> str:
    """A number, exact."""
    if kind == "bool":
        return "true" if number else "false"
    if kind == "int":
        wrapped = (int(number) + 2**31) % 2**32 - 2**31
        return f"({wrapped + 1} - 1)" if wrapped == -(2**31) else f"({wrapped})"
    return _float_literal(float(number), precision)


def _float_literal(number: float, precision: int) -> str:
    if precision == 32:
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    if not math.isfinite(number):
        bits = np.array(number, f"f{precision // 8}").view(f"u{precision // 8}").item()
        return f"__int_as_float(0x{bits:x})" if precision == 32 else f"__longlong_as_double(0x{bits:x}ll)"
    return f"({number.hex()}{'f' if precision == 32 else ''})"


_WRAPPING = {"add": "+", "sub": "-", "mul": "*"}
_COMPARING = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_BITWISE = {"and": "&", "or": "|", "xor": "^"}
_KINDS: tuple[Kind, ...] = ("float", "int", "bool")

OPERATIONS: dict[tuple[str, Kind], str] = {
    **{(name, "float"): f"{{0}} {sign} {{1}}" for name, sign in {**_WRAPPING, "div": "/"}.items()},
    **{(name, "int"): f"(int)((unsigned){{0}} {sign} (unsigned){{1}})" for name, sign in _WRAPPING.items()},
    **{(name, kind): f"{{0}} {sign} {{1}}" for name, sign in _COMPARING.items() for kind in _KINDS},
    **{(name, kind): f"{{0}} {sign} {{1}}" for name, sign in _BITWISE.items() for kind in ("int", "bool")},
    **{("select", kind): "{0} ? {1} : {2}" for kind in _KINDS},
    **{(name, "float"): f"{name}{{f}}({{0}})" for name in ("sqrt", "rsqrt", "exp", "log", "floor", "ceil")},
    **{(name, "float"): f"called_{name}({{0}})" for name, arity in _LONG.items() if arity == 1},
    **{(name, "float"): f"called_{name}({{0}}, {{1}})" for name in ("pow", "atan2")},
    ("rem", "float"): "called_fmod({0}, {1})",
    ("min", "float"): "least({0}, {1})",
    ("max", "float"): "greatest({0}, {1})",
    ("neg", "float"): "-{0}",
    ("abs", "float"): "fabs{f}({0})",
    ("sign", "float"): "sign({0})",
    ("round", "float"): "rint{f}({0})",
    ("is_finite", "float"): "{0} - {0} == 0",
    ("int_of_float", "float"): "truncated({0})",
    ("div", "int"): "quotient({0}, {1})",
    ("rem", "int"): "rest({0}, {1})",
    ("min", "int"): "{0} < {1} ? {0} : {1}",
    ("max", "int"): "{0} > {1} ? {0} : {1}",
    ("neg", "int"): "(int)(0u - (unsigned){0})",
    ("abs", "int"): "{0} < 0 ? (int)(0u - (unsigned){0}) : {0}",
    ("sign", "int"): "({0} > 0) - ({0} < 0)",
    ("not", "int"): "~{0}",
    ("float_of_int", "int"): "(real){0}",
    ("min", "bool"): "{0} & {1}",
    ("max", "bool"): "{0} | {1}",
    ("not", "bool"): "!{0}",
    ("float_of_bool", "bool"): "(real){0}",
    ("int_of_bool", "bool"): "(int){0}",
}


def team_text(team: int, bits: int) -> str:
    """What the threads of a team, neighbours in a warp, do together.

    Each has the same sum to the last bit: the order of two terms does not matter, and a sum that is not fused with a
    product rounds alike everywhere.
    """
    if team == 1:
        return ""
    plus = "__fadd_rn" if bits == 32 else "__dadd_rn"
    halves = [team >> k for k in range(1, team.bit_length())]
    joined = "".join(
        f"static __device__ inline real joined_{joint}(real a) {{\n"
        + "".join(f"  a = {join}(a, __shfl_xor_sync(members(), a, {half}));\n" for half in halves)
        + "  return a;\n}\n"
        for joint, join in (("add", plus), ("max", "greatest"))
    )
    return f"""static __device__ inline int lane() {{ return threadIdx.x % {team}; }}
static __device__ inline unsigned members() {{ return {(1 << team) - 1}u << (threadIdx.x % 32 - lane()); }}
static __device__ inline real of_lane(real a, int k) {{ return __shfl_sync(members(), a, k, {team}); }}
static __device__ inline int of_lane(int a, int k) {{ return __shfl_sync(members(), a, k, {team}); }}
static __device__ inline bool of_lane(bool a, int k) {{ return of_lane((int)a, k) != 0; }}
{joined}"""


def places_text(bits: int) -> str:
    """Numbers in memory that a processor's threads share. In assembly: else the compiler would remember them."""
    kind, letter = ("f32", "f") if bits == 32 else ("f64", "d")
    address = f"""\"r\"((unsigned)__cvta_generic_to_shared(own)), "n"(at * {bits // 8})"""
    return f"""extern __shared__ real places[];
template <int at> static __device__ inline real taken(const real* own) {{
#ifdef __CUDA_ARCH__
  real a;
  asm volatile("ld.shared.{kind} %0, [%1+%2];" : "={letter}"(a) : {address});
  return a;
#else
  return own[at];
#endif
}}
template <int at> static __device__ inline void put(real* own, real a) {{
#ifdef __CUDA_ARCH__
  asm volatile("st.shared.{kind} [%0+%1], %2;" :: {address}, "{letter}"(a));
#else
  own[at] = a;
#endif
}}
"""
