"""Whether plans arrive, and at the same gait: from starts with noise on all joints, or from nothing.

Other compilers' flags and processors round differently, which is as good as noise: run it with other XLA_FLAGS, and
compare the costs.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from softground.media.named import sand
from softground.planning.drawn import drawn_walk
from softground.planning.library import near
from softground.planning.problem import GaitProblem, walking_problem
from softground.planning.search import Search
from softground.planning.size import walking_eps
from softground.planning.solve import solve
from softground.planning.stages import near_stages
from softground.planning.strides import repeated, searched, stride_problem, whole_stride
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.simulation import Ground
from softground.whole_file import write_whole

KNOTS = 181
WITHIN = 0.02
"""Share of the least cost by which others may be above it and count as the same."""
ENOUGH = 1.02
"""In costs of the library's stride: a search from that with noise ends where this is found again."""
TOLERANCE = 1e-3
"""Of violations in the rows' units, and of optimality relative to the greatest multiplier."""


def measure(
    starts: int = 12,
    noise: float = 0.03,
    robot: str = "robosimian",
    strength: float = 2.0,
    speed: float = 0.4,
    drawn: bool = False,
    rounds: int | None = None,
    stride: bool = False,
    processes: int = 1,
    out: str | Path | None = None,
) -> dict[str, Any]:
    """Costs of the gaits found from starts with noise (rad), and the time that each took.

    The start is the library's stride with noise, or with `drawn` a search from nothing, of other walks for each start.
    rounds: of the search. stride: stop at the stride, without the gait of 181 knots. processes: that run starts side by
    side, one core each. out: file to which rows are written as they come (JSON).
    """
    rows: list[dict[str, Any]] = []
    jobs = [(robot, strength, speed, noise, drawn, rounds, stride, seed) for seed in range(1, starts + 1)]
    for row in _done(jobs, processes):
        rows = sorted([*rows, row], key=lambda row: row["seed"])
        if out is not None:
            text = json.dumps(_summary(rows, robot, noise, drawn), indent=1)
            write_whole(Path(out), lambda path, text=text: path.write_text(text))
    return _summary(rows, robot, noise, drawn)


def _summary(rows: list[dict[str, Any]], robot: str, noise: float, drawn: bool) -> dict[str, Any]:
    costs = np.array([row["cost"] for row in rows])
    solved = np.array([row["solved"] for row in rows])
    least = float(costs[solved].min()) if solved.any() else float("nan")
    seconds, processor, compiling = (
        [row[name] for row in rows] for name in ("seconds", "processor_seconds", "compile_seconds")
    )
    return {
        "robot": robot,
        "from": "nothing" if drawn else f"the library's stride with noise of {noise:g} rad",
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "solved": f"{int(solved.sum())} of {len(rows)}",
        "least_cost": least,
        "greatest_cost": float(costs.max()),
        "within_2_percent": int((solved & (costs <= (1 + WITHIN) * least)).sum()),
        "seconds_median": float(np.median(seconds)),
        "seconds_worst": max(seconds),
        "processor_seconds_median": float(np.median(processor)),
        "processor_seconds_worst": max(processor),
        "compile_seconds": max(compiling),
        "starts": {str(row["seed"]): row for row in rows},
    }


def _done(jobs: list[tuple], processes: int) -> Iterator[dict[str, Any]]:
    if processes == 1:
        yield from map(_from_one, jobs)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _in_double) as pool:
        for done in as_completed([pool.submit(_from_one, job) for job in jobs]):
            yield done.result()


def _in_double() -> None:
    jax.config.update("jax_enable_x64", True)


def _from_one(job: tuple) -> dict[str, Any]:
    """What one start leads to."""
    robot, strength, speed, noise, drawn, rounds, stride, seed = job
    problem, compiling = _compiled(robot, strength, speed, stride)
    level, eps = stride_problem(problem), walking_eps(problem.robot)
    known = None if drawn else next(iter(near(problem, 0.0)), None)
    began, processor = time.perf_counter(), time.process_time()
    enough = 0.0 if known is None else ENOUGH * reached(level, known[1], eps)
    search = Search(noise=noise, seed=seed, enough=enough, workers=1, **({} if rounds is None else {"rounds": rounds}))
    found = searched(level, eps, search, None if known is None else known[1])
    scale = (KNOTS - 1) / (level.knots - 1)
    cost, stride_cost = scale * found.report.objective, scale * found.report.objective
    if not stride:
        guess = repeated(problem.robot, whole_stride(level, found.trajectory), KNOTS)
        found = solve(problem, guess, stages=near_stages(eps), progress=False)
        cost = found.report.objective
    assert found.solution is not None
    relative = found.report.optimality / float(np.abs(found.solution.multipliers).max())
    return {
        "seed": seed,
        "cost": cost,
        "stride_cost": stride_cost,
        "solved": bool(found.report.violation <= TOLERANCE and relative <= TOLERANCE),
        "violation": found.report.violation,
        "optimality": found.report.optimality,
        "relative_optimality": relative,
        "Mc": found.metrics.paper_cost,
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - processor,
        "compile_seconds": compiling,
    }


def reached(problem: GaitProblem, stride: Trajectory, eps: float) -> float:
    """The cost of a library's stride for a problem, which it solves but for rounding; eps in W."""
    return solve(problem, stride, stages=near_stages(eps), progress=False).report.objective


@cache
def _compiled(robot: str, strength: float, speed: float, stride: bool) -> tuple[GaitProblem, float]:
    """The problem, all that its solves use compiled, and how long that took."""
    problem = walking_problem(Robot.load(robot), Ground(sand(strength)), speed, knots=KNOTS)
    level, began = stride_problem(problem), time.perf_counter()
    brief = [replace(stage, iterations=1) for stage in near_stages(walking_eps(problem.robot))]
    for each in [level] if stride else [level, problem]:
        solve(each, drawn_walk(each), stages=brief, progress=False)
    return problem, time.perf_counter() - began
