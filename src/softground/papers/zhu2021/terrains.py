"""Table I's wavy terrain and two more, planned as the plain command does: from a stride of level ground laid over them.

All are watertight meshes of which the planner sees the signed distance: waves, a step of 10 cm whose face lies as
steeply as sand does, and bumps without a pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from jaxtyping import Float

from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.flat import at_most
from softground.papers.zhu2021.pictures import gait_figure
from softground.papers.zhu2021.table_one import WAVY
from softground.papers.zhu2021.wavy import AMPLITUDE, ENDS, FACET, SPACING, WAVELENGTH, block_below, waves
from softground.planning import GaitProblem, Plan, plan, solve, stride
from softground.surfaces import MeshSurface

STEP, STEP_AT, REPOSE = 0.1, 1.5, np.deg2rad(34.0)  # m, m and rad
BUMPS, BUMPS_OVER, BUMPS_SEED = 0.05, (0.8, 2.5), 0  # m: of the highest; shortest and longest wave
WAVES_OF_BUMPS = 8


def step(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Level, `STEP` up at the angle of repose, level again, m."""
    return np.clip((x - STEP_AT) * np.tan(REPOSE), 0.0, STEP)


def bumps(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Waves of random lengths and phases, added: the highest and deepest place differ from level by `BUMPS`, m."""
    rng = np.random.default_rng(BUMPS_SEED)
    lengths = rng.uniform(*BUMPS_OVER, WAVES_OF_BUMPS)
    phases = rng.uniform(0.0, 2 * np.pi, WAVES_OF_BUMPS)
    height = np.sin(2 * np.pi * x[:, None] / lengths + phases).sum(axis=1)
    return BUMPS * height / np.abs(height).max()


PROFILES: dict[str, Callable[[np.ndarray], np.ndarray]] = {"waves": waves, "step": step, "bumps": bumps}


@cache
def terrain(name: str) -> MeshSurface:
    """The terrain of this name, as a mesh."""
    x = np.arange(ENDS[0], ENDS[1] + FACET / 2, FACET)
    return MeshSurface(block_below(x, PROFILES[name](x)), SPACING)


def gait_over(name: str, quick: bool = False) -> gaits.Gait:
    """The gait over a terrain."""
    return gaits.found(gaits.problem_on(terrain(name), quick), f"plain, {quick}", _quick if quick else _plain)


def _plain(problem: GaitProblem) -> Plan:
    """As `softground plan` does."""
    return plan(problem.robot, problem.ground, gaits.SPEED, progress=False)


def _quick(problem: GaitProblem) -> Plan:
    """The first iterations, from there."""
    stages = gaits.stages_of(quick=True)
    return solve(problem, stride(problem, gaits.EPS), stages=stages, progress=False)


def perform(options: Options) -> Findings:
    found = {name: gait_over(name, options.quick) for name in PROFILES}
    return Findings(
        checks=[check for item in found.items() for check in checks(*item)],
        metrics={
            name: {"metrics": gait.metrics, "replay": gait.replayed, "open_loop": gait.open_loop}
            | {"status": gait.report["status"]}
            for name, gait in found.items()
        },
        tables=[Table("terrains", "Gaits over terrains", [_printed(), *(row(*item) for item in found.items())])],
        figures={"gaits": gait_figure({name: gait.plan.motion for name, gait in found.items()})},
        videos={name: gait.videos["replayed"] for name, gait in found.items()},
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            f"Waves of {AMPLITUDE:g} m and {WAVELENGTH:g} m length (the paper gives neither); a step of {STEP:g} m, "
            f"its face {np.rad2deg(REPOSE):g} degrees steep; {WAVES_OF_BUMPS} waves of {BUMPS_OVER[0]:g} to "
            f"{BUMPS_OVER[1]:g} m added up to bumps of {BUMPS:g} m.",
            "The start is a stride of the library laid over the terrain, each foot of which lifts in every stride.",
        ],
    )


def row(name: str, gait: gaits.Gait) -> Row:
    """A row of the table."""
    return {"": name} | gait.row()


def _printed() -> Row:
    return {"": "waves, paper", "Mv (m/s)": WAVY.velocity_error, "Mc (1/s)": WAVY.cost, "solve (s)": 3600 * WAVY.hours}


def checks(name: str, gait: gaits.Gait) -> list[Check]:
    """Solved, and it walks; over waves at or below the paper's Mv and Mc."""
    claims = [
        at_most("feasibility", gait.report["violation"], bar.TOLERANCE),
        at_most("optimality", gait.report["optimality"], bar.TOLERANCE),
        Check("speed kept when replayed, no fall", gait.walks, gait.replayed["speed_kept"], f">= {bar.SPEED_KEPT:g}"),
    ]
    if name == "waves":
        claims += [
            at_most("velocity error Mv (m/s)", gait.metrics["velocity_error"], WAVY.velocity_error),
            at_most("cost Mc (1/s)", gait.metrics["paper_cost"], WAVY.cost),
        ]
    return [Check(f"{name}: {one.name}", one.passed, one.value, one.expected) for one in claims]


STUDY = Study(
    "zhu2021",
    "terrains",
    "gaits over waves, a step and bumps (Table I, and beyond it)",
    "over waves Mv 0.010 and Mc 26.7; the paper has no step and no bumps.",
    perform,
)
