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


def _instruction(word: str, kind: Kind) -> _Write:
    """a word b, of one kind."""
    return lambda w, a, b: w.let(f"{word} {w.type(kind)} {a}, {b}")


def _intrinsic(name: str, flags: str = "") -> _Write:
    """A function of floats that LLVM knows."""

    def write(w: Writer, *arguments: str) -> str:
        return w.call(f"llvm.{name}.{w.suffix(f'f{w.precision}')}", w.float, [(w.float, a) for a in arguments], flags)

    return write


def _library(name: str) -> _Write:
    """A function of C's library of mathematics; its name ends with f in single precision."""

    def write(w: Writer, *arguments: str) -> str:
        scalar = w.scalar("float")

        def one(*numbers: str) -> str:
            return w.call(name if w.precision == 64 else f"{name}f", scalar, [(scalar, a) for a in numbers])

        if w.lanes == 1:
            return one(*arguments)
        vectors: list[tuple[Kind, str]] = [("float", a) for a in arguments]
        return w.per_lane("float", lambda lane, *numbers: one(*numbers), *vectors)

    return write


def _of_ints(name: str) -> _Write:
    return lambda w, a, b: w.call(f"llvm.{name}.{w.suffix('i32')}", w.whole, [(w.whole, a), (w.whole, b)])


def _divide_ints(word: str, by_zero: Callable[[Writer, str], str], overflow: int) -> _Write:
    """Towards zero; by zero -1 (remainder: what was divided), and the least int by -1 wraps.

    The processor would stop there, so in both cases it is given another divisor.
    """

    def write(w: Writer, a: str, b: str) -> str:
        def number(x: int) -> str:
            return w.constant("int", x)

        zero = w.let(f"icmp eq {w.whole} {b}, {number(0)}")
        least, minus = (
            w.let(f"icmp eq {w.whole} {a}, {number(-(2**31))}"),
            w.let(f"icmp eq {w.whole} {b}, {number(-1)}"),
        )
        wraps = w.let(f"and {w.flag} {least}, {minus}")
        unsafe = w.let(f"or {w.flag} {zero}, {wraps}")
        divisor = w.let(f"select {w.flag} {unsafe}, {w.whole} {number(1)}, {w.whole} {b}")
        result = w.let(f"{word} {w.whole} {a}, {divisor}")
        result = w.let(f"select {w.flag} {zero}, {w.whole} {by_zero(w, a)}, {w.whole} {result}")
        return w.let(f"select {w.flag} {wraps}, {w.whole} {number(overflow)}, {w.whole} {result}")

    return write


def _ours(name: str) -> Callable[[Writer, str, int], str]:
    """A function that the module defines (mathematics.py)."""

    def write(w: Writer, a: str, lanes: int) -> str:
        w.functions.add((name, lanes))
        floats = w.many(w.scalar("float"), lanes)
        return w.let(f"call {floats} @{name}.{lanes}({floats} {a})")

    return write


def _sine(name: str) -> _Write:
    """Ours is of vectors."""
    return lambda w, a: _library(name)(w, a) if w.lanes == 1 else _ours(name)(w, a, w.lanes)


def _root(w: Writer, a: str, lanes: int) -> str:
    floats = w.many(w.scalar("float"), lanes)
    return w.call(f"llvm.sqrt.{'' if lanes == 1 else f'v{lanes}'}f{w.precision}", floats, [(floats, a)])


def _one_over_root(w: Writer, a: str, lanes: int) -> str:
    scalar, one = w.scalar("float"), w.scalar_constant("float", 1)
    ones = one if lanes == 1 else f"splat ({scalar} {one})"
    return w.let(f"fdiv {w.many(scalar, lanes)} {ones}, {_root(w, a, lanes)}")


def _sign(w: Writer, a: str) -> str:
    """±1 with the sign of a; zeros and what is not a number as they are."""
    one = _intrinsic("copysign")(w, w.constant("float", 1), a)
    moves = w.let(f"fcmp one {w.float} {a}, {w.constant('float', 0)}")
    return w.let(f"select {w.flag} {moves}, {w.float} {one}, {w.float} {a}")


def _sign_of_int(w: Writer, a: str) -> str:
    above = w.let(f"icmp sgt {w.whole} {a}, {w.constant('int', 0)}")
    positive = w.let(f"zext {w.flag} {above} to {w.whole}")
    negative = w.let(f"ashr {w.whole} {a}, {w.constant('int', 31)}")
    return w.let(f"or {w.whole} {positive}, {negative}")


def _is_finite(w: Writer, a: str) -> str:
    return w.let(f"fcmp olt {w.float} {_intrinsic('fabs')(w, a)}, {w.constant('float', float('inf'))}")


def _to_int(w: Writer, a: str) -> str:
    """Towards zero, to the nearest int where it is out of range, 0 where it is not a number."""
    return w.call(f"llvm.fptosi.sat.{w.suffix('i32')}.{w.suffix(f'f{w.precision}')}", w.whole, [(w.float, a)])


def _select(kind: Kind) -> _Write:
    return lambda w, flag, a, b: w.let(f"select {w.flag} {flag}, {w.type(kind)} {a}, {w.type(kind)} {b}")


OPERATIONS: dict[tuple[str, Kind], _Write] = {
    **{(name, "float"): _instruction(f"f{name} contract", "float") for name in ("add", "sub", "mul")},
    ("div", "float"): _instruction("fdiv", "float"),
    ("rem", "float"): _library("fmod"),
    ("min", "float"): _intrinsic("minimum", "nsz"),
    ("max", "float"): _intrinsic("maximum", "nsz"),
    ("lt", "float"): _instruction("fcmp olt", "float"),
    ("le", "float"): _instruction("fcmp ole", "float"),
    ("eq", "float"): _instruction("fcmp oeq", "float"),
    ("ne", "float"): _instruction("fcmp une", "float"),
    ("neg", "float"): lambda w, a: w.let(f"fneg {w.float} {a}"),
    ("abs", "float"): _intrinsic("fabs"),
    ("sign", "float"): _sign,
    ("floor", "float"): _intrinsic("floor"),
    ("ceil", "float"): _intrinsic("ceil"),
    ("round", "float"): _intrinsic("roundeven"),
    ("is_finite", "float"): _is_finite,
    ("sqrt", "float"): lambda w, a: _root(w, a, w.lanes),
    ("rsqrt", "float"): lambda w, a: _one_over_root(w, a, w.lanes),
    ("exp", "float"): lambda w, a: _ours("exp")(w, a, w.lanes),
    **{
        (name, "float"): _library(name)
        for name in ("log", "log1p", "expm1", "tan", "tanh", "asin", "acos", "atan", "atan2", "pow")
    },
    **{(name, "float"): _sine(name) for name in ("sin", "cos")},
    **{(name, "int"): _instruction(name, "int") for name in ("add", "sub", "mul", "and", "or", "xor")},
    ("div", "int"): _divide_ints("sdiv", lambda w, a: w.constant("int", -1), -(2**31)),
    ("rem", "int"): _divide_ints("srem", lambda w, a: a, 0),
    ("min", "int"): _of_ints("smin"),
    ("max", "int"): _of_ints("smax"),
    ("lt", "int"): _instruction("icmp slt", "int"),
    ("le", "int"): _instruction("icmp sle", "int"),
    ("eq", "int"): _instruction("icmp eq", "int"),
    ("ne", "int"): _instruction("icmp ne", "int"),
    ("neg", "int"): lambda w, a: w.let(f"sub {w.whole} {w.constant('int', 0)}, {a}"),
    ("abs", "int"): lambda w, a: w.call(f"llvm.abs.{w.suffix('i32')}", w.whole, [(w.whole, a), ("i1", "false")]),
    ("sign", "int"): _sign_of_int,
    ("not", "int"): lambda w, a: w.let(f"xor {w.whole} {a}, {w.constant('int', -1)}"),
    **{(name, "bool"): _instruction(name, "bool") for name in ("and", "or", "xor")},
    ("min", "bool"): _instruction("and", "bool"),
    ("max", "bool"): _instruction("or", "bool"),
    ("lt", "bool"): _instruction("icmp ult", "bool"),
    ("le", "bool"): _instruction("icmp ule", "bool"),
    ("eq", "bool"): _instruction("icmp eq", "bool"),
    ("ne", "bool"): _instruction("icmp ne", "bool"),
    ("not", "bool"): lambda w, a: w.let(f"xor {w.flag} {a}, {w.constant('bool', True)}"),
    ("float_of_int", "int"): lambda w, a: w.let(f"sitofp {w.whole} {a} to {w.float}"),
    ("float_of_bool", "bool"): lambda w, a: w.let(f"uitofp {w.flag} {a} to {w.float}"),
    ("int_of_float", "float"): _to_int,
    ("int_of_bool", "bool"): lambda w, a: w.let(f"zext {w.flag} {a} to {w.whole}"),
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
