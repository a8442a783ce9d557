"""The best of many solves: from several guesses at once, then from children of the best as long as that helps.

Solves run on as many threads as there are cores: compiled code runs beside other compiled code, and is compiled once
for all. Each is by itself, and of equal costs the first one counts, so the answer does not depend on how many run at
once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem
from softground.planning.solve import solve
from softground.planning.stages import Stage
from softground.planning.trajectory import Trajectory

Children = Callable[[int, Sequence[Plan], int], list[Trajectory]]
"""Guesses of a round: from its number, what is known (the best first, all different), and the rounds in vain before."""


@dataclass(frozen=True)
class Search:
    """How long to look for better strides."""

    starts: int = 16  # walks from which it begins
    rounds: int = 12  # most of them
    worth: float = 0.01  # share of the cost by which a round must better it
    idle: int = 3  # rounds in a row that do not, after which it ends
    enough: float = 0.0  # cost, in the problem's own unit, at which it ends: one that is known to be good
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    noise: float = 0.0  # rad, of all joints at all knots of the first guesses
    seed: int = 0  # of the noise, and of what walks look like

    def perturbed(self, guess: Trajectory, number: int) -> Trajectory:
        """A guess with noise on its joints: those that come behind the six or three coordinates of the base."""
        if not self.noise:
            return guess
        free = guess.q.shape[1] - guess.torque.shape[1]
        q = guess.q.copy()
        q[:, free:] += self.noise * np.random.default_rng([self.seed, number]).normal(size=q[:, free:].shape)
        return guess._replace(q=q)


def solved_from(
    problem: GaitProblem, guesses: Sequence[Trajectory], stages: Sequence[Stage], search: Search, compiled: bool = False
) -> list[Plan]:
    """What guesses lead to, the best first: the cheapest that is feasible; behind those, the nearest to it.

    compiled: whether the problem was solved before; else the first solve compiles what all others use.
    """
    one = lambda guess: solve(problem, guess, stages=stages, progress=False)  # noqa: E731
    first = [] if compiled else [one(guess) for guess in guesses[:1]]
    # Around all threads, since what one of them limits and gives back holds for the others.
    with threadpool_limits(1), ThreadPoolExecutor(search.workers) as pool:
        return sorted([*first, *pool.map(one, guesses[len(first) :])], key=rank)


def improved(plans: Sequence[Plan], children: Children, stages: Sequence[Stage], search: Search) -> Plan:
    """The best of plans, or a better one that their children led to, round by round."""
    known, idle = _apart(plans, search.worth), 0
    for number in range(search.rounds):
        best = known[0]
        if rank(best)[0] == 0 and best.report.objective <= search.enough:
            break
        found = solved_from(best.problem, children(number, known, idle), stages, search, compiled=True)
        idle = 0 if _is_worth(found[0], best, search.worth) else idle + 1
        known = _apart([*known, *found], search.worth)
        if idle == search.idle:
            break
    return known[0]


def _is_worth(found: Plan, best: Plan, share: float) -> bool:
    """Whether a plan is feasible where the best is not, or costs less by a share."""
    return (rank(found)[0], found.report.objective) < (rank(best)[0], (1 - share) * best.report.objective)


def _apart(plans: Sequence[Plan], share: float) -> list[Plan]:
    """Plans by rank, without those that cost much the same as a better one: they are likely the same."""
    kept: list[Plan] = []
    for plan in sorted(plans, key=rank):
        if not kept or plan.report.objective > (1 + share) * kept[-1].report.objective:
            kept.append(plan)
    return kept


def rank(plan: Plan, feasibility: float = 1e-3) -> tuple[float, float]:
    """Less is better: feasible plans by their cost, others by their violation."""
    excess = max(plan.report.violation - feasibility, 0.0)
    return excess, plan.report.objective if excess == 0 else np.inf
