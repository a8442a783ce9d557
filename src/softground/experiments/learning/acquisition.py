"""Active acquisition: which configuration to measure next, the one whose wrench is the least certain.

The posterior variance of the physics-informed residual depends on where was measured, not on what, so a plan of
several measurements can be made at once: each choice counts as measured when the next is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.learning.grid import Grid, with_mirror_images
from softground.experiments.learning.physics import DEPTH_OFFSET, Physics, Residual, scaled_inputs


@dataclass(frozen=True)
class Suggestion:
    """A configuration to measure."""

    depth: float  # m
    tilt: float  # rad
    heading: float  # rad
    uncertainty: float  # N, rms over directions and components, torques divided by 0.1 m


def next_configuration(grid: Grid, candidates: np.ndarray | None = None) -> Suggestion:
    """The most uncertain of candidate poses (q, 3); by default of a lattice over the range of the data."""
    return plan(grid, 1, candidates)[0]


def plan(grid: Grid, count: int = 5, candidates: np.ndarray | None = None) -> list[Suggestion]:
    """The `count` poses to measure next, the most uncertain first."""
    candidates = default_candidates(grid) if candidates is None else np.asarray(candidates, dtype=float)
    if candidates.ndim != 2 or candidates.shape[1] != 3:
        raise ExperimentError(f"candidates must be poses (q, 3) = (depth, tilt, heading), got {candidates.shape}")
    model = Physics().fit(grid)
    residual, hyper = model.residual, model.hyper
    amplitude = residual.amplitude(hyper)
    chosen = []
    for _ in range(min(count, len(candidates))):
        growth = candidates[:, 0] + DEPTH_OFFSET * grid.foot.half_width
        variance = residual.variance(hyper, scaled_inputs(_at(grid, candidates)))
        uncertainty = amplitude * growth * np.sqrt(np.maximum(variance, 0.0))
        best = int(uncertainty.argmax())
        depth, tilt, heading = map(float, candidates[best])
        chosen.append(Suggestion(depth, tilt, heading, float(uncertainty[best])))
        residual = _with_pose(residual, grid, candidates[best])
        candidates = np.delete(candidates, best, axis=0)
    return chosen


def default_candidates(grid: Grid) -> np.ndarray:
    """Six depths and five tilts over the range of the data, on its headings; tilts to one side suffice."""
    depth, tilt = grid.depth.max(), np.abs(grid.poses[:, 1]).max()
    headings = np.unique(grid.poses[grid.poses[:, 1] != 0, 2]) if grid.kind == "spatial" else [0.0]
    tilts = np.linspace(0, tilt, 5) if tilt > 0 else [0.0]
    return np.array(
        [(d, t, h) for d in np.linspace(0, depth, 7)[1:] for t in tilts for h in (headings if t else [0.0])]
    )


def _at(grid: Grid, poses: np.ndarray) -> Grid:
    return Grid(grid.kind, grid.foot, grid.reference_height, poses, grid.twists, np.zeros((len(poses), 1, 1)))


def _with_pose(residual: Residual, grid: Grid, pose: np.ndarray) -> Residual:
    """The residual as if the pose and its mirror images had been measured."""
    empty = np.zeros((1, *grid.wrenches.shape[1:]))
    images = with_mirror_images(Grid(grid.kind, grid.foot, grid.reference_height, pose[None], grid.twists, empty))
    inputs = np.concatenate([residual.inputs, scaled_inputs(images)])
    values = np.concatenate([residual.values, images.wrenches])
    return Residual(inputs, residual.twists, values)
