"""Fewer and cheaper features for a learned medium: simulators evaluate it at every step, for every foot.

Over the range of its data a model is smooth: low powers of depth and lean follow it within a fraction of the noise.
"""

from __future__ import annotations

import numpy as np

from softground.experiments.learning.base import ONSET
from softground.experiments.learning.grid import component_weights, feature_rows
from softground.media.learned import Joined, LearnedSpace, Polynomials

#: Root mean square error allowed, over the size of the wrenches at each depth: a fifth of the noise in measured sand,
#: so that errors against data grow by less than 2 % of themselves.
TOLERANCE = 0.04
#: Numbers of powers of depth and of lean that are tried, in this order.
POWERS = ((3, 3), (3, 4), (4, 4), (4, 5), (4, 6), (5, 6), (5, 7))
#: Depths (of the deepest in the data) and leans (of the greatest) at which the polynomials are fitted.
DEPTHS = np.array([0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.05])
LEANS = np.linspace(-1.05, 1.05, 29)


def compressed(space: LearnedSpace, tolerance: float = TOLERANCE) -> LearnedSpace:
    """The same medium with few features, within `tolerance` (relative) over its data; as it is if none are saved.

    Below its data the wrench grows in proportion to depth, whatever it did before.
    """
    poses = _sampled_poses(space)
    coefficients = np.asarray(space.coefficients)
    wrenches = np.tensordot(feature_rows(space.features, poses), coefficients, 1)
    weight = 1 / _size_at_depth(wrenches * component_weights(space.kind), poses[:, 0])
    values = (wrenches * component_weights(space.kind)).reshape(len(poses), -1) * weight
    for depths, leans in POWERS:
        features = _polynomials(space, depths, leans)
        rows = feature_rows(features, poses) * weight
        if rows.shape[1] >= len(coefficients):
            break
        solution = np.linalg.lstsq(rows, values, rcond=1e-10)[0]
        if np.sqrt(((rows @ solution - values) ** 2).mean()) <= tolerance:
            table = solution.reshape(-1, *coefficients.shape[1:]) / component_weights(space.kind)
            return _with_features(space, features, table)
    return space


def _polynomials(space: LearnedSpace, depths: int, leans: int) -> Polynomials:
    deepest = float(space.max_depth)
    # Within a tenth of the deepest data the wrench is small and unmeasured: it need not set in faster.
    return Polynomials(
        depths=depths,
        leans=leans,
        spatial=space.kind == "spatial",
        max_depth=deepest,
        max_tilt=float(space.max_tilt),
        onset=min(ONSET, deepest / 10),
    )


def _with_features(space: LearnedSpace, features: Polynomials, coefficients: np.ndarray) -> LearnedSpace:
    return LearnedSpace(
        coefficients,
        Joined((features,)),
        space.foot,
        kind=space.kind,
        reference_height=space.reference_height,
        **{name: float(getattr(space, name)) for name in ("eps", "strength", "max_depth", "max_tilt")},
    )


def _sampled_poses(space: LearnedSpace) -> np.ndarray:
    """Poses (q, 3) over the range of the data, and a little beyond, where the clamps set in."""
    depths, steepest = float(space.max_depth) * DEPTHS, float(space.max_tilt)
    if space.kind == "planar":
        leans = [(share * steepest, 0.0) for share in LEANS]
    else:
        around = np.arange(12) * np.pi / 6
        leans = [(0.0, 0.0), *((share * steepest, turn) for share in (0.2, 0.4, 0.6, 0.8, 1.0) for turn in around)]
    return np.array([(depth, *lean) for depth in depths for lean in leans])


def _size_at_depth(wrenches: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Rms (q, 1) of the wrenches at each pose's depth."""
    _, where = np.unique(depth, return_inverse=True)
    mean = np.bincount(where, (wrenches**2).mean(axis=(1, 2))) / np.bincount(where)
    return np.sqrt(np.maximum(mean, 1e-12 * mean.max()))[where][:, None]
