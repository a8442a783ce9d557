"""Evaluation of a jaxpr on arrays of operands: each equation by the rule of its primitive."""

from __future__ import annotations

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from softground.native.errors import NotNative
from softground.native.primitives.table import PRIMITIVES
from softground.native.scalars import Builder, Operands

#: Primitives that may have an array that is changed in place among their inputs.
WITH_MEMORY = {
    *("gather", "scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max"),
    *("dynamic_slice", "dynamic_update_slice", "cond", "while", "scan", "jit", "pjit", "closed_call", "core_call"),
    *("remat2", "custom_jvp_call", "custom_vjp_call", "custom_vmap_call"),
}


def evaluate(build: Builder, closed: ClosedJaxpr, inputs: list[Operands]) -> list[Operands]:
    """Outputs of a jaxpr; the statements that make them go to the region at hand."""
    jaxpr = closed.jaxpr
    known: dict = {}
    known.update(zip(jaxpr.constvars, map(build.lift, closed.consts), strict=True))
    known.update(zip(jaxpr.invars, inputs, strict=True))

    def read(variable) -> Operands:
        return build.lift(variable.val) if isinstance(variable, Literal) else known[variable]

    for equation in jaxpr.eqns:
        name = equation.primitive.name
        rule = PRIMITIVES.get(name)
        if rule is None:
            raise NotNative(f"the primitive {name!r} has no native form; known are {', '.join(sorted(PRIMITIVES))}")
        inputs = [read(x) for x in equation.invars]
        if build.memory and name not in WITH_MEMORY and any(build.memory_of(x) for x in inputs):
            raise NotNative(f"an array that is changed in place is read and set at indices, which {name!r} does not do")
        outputs = rule(build, equation, inputs)
        if not equation.primitive.multiple_results:
            outputs = [outputs]
        for variable, array in zip(equation.outvars, outputs, strict=True):
            agrees = np.shape(array) == variable.aval.shape or build.memory_of(np.asarray(array)) is not None
            assert agrees, (name, np.shape(array), variable.aval)
            known[variable] = array
    return [read(x) for x in jaxpr.outvars]


def callee(equation) -> ClosedJaxpr:
    """The function that an equation calls."""
    for name in ("jaxpr", "call_jaxpr", "call", "fun_jaxpr"):
        called = equation.params.get(name)
        if isinstance(called, ClosedJaxpr):
            return called
        if isinstance(called, Jaxpr):
            return ClosedJaxpr(called, ())
    raise NotNative(f"the primitive {equation.primitive.name!r} calls a function that is not to be found")
