"""Whether a search for strides finds the same again: from starts with noise on all joints, one after another.

Other compilers' flags and processors round differently, which is as good as noise: run it with other XLA_FLAGS, and
compare the costs.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from softground.media.named import sand
from softground.planning.library import nearest
from softground.planning.problem import walking_problem
from softground.planning.search import Search
from softground.planning.size import walking_eps
from softground.planning.solve import solve
from softground.planning.stages import near_stages
from softground.planning.strides import repeated, searched, stride_problem, whole_stride
from softground.robots import Robot
from softground.simulation import Ground
from softground.whole_file import write_whole

KNOTS = 181
WITHIN = 0.02
"""Share of the least cost by which others may be above it and count as the same."""


def measure(
    starts: int = 12,
    noise: float = 0.03,
    robot: str = "robosimian",
    strength: float = 2.0,
    speed: float = 0.4,
    drawn: bool = False,
    rounds: int | None = None,
    whole: bool = False,
    out: str | Path | None = None,
) -> dict[str, Any]:
    """Costs of the strides found from starts with noise (rad), as of a gait of 181 knots, and the time each took.

    The start is the library's stride, or with `drawn` the walks of a search from nothing. rounds: of the search. whole:
    the gait of 181 knots is solved from each stride, too. out: file to which rows are written as they come (JSON).
    """
    model = Robot.load(robot)
    problem = walking_problem(model, Ground(sand(strength)), speed, knots=KNOTS)
    level, eps = stride_problem(problem), walking_eps(model)
    known = None if drawn else nearest(problem, 0.0)
    scale = (KNOTS - 1) / (level.knots - 1)
    rows = []
    for seed in range(1, starts + 1):
        search = Search(noise=noise, seed=seed, **({} if rounds is None else {"rounds": rounds}))
        began, processor = time.perf_counter(), time.process_time()
        found = searched(level, eps, search, None if known is None else known[1])
        row = {
            "seed": seed,
            "cost": scale * found.report.objective,
            "violation": found.report.violation,
            "optimality": found.report.optimality,
            "seconds": time.perf_counter() - began,
            "processor_seconds": time.process_time() - processor,
        }
        if whole:
            gait = solve(
                problem,
                repeated(model, whole_stride(level, found.trajectory), KNOTS),
                stages=near_stages(eps),
                progress=False,
            )
            row |= {
                "gait_cost": gait.report.objective,
                "gait_violation": gait.report.violation,
                "gait_optimality": gait.report.optimality,
                "gait_seconds": gait.report.seconds,
                "gait_compile_seconds": gait.report.compile_seconds,
            }
        rows.append(row)
        if out is not None:
            text = json.dumps({"xla_flags": os.environ.get("XLA_FLAGS", ""), "starts": rows}, indent=1)
            write_whole(Path(out), lambda path, text=text: path.write_text(text))
    costs = np.array([row["cost"] for row in rows])
    return {
        "robot": robot,
        "noise_rad": noise,
        "least_cost": float(costs.min()),
        "greatest_cost": float(costs.max()),
        "within_2_percent": int((costs <= (1 + WITHIN) * costs.min()).sum()),
        "median_processor_seconds": float(np.median([row["processor_seconds"] for row in rows])),
        "starts": {str(row["seed"]): row for row in rows},
    }
