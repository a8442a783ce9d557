"""How far measured wrenches are from the convex set that they are taken to span (zhu2019 IV.B).

A run that meets the least resistance the grains allow ends on the boundary of a convex set of wrenches. A point
measured inside the hull of the others contradicts that by its distance to the hull's surface. The paper's metric
is the worst of these distances in a configuration, each relative to the size of the wrench,

    concavity = max over i of  min over facets of (b - A w_i) / |w_i|,

leaving out wrenches of magnitude below 1. Its magnitudes mix newtons and newton metres, which makes a torque
weigh as much as the same number of newtons; with a `torque_length` torques are divided by it first, and the
metric no longer depends on units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from softground.experiments.database import TORQUE_LENGTH, WrenchDatabase

SMALL = 1.0
"""Wrenches below this magnitude are not judged (zhu2019)."""
FLAT = 1e-9
"""Extents below this share of the largest are none: a sphere, for one, meets no torque."""


@dataclass(frozen=True)
class Concavity:
    """The concavity of every configuration of a medium."""

    medium: str
    poses: np.ndarray  # (c, 3) depth m, tilt rad, heading rad
    values: np.ndarray  # (c,)

    @property
    def average(self) -> float:
        return float(self.values.mean())

    @property
    def worst(self) -> float:
        return float(self.values.max())


def concavity_of(database: WrenchDatabase, torque_length: float = 1.0) -> Concavity:
    """Concavity of the configurations below the surface. torque_length: m; 1 gives the paper's numbers."""
    poses, table = database.configurations(), database.table()
    under = poses[:, 0] > 0
    scale = np.where(database.components < 3, 1.0, 1 / torque_length)
    values = np.array([concavity(wrenches * scale) for wrenches in table[under]])
    return Concavity(database.medium, poses[under], values)


def report(database: WrenchDatabase) -> dict[str, Any]:
    """Concavity by configuration, average and worst: in the paper's form, and with torques made forces."""
    paper, scaled = concavity_of(database), concavity_of(database, TORQUE_LENGTH)
    rows = {
        f"{1000 * depth:.0f} mm, {tilt:.2f} rad": {"paper's form": float(one), "torque / 0.1 m": float(other)}
        for (depth, tilt, _), one, other in zip(paper.poses, paper.values, scaled.values, strict=True)
    }
    return {
        "medium": database.medium,
        "configurations": rows,
        "average": paper.average,
        "worst": paper.worst,
        "average, torque / 0.1 m": scaled.average,
        "worst, torque / 0.1 m": scaled.worst,
    }


def concavity(wrenches: np.ndarray) -> float:
    """The paper's metric for the wrenches (k, n) of one configuration: 0 where all lie on their hull."""
    size = np.linalg.norm(wrenches, axis=1)
    judged = size >= SMALL
    if not judged.any():
        return 0.0
    inside = depth_in_hull(wrenches)
    return float((inside[judged] / size[judged]).max())


def depth_in_hull(points: np.ndarray) -> np.ndarray:
    """Distance (k,) of points (k, n) to the surface of their convex hull, which may be flat."""
    points = _spanned(points)
    if points.shape[1] == 0 or len(points) <= points.shape[1] + 1:
        return np.zeros(len(points))
    if points.shape[1] == 1:
        return np.minimum(points - points.min(), points.max() - points)[:, 0]
    facets = ConvexHull(points).equations
    return np.maximum(-(points @ facets[:, :-1].T + facets[:, -1]).max(axis=1), 0.0)


def _spanned(points: np.ndarray) -> np.ndarray:
    """Coordinates of the points in the smallest flat space that holds them all."""
    centred = points - points.mean(axis=0)
    _, extent, axes = np.linalg.svd(centred, full_matrices=False)
    return centred @ axes[extent > FLAT * max(extent[0], 1e-300)].T
