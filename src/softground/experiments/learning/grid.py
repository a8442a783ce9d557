"""A wrench database as learning sees it: poses times directions; and the features of feet at many poses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np

from softground.errors import ExperimentError
from softground.experiments.database import DECIMALS, MIRRORED, TORQUE_LENGTH, WrenchDatabase
from softground.experiments.protocol import Pose
from softground.experiments.symmetry import symmetries, with_zero_depth
from softground.media.base import FootInGround
from softground.robots.shapes import Shape


@dataclass(frozen=True)
class Grid:
    """Wrenches in every direction at every configuration."""

    kind: str
    foot: Shape
    reference_height: float  # m
    poses: np.ndarray  # (c, 3) depth m, tilt rad, heading rad
    twists: np.ndarray  # (k, n) m/s, rad/s
    wrenches: np.ndarray  # (c, k, n) N, N m

    @property
    def depth(self) -> np.ndarray:
        return self.poses[:, 0]

    @property
    def under(self) -> np.ndarray:
        """Which configurations (c,) are below the surface: at the surface the wrench is zero by definition."""
        return self.depth > 0

    @property
    def lean(self) -> np.ndarray:
        """Tilt (c, 1) in the plane, horizontal components of the foot's axis (c, 2) in space."""
        return lean_of(self.kind, self.poses)

    @property
    def inputs(self) -> np.ndarray:
        """Inputs of kernels: depth and lean."""
        return np.column_stack([self.depth, self.lean])

    @property
    def component_weights(self) -> np.ndarray:
        """Factors (n,) that make forces of torques, so that all components are in N."""
        return component_weights(self.kind)

    def subset(self, chosen: np.ndarray) -> Grid:
        """Some of the configurations, by mask or number."""
        return replace(self, poses=self.poses[chosen], wrenches=self.wrenches[chosen])


def grid_of(database: WrenchDatabase) -> Grid:
    """The grid of a database, zero rows at zero depth added, mirror images left out: they add nothing."""
    original = np.array(database.source) != MIRRORED
    mirrored_only = _without(database.poses(), original)
    database = with_zero_depth(database.select(~mirrored_only))
    grid = Grid(
        kind=database.kind,
        foot=database.foot,
        reference_height=database.reference_height,
        poses=database.configurations(),
        twists=database.twists(),
        wrenches=database.table(),
    )
    if grid.under.sum() < 2:
        raise ExperimentError(
            "the database has only one configuration below the surface: learning how wrenches change with depth and "
            "tilt needs at least two, and five or more to be of use; measure more, or scale a named medium instead "
            "(softground.media.sand(strength=...))"
        )
    return grid


def _without(poses: np.ndarray, original: np.ndarray) -> np.ndarray:
    """Rows (r,) of configurations of which no row is original."""
    group = np.unique(poses, axis=0, return_inverse=True)[1].reshape(-1)
    return (np.bincount(group, original) == 0)[group]


def lean_of(kind: str, poses: np.ndarray) -> np.ndarray:
    """Tilt (c, 1) in the plane, horizontal components of the foot's axis (c, 2) in space."""
    _, tilt, heading = poses.T
    if kind == "planar":
        return tilt[:, None]
    return np.sin(tilt)[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)


def component_weights(kind: str) -> np.ndarray:
    return np.array([1.0, 1.0, 1 / TORQUE_LENGTH] if kind == "planar" else [1.0] * 3 + [1 / TORQUE_LENGTH] * 3)


def with_mirror_images(grid: Grid) -> Grid:
    """With the images of all configurations; those that coincide (upright feet, for one) are averaged.

    What is fitted to this is symmetric to the last digit, and at zero tilt the noise of two directions averages.
    """
    for symmetry in symmetries(grid.kind, grid.foot, grid.twists):
        images = symmetry.wrenches(grid.wrenches)
        imaged = _same_headings(symmetry.poses(grid.poses), grid.poses)
        poses = np.concatenate([grid.poses, imaged]).round(DECIMALS) + 0.0
        poses, group = np.unique(poses, axis=0, return_inverse=True)
        total = np.zeros((len(poses), *images.shape[1:]))
        np.add.at(total, group.reshape(-1), np.concatenate([grid.wrenches, images]))
        grid = replace(grid, poses=poses, wrenches=total / np.bincount(group.reshape(-1))[:, None, None])
    return grid


def _same_headings(poses: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Poses (c, 3) with known headings in place of those that differ by rounding."""
    away = np.abs(poses[:, None, 2] - known[None, :, 2])
    heading = np.where(away.min(axis=1) < 5 * 10.0**-DECIMALS, known[away.argmin(axis=1), 2], poses[:, 2])
    return np.column_stack([poses[:, :2], heading])


def orbits(grid: Grid) -> np.ndarray:
    """Number (c,) shared by configurations that are images of each other: they stand and fall together."""
    keys = grid.poses.copy()
    keys[:, 1] = np.abs(keys[:, 1])
    if grid.kind == "spatial":
        sides = np.abs([np.sin(keys[:, 2]), np.cos(keys[:, 2])])
        sides = np.sort(sides, axis=0) if grid.foot.is_round else sides
        keys[:, 2] = np.arctan2(*sides) * (keys[:, 1] > 0)
    return np.unique(keys.round(DECIMALS), axis=0, return_inverse=True)[1].reshape(-1)


#: Poses evaluated at once: one size, so that features are compiled once.
CHUNK = 64


def feature_rows(features: Callable, poses: np.ndarray) -> np.ndarray:
    """Features (q, b) of feet at poses (q, 3) = (depth, tilt, heading)."""
    padded = np.concatenate([poses, np.zeros((-len(poses) % CHUNK, 3))])
    chunks = [np.asarray(_evaluated(features, feet_at(chunk))) for chunk in padded.reshape(-1, CHUNK, 3)]
    return np.concatenate(chunks).astype(float)[: len(poses)]


@jax.jit
def _evaluated(features: Callable, feet: FootInGround):
    return jax.vmap(features)(feet)


def feet_at(poses: np.ndarray) -> FootInGround:
    """Feet (leading axis) at poses (q, 3) in level ground."""
    count = len(poses)
    return FootInGround(
        depth=poses[:, 0],
        position=np.zeros((count, 3)),
        rotation=np.stack([Pose(*pose).rotation for pose in poses]),
        surface=np.broadcast_to(np.eye(3), (count, 3, 3)),
    )
