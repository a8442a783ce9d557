"""The table of primitives: what each primitive of JAX does to arrays of operands.

A rule takes the program in the making, the equation and its inputs, and gives its output (a list where the primitive
has several). A new primitive is one more rule, in the file of its family.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jax.extend.core import JaxprEqn

from softground.native.scalars import Builder, Operands

Rule = Callable[[Builder, JaxprEqn, list[Operands]], Operands | Sequence[Operands]]

PRIMITIVES: dict[str, Rule] = {}


def primitive(*names: str) -> Callable[[Rule], Rule]:
    """Enter a rule under the names of its primitives."""

    def enter(rule: Rule) -> Rule:
        for name in names:
            assert name not in PRIMITIVES, name
            PRIMITIVES[name] = rule
        return rule

    return enter
