"""Solutions of recorded problems meet the conditions of optimality, and the measure of that can tell."""

from functools import lru_cache

import numpy as np
import pytest

from softground.control.whole_body import Problem, Status, kkt_residual, supporting_wrenches, tsid_compliant, tsid_rigid
from softground.control.whole_body.solvers import SOLVERS

from .motions import random_motion, robot

BUILDERS = {"compliant": tsid_compliant, "rigid": tsid_rigid}
EXACT = ("daqp", "quadprog")
CLOSE = {"daqp": 1e-9, "quadprog": 1e-9, "piqp": 1e-6, "proxqp": 1e-4}
"""Greatest relative residual: rounding of active-set methods, the tolerances of the others on an ill-scaled problem."""


@lru_cache
def recorded(kind: str) -> tuple[Problem, ...]:
    """Problems of a robot that is pushed about while it stands on two feet and on each of them."""
    controller = BUILDERS[kind](robot())
    q = np.asarray(robot().posture)
    references, problems = controller.hold(q), []
    for seed, support in enumerate([(True, True), (True, False), (False, True)] * 2):
        support = np.array(support)
        motion = random_motion(seed)
        com = references.com._replace(acceleration=0.3 * np.array([np.sin(seed), np.cos(seed), 0.0]))
        feet = references.ground.rest_position
        wrenches = supporting_wrenches(robot(), com, feet, support)
        desired = references._replace(com=com, wrenches=wrenches, in_contact=support)
        state = (q, 0.02 * motion.v, wrenches * (1 + 0.02 * np.sin(np.arange(12.0).reshape(2, 6) + seed)))
        problems.append(controller.problem(controller.initial_memory(), *state, desired))
    return tuple(problems)


def available(name: str):
    if name in ("piqp", "proxqp"):
        pytest.importorskip({"piqp": "piqp", "proxqp": "proxsuite"}[name])
    return SOLVERS[name]


@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_are_optimal(name, kind):
    solve = available(name)
    for problem in recorded(kind):
        solution = solve(problem)
        assert solution.status is Status.SOLVED
        assert kkt_residual(problem, solution).worst < CLOSE[name]


def test_some_recorded_problems_press_against_their_bounds():
    """Otherwise dual feasibility and complementarity would be tested on nothing."""
    touched = [np.abs(SOLVERS["daqp"](problem).inequality_multipliers).max() > 0 for problem in recorded("rigid")]
    assert any(touched)


@pytest.mark.parametrize("kind", BUILDERS)
def test_methods_agree(kind):
    for problem in recorded(kind):
        ours, theirs = (SOLVERS[name](problem).x for name in EXACT)
        np.testing.assert_allclose(ours, theirs, atol=1e-6 * np.abs(theirs).max())


WRONG = {
    "stationarity": lambda p, s: s._replace(x=s.x + 1e-3 * np.linalg.svd(p.equality_matrix)[2][-1]),
    "primal": lambda p, s: s._replace(x=s.x + p.equality_matrix[0] / np.linalg.norm(p.equality_matrix[0])),
    "dual": lambda p, s: s._replace(inequality_multipliers=s.inequality_multipliers - 1.0),
    "complementarity": lambda p, s: s._replace(inequality_multipliers=s.inequality_multipliers + 1e6),
}


@pytest.mark.parametrize("condition", WRONG)
def test_the_residual_sees_what_is_wrong(condition):
    problem = recorded("compliant")[0]
    solution = SOLVERS["daqp"](problem)
    wrong = kkt_residual(problem, WRONG[condition](problem, solution))
    assert getattr(wrong, condition) > 1e3 * max(getattr(kkt_residual(problem, solution), condition), 1e-12)


@pytest.mark.parametrize("name", EXACT)
def test_problems_without_a_solution_are_infeasible(name):
    problem = recorded("compliant")[0]
    row = np.eye(len(problem.gradient))[:1]
    between_nothing = problem._replace(
        inequality_matrix=np.concatenate([problem.inequality_matrix, row, row]),
        lower=np.concatenate([problem.lower, [1.0, -np.inf]]),
        upper=np.concatenate([problem.upper, [np.inf, -1.0]]),
    )
    two_at_once = problem._replace(
        equality_matrix=np.concatenate([problem.equality_matrix, row, row]),
        equality_target=np.concatenate([problem.equality_target, [0.0, 1.0]]),
    )
    for impossible in (between_nothing, two_at_once):
        found = SOLVERS[name](impossible)
        assert found.status is Status.INFEASIBLE
        assert np.isnan(found.x).all()


def test_numbers_that_are_not_finite_are_a_failure():
    problem = recorded("compliant")[0]
    assert SOLVERS["daqp"](problem._replace(gradient=problem.gradient * np.nan)).status is Status.FAILED


def test_two_sided_bounds_are_met_on_both_sides():
    """A small problem with a known answer: the box pulls x from (3, -3) to (1, -1)."""
    problem = Problem(
        np.eye(2), np.array([-3.0, 3.0]), np.zeros((0, 2)), np.zeros(0), np.eye(2), -np.ones(2), np.ones(2)
    )
    for name in SOLVERS:
        solution = available(name)(problem)
        np.testing.assert_allclose(solution.x, [1.0, -1.0], atol=1e-5)  # proxqp stops at 1e-5, by its default
        np.testing.assert_allclose(solution.inequality_multipliers, [2.0, -2.0], atol=1e-4)
