"""Solvers of the whole-body QP, all behind one call: Problem -> Solution; and one for compiled loops.

`solve_daqp` is the one that controllers use, because it was the fastest on their problems at an accuracy near rounding
(docs/whole_body_control.md, `softground bench control`). The others are here to be measured beside it; `piqp` and
`proxsuite` have to be installed for that.
"""

from __future__ import annotations

from collections.abc import Callable

import daqp
import jax.numpy as jnp
import numpy as np
import quadprog
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.problem import Assembled, Problem, Solution, Status

Solver = Callable[[Problem], Solution]

_EQUALITY = 5  # daqp's mark of a row that must hold with equality
_DAQP_STATUS = {1: Status.SOLVED, 2: Status.SOLVED, -1: Status.INFEASIBLE}
_TOLERANCE = 1e-9  # relative, of the methods that iterate towards the optimum


def solve_daqp(problem: Problem) -> Solution:
    """Arnstrom, Bemporad and Axehill's dual active-set method, which updates one factorisation: exact."""
    rows = np.concatenate([problem.inequality_matrix, problem.equality_matrix])
    upper = np.concatenate([problem.upper, problem.equality_target])
    lower = np.concatenate([problem.lower, problem.equality_target])
    count = len(problem.upper)
    sense = np.zeros(len(upper), dtype=np.int32)
    sense[count:] = _EQUALITY
    x, _, flag, info = daqp.solve(problem.hessian, problem.gradient, rows, upper, lower, sense)
    multipliers = np.asarray(info["lam"])
    status = _DAQP_STATUS.get(flag, Status.FAILED)
    if status is Status.SOLVED and not np.isfinite(x).all():
        status = Status.FAILED  # daqp calls data that are not finite solved
    if status is Status.FAILED and not _consistent(problem):
        status = Status.INFEASIBLE
    if status is not Status.SOLVED:  # daqp returns where it stopped
        return _nothing(problem, status)
    return Solution(np.asarray(x), multipliers[count:], multipliers[:count], status)


def solve_quadprog(problem: Problem) -> Solution:
    """Goldfarb and Idnani's dual active-set method: exact."""
    above, below = np.isfinite(problem.upper), np.isfinite(problem.lower)
    rows = np.concatenate(
        [problem.equality_matrix, -problem.inequality_matrix[above], problem.inequality_matrix[below]]
    )
    limits = np.concatenate([problem.equality_target, -problem.upper[above], problem.lower[below]])
    count, n_above = len(problem.equality_target), int(above.sum())
    try:
        x, _, _, _, found, _ = quadprog.solve_qp(problem.hessian, -problem.gradient, rows.T, limits, count)
    except ValueError as error:
        infeasible = "inconsistent" in str(error)
        return _nothing(problem, Status.INFEASIBLE if infeasible else Status.FAILED)
    z = np.zeros(len(problem.upper))
    z[above] += found[count : count + n_above]
    z[below] -= found[count + n_above :]
    return Solution(x, -found[:count], z, Status.SOLVED)


def solve_piqp(problem: Problem) -> Solution:
    """A proximal interior-point method."""
    import piqp

    solver = piqp.DenseSolver()
    solver.settings.eps_rel = _TOLERANCE
    solver.setup(
        *(problem.hessian, problem.gradient, problem.equality_matrix, problem.equality_target),
        *(problem.inequality_matrix, problem.lower, problem.upper),
    )
    solved = solver.solve() == piqp.PIQP_SOLVED
    found = solver.result
    z = np.array(found.z_u) - np.array(found.z_l)
    return Solution(np.array(found.x), np.array(found.y), z, Status.SOLVED if solved else Status.FAILED)


def solve_proxqp(problem: Problem) -> Solution:
    """A proximal augmented-Lagrangian method."""
    from proxsuite import proxqp  # pyright: ignore[reportMissingImports]

    solver = proxqp.dense.QP(len(problem.gradient), len(problem.equality_target), len(problem.upper))
    solver.settings.eps_rel, solver.settings.max_iter = _TOLERANCE, 200
    solver.init(
        *(problem.hessian, problem.gradient, problem.equality_matrix, problem.equality_target),
        *(problem.inequality_matrix, problem.lower, problem.upper),
    )
    solver.solve()
    found = solver.results
    solved = found.info.status == proxqp.PROXQP_SOLVED
    return Solution(np.array(found.x), np.array(found.y), np.array(found.z), Status.SOLVED if solved else Status.FAILED)


def solve_equalities(assembled: Assembled) -> Float[Array, " n"]:
    """x of a problem that has no inequalities, inside a compiled loop; zero where an unknown does not count.

    Without inequalities the quadratic program is one linear system:

        minimise 1/2 x'H x + g'x  subject to  E x = e      <=>      [H E'; E 0] (x, y) = (-g, e)

    What does not count at a tick (the wrench of a foot in the air, the rows of its contact) is cut out by unit rows, so
    that the system keeps its size.
    """
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


SOLVERS: dict[str, Solver] = {
    "daqp": solve_daqp,
    "quadprog": solve_quadprog,
    "piqp": solve_piqp,
    "proxqp": solve_proxqp,
}


def _nothing(problem: Problem, status: Status) -> Solution:
    """What a solver returns when it has found nothing."""
    x, y, z = (np.full(part.shape, np.nan) for part in (problem.gradient, problem.equality_target, problem.lower))
    return Solution(x, y, z, status)


def _consistent(problem: Problem) -> bool:
    """Whether some x meets the equalities."""
    matrix, target = problem.equality_matrix, problem.equality_target
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        return True  # not a matter of feasibility
    x, *_ = np.linalg.lstsq(matrix, target)
    scale = np.abs(matrix) @ np.abs(x) + np.abs(target)
    return bool((np.abs(matrix @ x - target) <= 1e-8 * scale + 1e-12).all())
