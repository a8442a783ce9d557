"""The exponential as lines of LLVM, of one number or of several in the lanes of a vector.

exp x = 2^n exp r with n the integer nearest to x / ln 2, so |r| <= ln 2 / 2, and exp r = 1 + r + r^2 q(r), q the
polynomial that meets (exp r - 1 - r) / r^2 at Chebyshev's nodes: relative error 2e-17 in double, 1e-8 in single
precision, below half of a rounding. Together within 1.1 units in the last place, also where the result is subnormal
(which XLA's threads take for zero); overflow gives infinity, and what is not a number stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from softground.native.lanes import Lanes


@dataclass(frozen=True)
class _Format:
    """What differs between the precisions."""

    least: float  # below, the result is 0; above `most` infinity
    most: float
    ln2: tuple[float, float]  # its leading bits, few enough that n times them is exact, and the rest
    polynomial: tuple[float, ...]  # q, lowest power first
    mantissa: int  # stored bits
    bias: int  # of the exponent


_FORMATS = {
    64: _Format(
        least=-746.0,
        most=710.0,
        ln2=(0.6931471805582987, 1.6465949582897082e-12),
        polynomial=(
            0.5000000000000001,
            0.16666666666666669,
            0.04166666666662399,
            0.008333333333330051,
            0.0013888888917281794,
            0.00019841269863105968,
            2.480152119021773e-05,
            2.7557268378684192e-06,
            2.7620138719733994e-07,
            2.5100424157005067e-08,
        ),
        mantissa=52,
        bias=1023,
    ),
    32: _Format(
        least=-104.0,
        most=89.0,
        ln2=(0.693115234375, 3.194618329871446e-05),
        polynomial=(
            0.5,
            0.16666576266288757,
            0.041666556149721146,
            0.008363203145563602,
            0.0013926213141530752,
        ),
        mantissa=23,
        bias=127,
    ),
}


def exponential(precision: Literal[32, 64], width: int) -> str:
    """Definition of `@exp.WIDTH`, from `width` numbers to as many: a vector, or for 1 a number."""
    given, lanes = _FORMATS[precision], Lanes(precision, width)
    let, fused, number, whole = lanes.let, lanes.fused, lanes.number, lanes.whole
    floats, integers = lanes.floats, lanes.integers
    # Comparisons are false for what is not a number, so it passes.
    let("low", f"fcmp ogt {floats} {number(given.least)}, %x")
    let("x1", f"select {lanes.flags} %low, {floats} {number(given.least)}, {floats} %x")
    let("high", f"fcmp olt {floats} {number(given.most)}, %x1")
    let("x2", f"select {lanes.flags} %high, {floats} {number(given.most)}, {floats} %x1")
    # Added to a number so great that its last bit is worth 1, x / ln 2 is rounded, and n stands in the last bits, plus
    # twice the bias so that it is positive.
    great = 1.5 * 2.0**given.mantissa + 2 * given.bias
    fused("shifted", "%x2", number(1.4426950408889634), number(great))
    let("n", f"fsub {floats} %shifted, {number(great)}")
    let("minus", f"fneg {floats} %n")
    fused("r1", "%minus", number(given.ln2[0]), "%x2")
    fused("r", "%minus", number(given.ln2[1]), "%r1")
    let("r2", f"fmul {floats} %r, %r")
    fused("rq", "%r2", lanes.polynomial("q", given.polynomial, "%r"), "%r")
    let("e", f"fadd {floats} %rq, {number(1.0)}")
    # 2^n in two factors, since it may be too great or too small for one.
    let("bits", f"bitcast {floats} %shifted to {integers}")
    let("twice", f"and {integers} %bits, {whole(4 * (given.bias + 1) - 1)}")
    let("half", f"lshr {integers} %twice, {whole(1)}")
    let("rest", f"sub {integers} %twice, %half")
    for name in ("half", "rest"):
        let(f"{name}.shifted", f"shl {integers} %{name}, {whole(given.mantissa)}")
        let(f"{name}.factor", f"bitcast {integers} %{name}.shifted to {floats}")
    let("scaled", f"fmul {floats} %e, %half.factor")
    let("result", f"fmul {floats} %scaled, %rest.factor")
    return lanes.function("exp", "alwaysinline", "%result")
