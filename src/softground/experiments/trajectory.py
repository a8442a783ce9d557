"""Where a foot shall be over time: corners joined by straight lines, in the x-z plane.

What a measuring rig drives a foot along and what a simulated foot is told to follow, so that both can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.errors import ExperimentError


@dataclass(frozen=True)
class FootTrajectory:
    """Poses of the sole's centre at increasing times; between them it moves at constant velocity."""

    time: np.ndarray  # (n,) s, from 0
    x: np.ndarray  # (n,) m
    depth: np.ndarray  # (n,) m, positive below the surface
    pitch: np.ndarray  # (n,) rad, about +y

    def __post_init__(self):
        for name in ("time", "x", "depth", "pitch"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        shapes = {getattr(self, name).shape for name in ("time", "x", "depth", "pitch")}
        if len(shapes) != 1 or self.time.ndim != 1 or len(self.time) < 2:
            raise ExperimentError(f"a trajectory needs equally many times, x, depths and pitches, got {sorted(shapes)}")
        if not np.isfinite(self.corners()).all():
            raise ExperimentError("a trajectory must be finite: look for NaN in its corners")
        if self.time[0] != 0 or not (np.diff(self.time) > 0).all():
            raise ExperimentError(f"the times of a trajectory must start at 0 and increase, got {self.time}")

    @property
    def duration(self) -> float:
        return float(self.time[-1])

    def corners(self) -> np.ndarray:
        """(n, 3): x (m), height z = -depth (m), pitch (rad)."""
        return np.stack([self.x, -self.depth, self.pitch], axis=1)

    def at(self, time) -> np.ndarray:
        """(..., 3): x (m), height z (m), pitch (rad) at times (s); held before the start and after the end."""
        return np.stack([np.interp(time, self.time, column) for column in self.corners().T], axis=-1)

    def velocities(self) -> np.ndarray:
        """(n - 1, 3) m/s, m/s, rad/s on each straight line."""
        return np.diff(self.corners(), axis=0) / np.diff(self.time)[:, None]
