"""What tests of scalar programs share: a function of JAX beside its program in the interpreter."""

import jax
import numpy as np

from softground.native.interpreter import interpret
from softground.native.program import Program, Statement
from softground.native.scalarise import scalarise
from softground.native.traversal import walk


def check(function, *arguments, tolerance: float = 1e-12) -> Program:
    """Assert that a function and its program agree, and return the program."""
    arguments = jax.tree.map(jax.numpy.asarray, arguments)
    program = scalarise(function, *arguments)
    compare(program, function, *arguments, tolerance=tolerance)
    return program


def compare(program: Program, function, *arguments, tolerance: float = 1e-12) -> None:
    """Assert that a function's result is what its program makes of these arguments."""
    expected = jax.tree.leaves(function(*arguments))
    outputs = interpret(program, *jax.tree.leaves(arguments))
    assert len(outputs) == len(expected)
    for output, leaf in zip(outputs, expected, strict=True):
        leaf = np.asarray(leaf)
        assert output.dtype == leaf.dtype
        np.testing.assert_allclose(output.reshape(leaf.shape), leaf, rtol=tolerance, atol=tolerance)


def statements(program: Program) -> list[Statement]:
    """All statements of a program."""
    return [x for function in (*program.functions, program.main) for x in walk(function.body)]


def operations(program: Program) -> list[str]:
    """Names of all operations of a program."""
    return [x.operation for x in statements(program) if hasattr(x, "operation")]
