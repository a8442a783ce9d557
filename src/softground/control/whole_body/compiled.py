"""Whole-body control inside a compiled loop: without inequalities the quadratic program is one linear system.

    minimise 1/2 x'H x + g'x  subject to  E x = e      <=>      [H E'; E 0] (x, y) = (-g, e)

What does not count at a tick (the wrench of a foot in the air, the rows of its contact) is cut out by unit rows, so
that the system keeps its size.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.assembly import Assembled


def solve_equalities(assembled: Assembled) -> Float[Array, " n"]:
    """x of a problem that has no inequalities; zero where an unknown does not count."""
    problem, (unknowns, rows, _) = assembled.problem, assembled.active
    count = len(problem.gradient)
    both = unknowns[:, None] & unknowns
    hessian = jnp.where(both, problem.hessian, jnp.eye(count))
    equality = jnp.where(rows[:, None] & unknowns, problem.equality_matrix, 0.0)
    corner = -jnp.diag(jnp.where(rows, 0.0, 1.0))
    system = jnp.block([[hessian, equality.T], [equality, corner]])
    right = jnp.concatenate(
        [jnp.where(unknowns, -problem.gradient, 0.0), jnp.where(rows, problem.equality_target, 0.0)]
    )
    return jnp.linalg.solve(system, right)[:count]
