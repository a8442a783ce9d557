"""Functions of one number, or of several in the lanes of a vector: the lines of LLVM that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from softground.native.writer import PURE, float_text


@dataclass
class Lanes:
    """Lines of a function of `%x`, with names for what they make. For one lane there is no vector."""

    precision: Literal[32, 64]
    width: int
    lines: list[str] = field(default_factory=list)

    @property
    def floats(self) -> str:
        return self._many("double" if self.precision == 64 else "float")

    @property
    def integers(self) -> str:
        return self._many(f"i{self.precision}")

    @property
    def flags(self) -> str:
        return self._many("i1")

    @property
    def suffix(self) -> str:
        """End of the names of LLVM's own functions."""
        return f"v{self.width}f{self.precision}" if self.width > 1 else f"f{self.precision}"

    def number(self, value: float) -> str:
        return self._everywhere("double" if self.precision == 64 else "float", float_text(value, self.precision))

    def whole(self, value: int) -> str:
        return self._everywhere(f"i{self.precision}", str(value))

    def let(self, name: str, text: str) -> str:
        self.lines.append(f"  %{name} = {text}")
        return f"%{name}"

    def fused(self, name: str, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the processor can."""
        floats = self.floats
        return self.let(name, f"call {floats} @llvm.fmuladd.{self.suffix}({floats} {a}, {floats} {b}, {floats} {c})")

    def polynomial(self, name: str, coefficients: Sequence[float], x: str) -> str:
        """Pairs of coefficients, then pairs of pairs (Estrin): short chains, so that the processor does several at
        once. Lowest power first."""
        terms, power, level = [self.number(c) for c in coefficients], x, 0
        while len(terms) > 1:
            pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
            terms = [
                self.fused(f"{name}{level}.{k}", pair[1], power, pair[0]) if len(pair) == 2 else pair[0]
                for k, pair in enumerate(pairs)
            ]
            level += 1
            power = self.let(f"{name}.power{level}", f"fmul {self.floats} {power}, {power}")
        return terms[0]

    def function(self, name: str, attributes: str, result: str) -> str:
        """Definition of the function that these lines are."""
        head = f"define internal {self.floats} @{name}.{self.width}({self.floats} %x) {attributes} {PURE} {{"
        return "\n".join([head, *self.lines, f"  ret {self.floats} {result}", "}"])

    def _many(self, type: str) -> str:
        return f"<{self.width} x {type}>" if self.width > 1 else type

    def _everywhere(self, type: str, value: str) -> str:
        return f"splat ({type} {value})" if self.width > 1 else value


def fused_declaration(precision: Literal[32, 64], width: int) -> str:
    lanes = Lanes(precision, width)
    return f"declare {lanes.floats} @llvm.fmuladd.{lanes.suffix}({', '.join([lanes.floats] * 3)})"
