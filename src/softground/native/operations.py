"""Operations of scalar programs as lines of LLVM: one table, and JAX's meaning of each.

Sums and products may be fused (`contract`), which rounds once instead of twice, and of a negative and a positive zero
either is the greater (`nsz`), which saves half of a maximum's instructions. Nothing else is allowed to differ: numbers
that are not finite pass as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable

from softground.native.errors import NotNative
from softground.native.program import Compute, Kind
from softground.native.writer import Writer

_Write = Callable[..., str]  # (writer, names of the arguments) -> name of the result


def compute(writer: Writer, statement: Compute) -> str:
    """Write a statement and return the name of its result."""
    kind = statement.arguments[-1].kind
    write = OPERATIONS.get((statement.operation, kind))
    if write is None:
        raise NotNative(f"{statement.operation} of {kind}s has no native code")
    return write(writer, *map(writer.operand, statement.arguments))


def _instruction(word: str, type: str | None = None) -> _Write:
    """a word b, of floats of the program's precision or of `type`."""
    return lambda w, a, b: w.let(f"{word} {type or w.float} {a}, {b}")


def _intrinsic(name: str, flags: str = "") -> _Write:
    """A function of floats that LLVM knows."""

    def write(w: Writer, *arguments: str) -> str:
        return w.call(f"llvm.{name}.f{w.precision}", w.float, [(w.float, a) for a in arguments], flags)

    return write


def _library(name: str) -> _Write:
    """A function of C's library of mathematics; its name ends with f in single precision."""

    def write(w: Writer, *arguments: str) -> str:
        return w.call(name if w.precision == 64 else f"{name}f", w.float, [(w.float, a) for a in arguments])

    return write


def _of_ints(name: str) -> _Write:
    return lambda w, a, b: w.call(f"llvm.{name}.i32", "i32", [("i32", a), ("i32", b)])


def _divide_ints(word: str, by_zero: Callable[[str], str], overflow: str) -> _Write:
    """Towards zero; by zero -1 (remainder: what was divided), and the least int by -1 wraps.

    The processor would stop there, so in both cases it is given another divisor.
    """

    def write(w: Writer, a: str, b: str) -> str:
        zero = w.let(f"icmp eq i32 {b}, 0")
        least, minus = w.let(f"icmp eq i32 {a}, -2147483648"), w.let(f"icmp eq i32 {b}, -1")
        wraps = w.let(f"and i1 {least}, {minus}")
        divisor = w.let(f"select i1 {w.let(f'or i1 {zero}, {wraps}')}, i32 1, i32 {b}")
        result = w.let(f"{word} i32 {a}, {divisor}")
        result = w.let(f"select i1 {zero}, i32 {by_zero(a)}, i32 {result}")
        return w.let(f"select i1 {wraps}, i32 {overflow}, i32 {result}")

    return write


def _ours(name: str) -> Callable[[Writer, str, int], str]:
    """A function that the module defines (mathematics.py)."""

    def write(w: Writer, a: str, lanes: int) -> str:
        w.functions.add((name, lanes))
        return w.let(f"call {w.floats(lanes)} @{name}.{lanes}({w.floats(lanes)} {a})")

    return write


def _root(w: Writer, a: str, lanes: int) -> str:
    floats = w.floats(lanes)
    return w.call(f"llvm.sqrt.{'' if lanes == 1 else f'v{lanes}'}f{w.precision}", floats, [(floats, a)])


def _one_over_root(w: Writer, a: str, lanes: int) -> str:
    one = w.constant("float", 1)
    return w.let(f"fdiv {w.floats(lanes)} {one if lanes == 1 else f'splat ({w.float} {one})'}, {_root(w, a, lanes)}")


def _sign(w: Writer, a: str) -> str:
    """±1 with the sign of a; zeros and what is not a number as they are."""
    one = _intrinsic("copysign")(w, w.constant("float", 1), a)
    moves = w.let(f"fcmp one {w.float} {a}, {w.constant('float', 0)}")
    return w.let(f"select i1 {moves}, {w.float} {one}, {w.float} {a}")


def _sign_of_int(w: Writer, a: str) -> str:
    positive = w.let(f"zext i1 {w.let(f'icmp sgt i32 {a}, 0')} to i32")
    return w.let(f"or i32 {positive}, {w.let(f'ashr i32 {a}, 31')}")


def _is_finite(w: Writer, a: str) -> str:
    return w.let(f"fcmp olt {w.float} {_intrinsic('fabs')(w, a)}, {w.constant('float', float('inf'))}")


def _to_int(w: Writer, a: str) -> str:
    """Towards zero, to the nearest int where it is out of range, 0 where it is not a number."""
    return w.call(f"llvm.fptosi.sat.i32.f{w.precision}", "i32", [(w.float, a)])


def _select(kind: Kind) -> _Write:
    return lambda w, flag, a, b: w.let(f"select i1 {flag}, {w.type(kind)} {a}, {w.type(kind)} {b}")


OPERATIONS: dict[tuple[str, Kind], _Write] = {
    **{(name, "float"): _instruction(f"f{name} contract") for name in ("add", "sub", "mul")},
    ("div", "float"): _instruction("fdiv"),
    ("rem", "float"): _library("fmod"),
    ("min", "float"): _intrinsic("minimum", "nsz"),
    ("max", "float"): _intrinsic("maximum", "nsz"),
    ("lt", "float"): _instruction("fcmp olt"),
    ("le", "float"): _instruction("fcmp ole"),
    ("eq", "float"): _instruction("fcmp oeq"),
    ("ne", "float"): _instruction("fcmp une"),
    ("neg", "float"): lambda w, a: w.let(f"fneg {w.float} {a}"),
    ("abs", "float"): _intrinsic("fabs"),
    ("sign", "float"): _sign,
    ("floor", "float"): _intrinsic("floor"),
    ("ceil", "float"): _intrinsic("ceil"),
    ("round", "float"): _intrinsic("roundeven"),
    ("is_finite", "float"): _is_finite,
    ("sqrt", "float"): lambda w, a: _root(w, a, 1),
    ("rsqrt", "float"): lambda w, a: _one_over_root(w, a, 1),
    ("exp", "float"): lambda w, a: _ours("exp")(w, a, 1),
    **{
        (name, "float"): _library(name)
        for name in ("log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "asin", "acos", "atan", "atan2", "pow")
    },
    **{(name, "int"): _instruction(name, "i32") for name in ("add", "sub", "mul", "and", "or", "xor")},
    ("div", "int"): _divide_ints("sdiv", lambda a: "-1", "-2147483648"),
    ("rem", "int"): _divide_ints("srem", lambda a: a, "0"),
    ("min", "int"): _of_ints("smin"),
    ("max", "int"): _of_ints("smax"),
    ("lt", "int"): _instruction("icmp slt", "i32"),
    ("le", "int"): _instruction("icmp sle", "i32"),
    ("eq", "int"): _instruction("icmp eq", "i32"),
    ("ne", "int"): _instruction("icmp ne", "i32"),
    ("neg", "int"): lambda w, a: w.let(f"sub i32 0, {a}"),
    ("abs", "int"): lambda w, a: w.call("llvm.abs.i32", "i32", [("i32", a), ("i1", "false")]),
    ("sign", "int"): _sign_of_int,
    ("not", "int"): lambda w, a: w.let(f"xor i32 {a}, -1"),
    **{(name, "bool"): _instruction(name, "i1") for name in ("and", "or", "xor")},
    ("min", "bool"): _instruction("and", "i1"),
    ("max", "bool"): _instruction("or", "i1"),
    ("lt", "bool"): _instruction("icmp ult", "i1"),
    ("le", "bool"): _instruction("icmp ule", "i1"),
    ("eq", "bool"): _instruction("icmp eq", "i1"),
    ("ne", "bool"): _instruction("icmp ne", "i1"),
    ("not", "bool"): lambda w, a: w.let(f"xor i1 {a}, true"),
    ("float_of_int", "int"): lambda w, a: w.let(f"sitofp i32 {a} to {w.float}"),
    ("float_of_bool", "bool"): lambda w, a: w.let(f"uitofp i1 {a} to {w.float}"),
    ("int_of_float", "float"): _to_int,
    ("int_of_bool", "bool"): lambda w, a: w.let(f"zext i1 {a} to i32"),
    ("select", "float"): _select("float"),
    ("select", "int"): _select("int"),
    ("select", "bool"): _select("bool"),
}

#: Operations of floats that take long, and no longer for several numbers in the lanes of a vector.
SIDE_BY_SIDE: dict[str, Callable[[Writer, str, int], str]] = {
    **{name: _ours(name) for name in ("exp", "sin", "cos")},
    "sqrt": _root,
    "rsqrt": _one_over_root,
}
