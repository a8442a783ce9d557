"""Plates and wheels pushed straight down into sand: force at depths past first touch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from softground.media.base import Medium
from softground.robots.shapes import Cylinder, HalfCylinder, Shape
from softground.validation.base import Measurements, read_csv
from softground.validation.steady import steady_wrenches

DEPTHS = np.array([0.005, 0.01, 0.015, 0.02, 0.03])
"""Depths past the one where the force is 1 N, at which trials are compared, m."""
FIRST = 1.0
"""Force from which on depth is counted, N."""
SPEED = 0.005  # m/s
HEIGHT = 0.05
"""Length of the body above a plate, m: not stated, and hardly felt."""


@dataclass(frozen=True)
class Plates(Measurements):
    """Means over trials of the force (N) on bodies at `depth` (m) past where it is 1 N."""

    name: ClassVar[str] = "plates"
    columns: ClassVar[tuple[str, ...]] = ("log_force",)
    worth: ClassVar[tuple[float, ...]] = (0.1,)  # relative

    body: np.ndarray  # (c,) index into `shapes`
    depth: np.ndarray  # (c,) m
    force: np.ndarray  # (c,) N
    deviation: np.ndarray  # (c,) relative standard deviation between trials
    shapes: tuple[Shape, ...]

    @classmethod
    def read(cls, path: str | Path, wheel: tuple[float, float] = (0.058, 0.050)) -> Plates:
        """Of a table of trials (columns as `plate_in_sand.csv`, docs/validation.md); wheel: radius and width, m."""
        numbers = ["diameter_m", "depth_past_1n_corrected_m", "force_n"]
        words = ["trial", "shape", "diameter_m"]
        table = read_csv(Path(path), [name for name in numbers if name != "diameter_m"], words)
        kinds: dict[tuple[str, str], list[np.ndarray]] = {}
        for trial in np.unique(table["trial"]):
            rows = table["trial"] == trial
            kind = (table["shape"][rows][0], table["diameter_m"][rows][0])
            depth, force = table["depth_past_1n_corrected_m"][rows], table["force_n"][rows]
            order = np.argsort(depth)
            kinds.setdefault(kind, []).append(np.interp(DEPTHS, depth[order], force[order], left=np.nan, right=np.nan))
        shapes, parts = [], []
        for index, ((shape, diameter), trials) in enumerate(kinds.items()):
            is_plate = shape == "plate"
            shapes.append(Cylinder(float(diameter) / 2, HEIGHT) if is_plate else HalfCylinder(*wheel))
            values = np.array(trials)
            there = np.isfinite(values).sum(0) >= 2
            mean, deviation = np.nanmean(values[:, there], axis=0), np.nanstd(values[:, there], axis=0, ddof=1)
            parts.append((np.full(there.sum(), index), DEPTHS[there], mean, deviation / mean))
        return cls(*map(np.concatenate, zip(*parts, strict=True)), shapes=tuple(shapes))

    @property
    def measured(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.log(self.force)[:, None]

    def spread(self) -> np.ndarray:
        return np.array([np.sqrt((self.deviation**2).mean())])

    def rows(self, which: np.ndarray) -> Plates:
        return replace(self, **{name: getattr(self, name)[which] for name in ("body", "depth", "force", "deviation")})

    def of(self, kind: type[Shape]) -> Plates:
        """The bodies of one kind of shape."""
        return self.rows(np.array([isinstance(self.shapes[i], kind) for i in self.body]))

    def predict(self, medium: Medium) -> np.ndarray:
        found = np.zeros(len(self.body))
        grid = np.linspace(0, DEPTHS.max() + 0.01, 161)[1:]
        for index in np.unique(self.body):
            lift = _lift(medium, self.shapes[index], grid)
            touch = np.interp(FIRST, lift, grid)  # depth where the force is 1 N
            mine = self.body == index
            found[mine] = np.interp(self.depth[mine] + touch, grid, lift)
        return np.log(np.maximum(found, 1e-3))[:, None]


def _lift(medium: Medium, shape: Shape, depths: np.ndarray) -> np.ndarray:
    """Upward force at depths on a shape that is pushed straight down, N."""
    down = np.zeros((len(depths), 6))
    down[:, 2] = -SPEED
    upright = np.broadcast_to(np.eye(3), (len(depths), 3, 3))
    return steady_wrenches(medium, shape, False, depths, upright, down)[:, 2]
