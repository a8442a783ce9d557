"""How well a method predicts what it has not seen, how much of the data is noise, and what to measure next.

Next is the configuration whose wrench is the least certain (active acquisition). The posterior variance of the
physics-informed residual depends on where was measured, not on what, so a plan of several measurements can be made at
once: each choice counts as measured when the next is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.learning.base import Method
from softground.experiments.learning.grid import Grid, orbits, with_mirror_images
from softground.experiments.learning.physics import DEPTH_OFFSET, Physics, Residual, scaled_inputs
from softground.experiments.symmetry import mirror_signs_of, mirrored_directions


def normalised_error(predicted: np.ndarray, measured: np.ndarray, weights: np.ndarray) -> float:
    """Root mean square over all wrench components, each times its weight, over that of the data.

    With `component_weights` torques count as forces at `TORQUE_LENGTH`.
    """
    return float(np.sqrt((((predicted - measured) * weights) ** 2).sum() / ((measured * weights) ** 2).sum()))


def leave_one_out(grid: Grid) -> list[np.ndarray]:
    """Masks (c,) of configurations to hold out, one at a time; with its mirror image if that was measured too."""
    groups = orbits(grid)
    return [groups == group for group in np.unique(groups[grid.under])]


def folds(grid: Grid, count: int = 5, seed: int = 0) -> list[np.ndarray]:
    """Masks (c,) of `count` parts to hold out in turn. The rows of every direction are split alike, so that a
    method that lets directions learn from each other does not see a neighbour of what it must predict."""
    groups = orbits(grid)
    shuffled = np.random.default_rng(seed).permutation(np.unique(groups[grid.under]))
    return [np.isin(groups, part) for part in np.array_split(shuffled, min(count, len(shuffled)))]


def cross_validated(method: Method, grid: Grid, held_out: Iterable[np.ndarray]) -> float:
    """Normalised error of predictions of configurations by models that were not shown them.

    Zero rows at zero depth are in every training set and count in no error.
    """
    predicted, measured = [], []
    for mask in held_out:
        mask = mask & grid.under
        predicted.append(method.fit(grid.subset(~mask)).predict(grid.poses[mask]))
        measured.append(grid.wrenches[mask])
    return normalised_error(np.concatenate(predicted), np.concatenate(measured), grid.component_weights)


def learning_curve(
    methods: Sequence[Method], grid: Grid, shares: Sequence[float], repeats: int = 6, seed: int = 0
) -> dict[str, dict[float, float]]:
    """Error by method and share of the configurations used, all methods on the same random subsets.

    It is that of the configurations left out; for a share of 1, one at a time. At least three are used.
    """
    return {
        method.label: {
            share: cross_validated(method, grid, _complements(grid, share, repeats, seed)) for share in shares
        }
        for method in methods
    }


def _complements(grid: Grid, share: float, repeats: int, seed: int) -> list[np.ndarray]:
    """Masks of what is left out when a share of the configurations is used, for several random choices."""
    if share >= 1:
        return leave_one_out(grid)
    groups, random = orbits(grid), np.random.default_rng(seed)
    numbers = np.unique(groups[grid.under])
    used = int(np.clip(round(share * len(numbers)), min(3, len(numbers) - 1), len(numbers) - 1))
    return [~np.isin(groups, random.choice(numbers, used, replace=False)) for _ in range(repeats)]


def noise_estimate(grid: Grid) -> dict[str, float] | None:
    """What repetition would show, from upright feet, for which mirrored directions should mirror each other.

    "mirrored_difference": rms of the difference between a wrench and the image of its mirror direction's, over the
    rms of the wrenches, mean over the upright configurations; "noise" is that of one measurement, a factor of
    sqrt(2) less; "floor" is the same noise over the rms of the whole database: no model predicts data better.
    None where no upright configuration was measured.
    """
    upright = grid.under & (grid.poses[:, 1] == 0)
    if not upright.any():
        return None
    image = mirrored_directions(grid.kind, grid.twists, 0)
    measured = grid.wrenches[upright] * grid.component_weights
    mirrored = (grid.wrenches[upright][:, image] * mirror_signs_of(grid.kind, 0)) * grid.component_weights
    difference, size = (np.sqrt((x**2).mean(axis=(1, 2))) for x in (mirrored - measured, measured))
    overall = np.sqrt(((grid.wrenches[grid.under] * grid.component_weights) ** 2).mean())
    apart = image != np.arange(len(image))  # a direction that is its own image says nothing of the noise in fz
    single = np.sqrt((((mirrored - measured)[:, apart]) ** 2).mean() / 2)
    ratio = float((difference / size).mean())
    return {"mirrored_difference": ratio, "noise": float(ratio / np.sqrt(2)), "floor": float(single / overall)}


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
