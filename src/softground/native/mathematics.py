"""Functions of mathematics that a module defines itself: those that its statements call."""

from __future__ import annotations

from softground.native.exponential import exponential
from softground.native.lanes import fused_declaration
from softground.native.sine import sine
from softground.native.writer import Writer


def mathematics(writer: Writer) -> str:
    """Definitions of the functions that have been called as `NAME.WIDTH`, and declarations of what these call."""
    texts, precision = [], writer.precision
    for name, width in sorted(writer.functions):
        if name == "exp":
            texts.append(exponential(precision, width))
            writer.declarations[f"fused {precision} {width}"] = fused_declaration(precision, width)
        elif name in ("sin", "cos"):
            texts.append(sine(name, precision, width))
            library = name if precision == 64 else f"{name}f"
            writer.declare(library, writer.scalar("float"), [writer.scalar("float")])
            writer.declare(f"llvm.fabs.v{width}f64", f"<{width} x double>", [f"<{width} x double>"])
            writer.declare(f"llvm.vector.reduce.or.v{width}i1", "i1", [f"<{width} x i1>"])
            writer.declarations[f"fused 64 {width}"] = fused_declaration(64, width)
    return "\n".join(texts)
