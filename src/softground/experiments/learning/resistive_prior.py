"""What resistive force theory says of a foot, in the directions of a database: physics before any data.

The wrenches in the generic medium (scale 1) are fitted once with the features of `Resistive` media, so that the
prior is smooth, vanishes at the surface and grows for ever, and is cheap to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from softground.experiments.learning.grid import Grid, component_weights
from softground.experiments.learning.poses import feature_rows
from softground.experiments.protocol import Pose, moved
from softground.media.base import COMPONENTS
from softground.media.resistive import surface_of, wrenches
from softground.media.resistive.medium import (
    BALL_DEPTHS,
    DEPTHS,
    PLANAR_TILT,
    SPATIAL_TILT,
    BallDepth,
    Sinking,
)
from softground.robots.shapes import Shape

#: Stress laws that serve each kind. Where two do, they disagree by about as much as either does with data.
LAWS = {"planar": ("plane", "3d"), "spatial": ("3d",)}


@dataclass(frozen=True)
class ResistivePrior:
    """Generic wrenches by each stress law, as features and their coefficients."""

    features: Callable
    coefficients: np.ndarray  # (law, b, k, n)

    def at(self, poses: np.ndarray) -> np.ndarray:
        """Generic wrenches (law, q, k, n) at poses (q, 3)."""
        return np.einsum("qb,lbkn->lqkn", feature_rows(self.features, poses), self.coefficients)


def resistive_prior(grid: Grid) -> ResistivePrior:
    """The prior of a grid's foot, directions and reference point."""
    return _prior(grid.foot, grid.kind, grid.reference_height, tuple(map(tuple, grid.twists.tolist())))


@lru_cache(maxsize=16)
def _prior(foot: Shape, kind: str, reference_height: float, twists: tuple) -> ResistivePrior:
    poses = _sampled_poses(foot, kind)
    features = _features(foot, kind)
    design = feature_rows(features, poses)
    fitted = []
    for law in LAWS[kind]:
        values = _wrenches(foot, kind, law, poses, np.array(twists), reference_height)
        # Errors count relative to the size of the wrenches at a depth, so that shallow feet count as much.
        weight = 1 / _size_at_depth(values * component_weights(kind), poses[:, 0])[:, None]
        flat = weight * values.reshape(len(poses), -1)
        solution = np.linalg.lstsq(weight * design, flat, rcond=1e-10)[0]
        fitted.append(solution.reshape(-1, *values.shape[1:]))
    return ResistivePrior(features, np.stack(fitted))


def _features(foot: Shape, kind: str) -> Callable:
    if foot.is_ball:
        return BallDepth(foot.clearance)
    planar = kind == "planar"
    return Sinking(
        powers=2, harmonics=4, spatial=not planar, max_tilt=PLANAR_TILT if planar else np.pi, onset=DEPTHS[0]
    )


def _sampled_poses(foot: Shape, kind: str) -> np.ndarray:
    """Poses (q, 3) at which the generic wrenches are evaluated."""
    if foot.is_ball:
        return np.stack([foot.clearance * BALL_DEPTHS, *np.zeros((2, len(BALL_DEPTHS)))], axis=1)
    if kind == "planar":
        leans = [(tilt, 0.0) for tilt in np.linspace(-PLANAR_TILT, PLANAR_TILT, 25)]
    else:
        around = np.arange(8) * np.pi / 4
        leans = [(0.0, 0.0), *((share * SPATIAL_TILT, turn) for share in (0.25, 0.5, 0.75, 1.0) for turn in around)]
    return np.array([(depth, *lean) for lean in leans for depth in DEPTHS])


def _wrenches(foot: Shape, kind: str, law: str, poses, twists, reference_height: float) -> np.ndarray:
    """Generic wrenches (q, k, n) about the reference point."""
    full = np.zeros((len(twists), 6))
    full[:, COMPONENTS[kind]] = twists
    surface = surface_of(foot)
    out = np.empty((len(poses), len(twists), 6))
    leans, group = np.unique(poses[:, 1:], axis=0, return_inverse=True)
    for index, (tilt, heading) in enumerate(leans):
        rows = np.flatnonzero(group.reshape(-1) == index)
        turn = Pose(0.0, tilt, heading).rotation
        here = wrenches(surface, law, turn[None], poses[rows, 0], full, foot.clearance)[0]
        out[rows] = moved(here, reference_height * turn[:, 2])
    return out[..., COMPONENTS[kind]]


def _size_at_depth(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Greatest wrench at each pose's depth, rms over the poses of that depth (q,)."""
    greatest = np.linalg.norm(values, axis=-1).max(axis=1)
    _, where = np.unique(depth, return_inverse=True)
    return np.sqrt(np.bincount(where, greatest**2) / np.bincount(where))[where]
