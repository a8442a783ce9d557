"""Plans that are kept: a gait is written to the cache as soon as it is found, under a name made from all that it
depends on, so that a sweep over many terrains that was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version

import jax
import numpy as np

from softground.cache import cache_folder
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem
from softground.planning.replay import EPS, TIME_STEP
from softground.planning.solve import solve
from softground.planning.stages import Stage
from softground.planning.trajectory import Trajectory
from softground.runs import Run


def planned_and_replayed(
    problem: GaitProblem,
    guess_name: str,
    guess: Callable[[GaitProblem], Trajectory],
    stages: tuple[Stage, ...],
    dynamics: type[Dynamics] = ClosedForm,
    seconds: float = 900.0,
    title: str = "",
) -> tuple[Plan, Run, str]:
    """The gait that solves a problem from a guess, its replay, and its name in the cache: kept, or found now.

    guess_name: tells guesses apart, as they are not compared themselves. seconds: s, for the solver. The replay is that
    with feedback; its attribute `replay` is what `Replay` says of it, `open_loop` of the one without.
    """

    def find(problem: GaitProblem) -> Plan:
        return solve(problem, guess(problem), stages=stages, dynamics=dynamics, seconds=seconds, progress=False)

    return found_and_replayed(problem, guess_name, find, stages, dynamics, title)


def found_and_replayed(
    problem: GaitProblem,
    way: str,
    find: Callable[[GaitProblem], Plan],
    stages: tuple[Stage, ...] = (),
    dynamics: type[Dynamics] = ClosedForm,
    title: str = "",
) -> tuple[Plan, Run, str]:
    """The same for a gait that is found in another way, of that name."""
    found, fingerprint = kept_plan(problem, way, find, stages, dynamics, title)
    again_path = cache_folder() / f"replays-{fingerprint}-{TIME_STEP:g}-{EPS:g}.nc"
    if not again_path.exists():
        report, again = found.replay()
        again.attrs["replay"] = json.dumps(report.as_dict())
        again.attrs["open_loop"] = json.dumps(found.replay(feedback=False)[0].as_dict())
        again.save(again_path)
    return found, Run.load(again_path), fingerprint


def kept_plan(
    problem: GaitProblem,
    way: str,
    find: Callable[[GaitProblem], Plan],
    stages: tuple[Stage, ...] = (),
    dynamics: type[Dynamics] = ClosedForm,
    title: str = "",
) -> tuple[Plan, str]:
    """A gait that is found in the way of this name, and its own name in the cache: kept, or found now."""
    fingerprint = _fingerprint(problem, way, stages, dynamics)
    path = cache_folder() / f"gait-{fingerprint}.nc"
    if not path.exists():
        plan = find(problem)
        if plan.report.status == "interrupted":  # a gait that was not finished must not be kept for one that was
            raise KeyboardInterrupt
        replace(plan, title=title).save(path)
    return Plan.load(path), fingerprint


def _fingerprint(problem: GaitProblem, guess_name: str, stages: tuple[Stage, ...], dynamics: type[Dynamics]) -> str:
    """Fingerprint of all that a gait depends on."""
    parts = (
        version("softground"),
        problem.robot.sha256,
        *(_numbers_in(part) for part in (problem.robot.parameters, problem.ground.surface, problem.ground.medium)),
        problem.knots,
        problem.dt,
        problem.costs,
        problem.constraints,
        problem.limits,
        problem.initial,
        problem.final,
        problem.splines,
        problem.collocation,
        guess_name,
        stages,
        dynamics.__name__,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _numbers_in(part: object) -> tuple:
    """The kind of a part of a problem and all its numbers."""
    return type(part).__name__, [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(part)]
