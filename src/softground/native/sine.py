"""Sines and cosines of several numbers at once, as lines of LLVM: a robot's joints ask for dozens.

x = k pi/2 + r with k the nearest integer, so |r| <= pi/4; sin r and cos r by the polynomials of fdlibm (Sun
Microsystems, 1993: errors below 2^-58), of which k chooses one and its sign. pi/2 comes in three parts, of which k
times the first two is exact, so r is good to 1e-20 up to the limit; beyond it, and for what is not finite, C's library
is asked, number by number. Within 2.5 units in the last place (r is rounded twice), but for results near 0 far from the
origin, which are good to 1e-20. Single precision is computed in double.
"""

from __future__ import annotations

from typing import Literal

from softground.native.lanes import Lanes

LIMIT = 1e5
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


def sine(name: Literal["sin", "cos"], precision: Literal[32, 64], width: int) -> str:
    """Definition of `@sin.WIDTH` or `@cos.WIDTH`, of vectors. The function of C's library must be declared."""
    given, lanes = Lanes(precision, width), Lanes(64, width)
    let, fused, number, whole = lanes.let, lanes.fused, lanes.number, lanes.whole
    floats, integers, flags = lanes.floats, lanes.integers, lanes.flags
    wide = "%x" if precision == 64 else let("wide", f"fpext {given.floats} %x to {floats}")
    let("size", f"call {floats} @llvm.fabs.{lanes.suffix}({floats} {wide})")
    let("far", f"fcmp ugt {floats} %size, {number(LIMIT)}")
    let("any", f"call i1 @llvm.vector.reduce.or.v{width}i1({flags} %far)")
    lanes.lines += ["  br i1 %any, label %library, label %here", "here:"]
    # As in exponential.py; a cosine is the sine a quarter of a turn later.
    great = 1.5 * 2.0**52
    fused("shifted", wide, number(0.6366197723675814), number(great))
    let("k", f"fsub {floats} %shifted, {number(great)}")
    let("minus", f"fneg {floats} %k")
    fused("r1", "%minus", number(_HALF_PI[0]), wide)
    fused("r2", "%minus", number(_HALF_PI[1]), "%r1")
    fused("r", "%minus", number(_HALF_PI[2]), "%r2")
    let("z", f"fmul {floats} %r, %r")
    let("rz", f"fmul {floats} %r, %z")
    fused("sine", "%rz", lanes.polynomial("s", _SINE, "%z"), "%r")
    # 1 - z / 2 rounds; what it lost is added again.
    let("hz", f"fmul {floats} %z, {number(0.5)}")
    let("w", f"fsub {floats} {number(1.0)}, %hz")
    let("lost", f"fsub {floats} {number(1.0)}, %w")
    let("rest", f"fsub {floats} %lost, %hz")
    let("zz", f"fmul {floats} %z, %z")
    fused("more", "%zz", lanes.polynomial("c", _COSINE, "%z"), "%rest")
    let("cosine", f"fadd {floats} %w, %more")
    let("bits", f"bitcast {floats} %shifted to {integers}")
    let("turn", f"add {integers} %bits, {whole(1 if name == 'cos' else 0)}")
    let("odd.bit", f"and {integers} %turn, {whole(1)}")
    let("odd", f"icmp ne {integers} %odd.bit, {whole(0)}")
    let("chosen", f"select {flags} %odd, {floats} %cosine, {floats} %sine")
    let("sign.bit", f"and {integers} %turn, {whole(2)}")
    let("sign", f"shl {integers} %sign.bit, {whole(62)}")
    let("chosen.bits", f"bitcast {floats} %chosen to {integers}")
    let("signed", f"xor {integers} %chosen.bits, %sign")
    result = let("result", f"bitcast {integers} %signed to {floats}")
    if name == "sin":  # of a negative zero
        let("zero", f"fcmp oeq {floats} {wide}, {number(0.0)}")
        result = let("kept", f"select {flags} %zero, {floats} {wide}, {floats} %result")
    if precision == 32:
        result = let("narrow", f"fptrunc {floats} {result} to {given.floats}")
    lanes.lines += [f"  ret {given.floats} {result}", "library:"]
    scalar, function = ("double", name) if precision == 64 else ("float", f"{name}f")
    before = "poison"
    for lane in range(width):
        let(f"x.{lane}", f"extractelement {given.floats} %x, i32 {lane}")
        let(f"y.{lane}", f"call {scalar} @{function}({scalar} %x.{lane})")
        before = let(f"all.{lane}", f"insertelement {given.floats} {before}, {scalar} %y.{lane}, i32 {lane}")
    given.lines = lanes.lines
    return given.function(name, "noinline", before)
