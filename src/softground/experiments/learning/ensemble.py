"""Ensembles of learned media: what a model got wrong where it was not shown the answer, kept as what it may get wrong.

For every bed and every part of the configurations, a model of the other beds and the other configurations predicts the
wrench in every direction; what was measured differs by a pattern over directions, a member of the ensemble
(`media.ensemble`). So members hold the noise of beds and the guess between poses. Mirror images of patterns count as
well, as the ground knows no side.

What maximum dissipation does not explain is measured beside it: of the predicted set the law picks the most dissipative
wrench for each measured twist, and that differs from what was measured by more than the set does (`Trust.law_error`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.database import DECIMALS, WrenchDatabase
from softground.experiments.learning.base import Method
from softground.experiments.learning.grid import Grid, grid_of
from softground.experiments.learning.physics import DEPTH_OFFSET, Physics
from softground.experiments.learning.validation import folds, normalised_error
from softground.experiments.protocol import Pose
from softground.experiments.symmetry import symmetries
from softground.media.base import COMPONENTS
from softground.media.ensemble import Ensemble
from softground.media.learned import LearnedSpace
from softground.runs.spread import BAND

MEMBERS = 100
LEAST = 5
"""Configurations below the surface from which an ensemble can be made: parts of parts are left out."""


@dataclass(frozen=True)
class Trust:
    """How far a learned medium can be trusted, measured where it was not shown the answer."""

    coverage: float  # share of left-out wrench components inside the band of an ensemble that was not shown them
    band: float  # share that should be
    width: float  # of the band, rms over that of the wrenches
    error: float  # normalised error of predicted wrenches, bed and configuration left out
    law_error: float  # the same of what maximum dissipation makes of the predicted set
    bed_error: float | None  # normalised error of the fit of the other beds on a bed
    bed_noise: float | None  # normalised difference of a bed from the mean of the others: no fit can be better


def beds_of(databases: Sequence[WrenchDatabase]) -> list[Grid]:
    """Grids of the same foot in several beds, at the poses that all of them have; ExperimentError where they do not
    belong together."""
    if len(media := {database.medium: None for database in databases}) > 1:
        raise ExperimentError(
            f"beds of one ensemble must be of one medium, these are of {' and '.join(media)}: learn each by itself, or "
            "name them alike in their headers"
        )
    grids = [grid_of(database) for database in databases]
    first = grids[0]
    for grid in grids[1:]:
        for name in ("foot", "kind", "reference_height"):
            if getattr(grid, name) != getattr(first, name):
                raise ExperimentError(
                    f"beds of one ensemble must have been measured alike: {name} is {getattr(first, name)} in the "
                    f"first and {getattr(grid, name)} in another; learn each by itself"
                )
        if grid.twists.shape != first.twists.shape or not np.allclose(grid.twists, first.twists):
            raise ExperimentError("beds of one ensemble must have been measured in the same directions")
    keys = [[tuple(pose) for pose in grid.poses.round(DECIMALS)] for grid in grids]
    shared = sorted(set.intersection(*map(set, keys)))
    if len(shared) < 5:
        raise ExperimentError(f"the beds share {len(shared)} poses, those at the surface included: five are needed")
    return [grid.subset(np.array([key.index(pose) for pose in shared])) for grid, key in zip(grids, keys, strict=True)]


def mean_bed(beds: Sequence[Grid]) -> Grid:
    """The mean of beds at the same poses."""
    return replace(beds[0], wrenches=np.mean([bed.wrenches for bed in beds], axis=0))


def ensemble(
    medium: LearnedSpace, beds: Sequence[Grid], method: Method | None = None, members: int = MEMBERS, seed: int = 0
) -> Ensemble:
    """The medium, learned from the mean of the beds, with errors on left-out data: `members` of them, drawn."""
    errors = left_out_errors(beds, method or Physics())
    drawn = np.random.default_rng(seed).permutation(len(errors))[:members]
    return Ensemble(medium, errors[drawn], _offset(beds[0]))


def left_out_errors(beds: Sequence[Grid], method: Method, count: int = 5) -> np.ndarray:
    """Errors (e, k, n) of predicted wrenches over depth + offset, mirror images included."""
    found = []
    for number, bed in enumerate(beds):
        others = [one for k, one in enumerate(beds) if k != number] or [bed]
        for mask in folds(bed, count):
            mask = mask & bed.under
            known = mean_bed(others).subset(~mask)
            depth = bed.depth[mask][:, None, None] + _offset(bed)
            found.append((bed.wrenches[mask] - method.fit(known).predict(bed.poses[mask])) / depth)
    errors = np.concatenate(found)
    for symmetry in symmetries(beds[0].kind, beds[0].foot, beds[0].twists):
        errors = np.concatenate([errors, symmetry.wrenches(errors)])
    return errors


def law_wrenches(vertices: np.ndarray, bed: Grid, poses: np.ndarray) -> np.ndarray:
    """For each of the bed's twists the most dissipative (q, k, n) of vertices (q, v, n) at poses (q, 3) and of zero."""
    power = -np.einsum("qvn,qkn->qkv", vertices, twists_at_reference(bed, poses))
    best = power.argmax(-1)
    chosen = np.take_along_axis(vertices[:, None], best[..., None, None], 2)[:, :, 0]
    return np.where(np.take_along_axis(power, best[..., None], -1) > 0, chosen, 0.0)


def twists_at_reference(bed: Grid, poses: np.ndarray) -> np.ndarray:
    """The bed's twists (q, k, n) at poses (q, 3), where wrenches are taken; they are given at the sole's centre."""
    twists, component = np.zeros((len(bed.twists), 6)), COMPONENTS[bed.kind]
    twists[:, component] = bed.twists
    arms = bed.reference_height * np.array([Pose(*pose).rotation[:, 2] for pose in poses])
    linear = twists[:, :3] + np.cross(twists[:, 3:], arms[:, None])
    full = np.concatenate([linear, np.broadcast_to(twists[:, 3:], linear.shape)], axis=-1)
    return full[..., component]


def trust(beds: Sequence[Grid], method: Method | None = None) -> Trust:
    """Coverage of ensembles on what they were not shown, and errors between beds.

    With several beds each is left out in turn, with every part of its configurations; with one, parts of its
    configurations are.
    """
    method = method or Physics()
    bands, predictions, laws, truth = [], [], [], []
    weights = beds[0].component_weights
    for number, bed in enumerate(beds):
        others = [one for k, one in enumerate(beds) if k != number] or [bed]
        for mask in folds(bed):
            mask = mask & bed.under
            shown = [one.subset(~mask) for one in others]
            band = np.quantile(left_out_errors(shown, method), [(1 - BAND) / 2, (1 + BAND) / 2], axis=0)
            bands.append((bed.depth[mask][:, None, None] + _offset(bed)) * band[:, None])
            predictions.append(method.fit(mean_bed(shown)).predict(bed.poses[mask]))
            laws.append(law_wrenches(predictions[-1], bed, bed.poses[mask]))
            truth.append(bed.wrenches[mask])
    (low, high), predicted = np.concatenate(bands, axis=1), np.concatenate(predictions)
    measured, law = np.concatenate(truth), np.concatenate(laws)
    bed_error, bed_noise = between_beds(beds, method) if len(beds) > 1 else (None, None)
    return Trust(
        coverage=float(((measured >= predicted + low) & (measured <= predicted + high)).mean()),
        band=BAND,
        width=float(_rms((high - low) * weights) / _rms(measured * weights)),
        error=normalised_error(predicted, measured, weights),
        law_error=normalised_error(law, measured, weights),
        bed_error=bed_error,
        bed_noise=bed_noise,
    )


def between_beds(beds: Sequence[Grid], method: Method) -> tuple[float, float]:
    """Normalised errors on a bed, each in turn: of a fit of the others, and of their mean itself."""
    fitted, means, truth = [], [], []
    for number, bed in enumerate(beds):
        others = mean_bed([one for k, one in enumerate(beds) if k != number])
        fitted.append(method.fit(others).predict(bed.poses[bed.under]))
        means.append(others.wrenches[bed.under])
        truth.append(bed.wrenches[bed.under])
    parts = (np.concatenate(part) for part in (fitted, means, truth))
    predicted, mean, measured = parts
    weights = beds[0].component_weights
    return normalised_error(predicted, measured, weights), normalised_error(mean, measured, weights)


def _offset(grid: Grid) -> float:
    return DEPTH_OFFSET * grid.foot.half_width


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))
