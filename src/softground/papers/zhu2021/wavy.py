"""Table I, wavy terrain: a gait over waves, started from the flat gait tracked on them (Fig. 2d).

As in the paper the terrain is a watertight mesh, of which the planner sees the signed distance (`MeshSurface`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import trimesh

from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Study, Table, Video, at_most
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.pictures import convergence_figure, gait_figure
from softground.papers.zhu2021.table_one import WAVY
from softground.surfaces import MeshSurface

AMPLITUDE, WAVELENGTH = 0.05, 2.0  # m
ENDS, HALF_WIDTH, BOTTOM = (-2.0, 6.0), 0.5, -1.0  # m, of the block below the waves
FACET, SPACING = 0.05, 0.08  # m, of the mesh and of the grid on which its distance is sampled


def perform(options: Options) -> Findings:
    gait = gaits.continued(terrain(), gaits.flat(options.quick), options.quick)
    kept = gait.replayed["speed_kept"]
    printed = {"": "paper", "Mv (m/s)": WAVY.velocity_error, "Mc (1/s)": WAVY.cost, "solve (s)": 3600 * WAVY.hours}
    return Findings(
        checks=[
            at_most("feasibility", gait.report["violation"], bar.TOLERANCE),
            at_most("optimality", gait.report["optimality"], bar.TOLERANCE),
            at_most("velocity error Mv (m/s)", gait.metrics["velocity_error"], WAVY.velocity_error),
            at_most("cost Mc (1/s)", gait.metrics["paper_cost"], WAVY.cost),
            Check("speed kept when replayed, without a fall", gait.walks, kept, f">= {bar.SPEED_KEPT:g}"),
        ],
        metrics={"metrics": gait.metrics, "replay": gait.replayed, "status": gait.report["status"]},
        tables=[Table("wavy", "Wavy terrain", [printed, {"": "here"} | gait.row()])],
        figures={"gait": gait_figure({"planned": gait.plan.motion}), "convergence": convergence_figure(gait.report)},
        videos={
            "planned": Video(gait.plan, "planned over waves"),
            "replayed": Video(gait.again, "replayed over waves"),
        },
        notes=[
            gaits.STRENGTH_NOTE,
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
            f"Amplitude {AMPLITUDE:g} m and wavelength {WAVELENGTH:g} m are ours (greatest slope 9 degrees); the paper "
            "gives neither.",
        ],
    )


@cache
def terrain() -> MeshSurface:
    """Waves along x on top of a block."""
    x = np.arange(ENDS[0], ENDS[1] + FACET / 2, FACET)
    return MeshSurface(block_below(x, waves(x)), SPACING)


def waves(x: np.ndarray) -> np.ndarray:
    """Height at x, m."""
    return AMPLITUDE * np.sin(2 * np.pi * x / WAVELENGTH)


def block_below(x: np.ndarray, height: np.ndarray) -> trimesh.Trimesh:
    """The closed block below a profile: four edges that run along x (top and bottom, right and left), and its ends."""
    n = len(x)
    y, z = np.full(n, HALF_WIDTH), np.full(n, BOTTOM)
    edges = [(x, -y, height), (x, y, height), (x, y, z), (x, -y, z)]  # in turn about the block
    vertices = np.concatenate([np.stack(edge, axis=1) for edge in edges])
    here = np.arange(n - 1)
    sides = []
    for edge in range(4):
        a, b = edge * n + here, (edge + 1) % 4 * n + here
        sides += [np.stack([a, a + 1, b + 1], axis=1), np.stack([a, b + 1, b], axis=1)]
    first, last = n * np.arange(4), n * np.arange(4) + n - 1
    ends = [last[[0, 3, 2]], last[[0, 2, 1]], first[[0, 1, 2]], first[[0, 2, 3]]]
    return trimesh.Trimesh(vertices, np.concatenate([*sides, ends]), process=False)


STUDY = Study(
    "zhu2021",
    "wavy",
    "a gait over waves (Table I, Fig. 2d)",
    "Mv 0.010 and Mc 26.7 after half an hour, started from the flat gait tracked on the waves.",
    perform,
)
