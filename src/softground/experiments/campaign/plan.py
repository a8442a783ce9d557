"""What a campaign measures: a grid of poses, directions and seeds, as a list of runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.database import DECIMALS
from softground.experiments.protocol import Motion, Pose
from softground.experiments.symmetry import MIRRORS, mirrored_poses
from softground.media.resistive.directions import PLANAR_COUNTS, SPEED, SPIN, mirror_images, named_twists

DEEPEST, LONGEST = 1.0, 1000.0
"""Greatest depth (m) and duration (s) that are not taken for a slip of units."""
TRAVEL = 0.05
"""Way (m) at full speed of a run for which no duration is given: the foot's radius in zhu2019."""


@dataclass(frozen=True)
class Run:
    """One motion through the ground in one arrangement of grains."""

    pose: Pose
    direction: int
    seed: int
    motion: Motion

    @property
    def name(self) -> str:
        """Readable and unique in a campaign, such as depth0.060_tilt0.50_dir07_seed1."""
        heading = f"_heading{_digits(self.pose.heading, 2)}" if self.pose.heading else ""
        pose = f"depth{_digits(self.pose.depth, 3)}_tilt{_digits(self.pose.tilt, 2)}{heading}"
        return f"{pose}_dir{self.direction:02d}_seed{self.seed}"


def _digits(value: float, least: int) -> str:
    """The number to at least so many decimals, and to as many more as it has."""
    whole, decimals = f"{value:.{DECIMALS}f}".split(".")
    return f"{whole}.{decimals.rstrip('0').ljust(least, '0')}"


@dataclass(frozen=True)
class Grid:
    """Every depth with every tilt and heading, in every direction, with every seed."""

    depths: tuple[float, ...]  # m; depth 0 needs no run, its wrench is zero
    tilts: tuple[float, ...] = (0.0,)  # rad
    headings: tuple[float, ...] = (0.0,)  # rad, in space: the sides to which the foot leans
    directions: str = "26"  # a set of softground.media.resistive.directions.SETS
    speed: float = SPEED  # m/s
    spin: float = SPIN  # rad/s
    duration: float = TRAVEL / SPEED  # s
    seeds: tuple[int, ...] = (1,)
    mirror: bool = True  # leave out runs that follow from others by mirror symmetry; the foot must have it

    def __post_init__(self):
        for name in ("depths", "tilts", "headings"):
            values = tuple(round(float(value), DECIMALS) + 0.0 for value in getattr(self, name))
            _check_values(name, values)
            object.__setattr__(self, name, values)
        object.__setattr__(self, "depths", tuple(depth for depth in self.depths if depth))
        object.__setattr__(self, "seeds", tuple(self.seeds))
        _check_values("seeds", self.seeds)
        _check_range("depths", self.depths, 0.0, DEEPEST, "m, positive below the surface")
        _check_range("tilts", self.tilts, -np.pi / 2, np.pi / 2, "rad")
        _check_range("headings", self.headings, -3.1416, 3.1416, "rad")
        _check_range("duration", (self.duration,), 1e-3, LONGEST, "s")
        if self.kind == "planar" and self.headings != (0.0,):
            raise ExperimentError("headings need directions in space: use the set spatial or point")
        self.twists()  # checks the set's name and speeds

    @property
    def kind(self) -> str:
        """Kind of the wrenches: "planar" or "spatial"."""
        return "planar" if self.directions in map(str, PLANAR_COUNTS) else "spatial"

    def twists(self) -> np.ndarray:
        """Directions (k, 6), m/s and rad/s, at the sole's centre."""
        return named_twists(self.directions, self.speed, self.spin)

    def poses(self) -> list[Pose]:
        """In the order in which they are measured: see `coarse_first`."""
        upright = [Pose(depth) for depth in self.depths if 0.0 in self.tilts]
        leaning = [Pose(*pose) for pose in product(self.depths, [t for t in self.tilts if t], self.headings)]
        return coarse_first(upright + leaning)

    def runs(self) -> list[Run]:
        """Seed by seed, pose by pose, direction by direction."""
        twists = self.twists()
        wanted = {pose: self.measured_directions(pose) for pose in self.poses()}
        return [
            Run(pose, k, seed, Motion(pose, tuple(twists[k].tolist()), self.duration))
            for seed in self.seeds
            for pose, numbers in wanted.items()
            for k in numbers
        ]

    def measured_directions(self, pose: Pose) -> list[int]:
        """The first of every pair of directions that are each other's mirror images at this pose."""
        twists = self.twists()
        first = np.arange(len(twists))
        for axis in self.own_mirrors(pose):
            first = np.minimum(first, first[mirror_images(twists, axis)])
        return np.unique(first).tolist()

    def own_mirrors(self, pose: Pose) -> list[int]:
        """Axes normal to the mirror planes that leave the foot at this pose as it is."""
        if not self.mirror:
            return []
        this, rounding = np.array([[pose.depth, pose.tilt, pose.heading]]), 2 * 10.0**-DECIMALS
        images = {axis: mirrored_poses(self.kind, this, axis) for axis in MIRRORS[self.kind]}
        return [axis for axis, image in images.items() if np.allclose(image, this, rtol=0, atol=rounding)]

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def of_document(cls, document: dict[str, Any]) -> Grid:
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
        return cls(**values)


def _check_values(name: str, values: tuple) -> None:
    if not values:
        raise ExperimentError(f"{name} of a grid must not be empty: give at least one")
    if not np.isfinite(values).all():
        raise ExperimentError(f"{name} of a grid must be finite, got {list(values)}")
    if len(set(values)) < len(values):
        raise ExperimentError(f"{name} of a grid must differ, got {list(values)}: name each once")


def _check_range(name: str, values: tuple, low: float, high: float, unit: str) -> None:
    if not values:
        raise ExperimentError(f"{name} of a grid holds only zero, which needs no run: give others")
    for value in values:
        if not low <= value <= high:
            raise ExperimentError(f"{name} of a grid must lie in {low:.4g} .. {high:.4g} {unit}, got {value:g}")


def coarse_first(poses: Iterable[Pose]) -> list[Pose]:
    """Poses in an order that covers the grid coarsely, then ever more finely.

    The next is the one farthest from all that are known, those at the surface included, so that a campaign that
    is interrupted has measured what tells most. Depths and tilts count in shares of their greatest; among equals
    the deeper and the more upright comes first.
    """
    left = sorted(poses, key=lambda pose: (-pose.depth, abs(pose.tilt), pose.tilt, pose.heading))
    depth, tilt, heading = np.array([[pose.depth, pose.tilt, pose.heading] for pose in left]).T
    lean = tilt / (np.abs(tilt).max() or 1.0)
    place = np.stack([depth / depth.max(), lean * np.cos(heading), lean * np.sin(heading)], axis=1)
    distance, order = place[:, 0].copy(), []
    for _ in left:
        chosen = int(np.argmax(distance.round(9)))
        order.append(left[chosen])
        distance = np.minimum(distance, np.linalg.norm(place - place[chosen], axis=1))
        distance[chosen] = -np.inf
    return order
