"""The wrench database: what the ground did to one foot, at many poses, moved in many directions.

A configuration is a pose (depth, tilt and, in space, the heading of the lean). At each, the foot was moved in
every one of a set of numbered directions, and the wrench was read as the target pose was passed.

All quantities are in the surface frame (z along the outward normal). Twists are at the sole's centre; wrenches
are on the foot, about the reference point on its axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from softground.experiments.database_checks import check_complete, check_rows
from softground.media.base import COMPONENTS
from softground.robots.shapes import Shape

KINDS = ("planar", "spatial")
#: Decimals to which poses are compared: micrometres and microradians.
DECIMALS = 6
#: Length (m) by which torques are divided when they are compared with forces: about the size of a foot.
TORQUE_LENGTH = 0.1
#: Where a row comes from, unless it is the name of a run.
MEASURED, MIRRORED, ZERO = "measured", "mirrored", "zero"


@dataclass(frozen=True)
class WrenchDatabase:
    """Rows of measured wrenches. Checked when made: an ExperimentError names the row that is wrong."""

    medium: str
    foot: Shape
    reference_height: float  # m up the foot's axis from the sole's centre: where torques are taken
    kind: str  # "planar": x, z, pitch; "spatial": all six components
    provenance: str
    depth: np.ndarray  # (r,) m, positive below the surface
    tilt: np.ndarray  # (r,) rad
    heading: np.ndarray  # (r,) rad, from x towards y; zero in the plane
    direction: np.ndarray  # (r,) number of the direction
    twist: np.ndarray  # (r, n) m/s, rad/s
    wrench: np.ndarray  # (r, n) N, N m
    source: tuple[str, ...]  # per row: "measured", "mirrored", "zero", or the name of a run
    lines: np.ndarray | None = field(default=None, repr=False, compare=False)  # (r,) line in the file it came from

    def __post_init__(self):
        for name in ("depth", "tilt", "heading", "twist", "wrench"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        object.__setattr__(self, "direction", np.asarray(self.direction, dtype=int))
        object.__setattr__(self, "source", tuple(self.source))
        check_rows(self)

    def __len__(self) -> int:
        return len(self.depth)

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    @property
    def components(self) -> np.ndarray:
        """Which of the six components of twists and wrenches the rows hold."""
        return COMPONENTS[self.kind]

    def poses(self) -> np.ndarray:
        """Depth, tilt and heading (r, 3) of every row, rounded so that equal poses are equal."""
        return np.stack([self.depth, self.tilt, self.heading], axis=1).round(DECIMALS) + 0.0

    def configurations(self) -> np.ndarray:
        """Distinct poses (c, 3): depth (m), tilt (rad), heading (rad), sorted."""
        return np.unique(self.poses(), axis=0)

    def directions(self) -> np.ndarray:
        """Distinct direction numbers (k,), sorted."""
        return np.unique(self.direction)

    def twists(self) -> np.ndarray:
        """The twist (k, n) of each of `directions()`."""
        return self.twist[np.unique(self.direction, return_index=True)[1]]

    def table(self) -> np.ndarray:
        """Wrenches (configuration, direction, n); ExperimentError where a direction is missing."""
        check_complete(self)
        configuration = np.unique(self.poses(), axis=0, return_inverse=True)[1]
        number = np.unique(self.direction, return_inverse=True)[1]
        table = np.empty((configuration.max() + 1, number.max() + 1, self.wrench.shape[1]))
        table[configuration.reshape(-1), number] = self.wrench
        return table

    def select(self, rows: np.ndarray) -> WrenchDatabase:
        """Some of the rows, by mask or number."""
        rows = np.arange(len(self))[rows]
        arrays = {name: getattr(self, name)[rows] for name in ROW_ARRAYS}
        lines = None if self.lines is None else self.lines[rows]
        return replace(self, **arrays, source=tuple(self.source[i] for i in rows), lines=lines)

    def extended(self, source: str, **rows: np.ndarray) -> WrenchDatabase:
        """With further rows of one source: `depth`, `tilt`, `heading`, `direction`, `twist`, `wrench`."""
        arrays = {name: np.concatenate([getattr(self, name), rows[name]]) for name in ROW_ARRAYS}
        added = (source,) * len(rows["depth"])
        return replace(self, **arrays, source=(*self.source, *added), lines=None)


ROW_ARRAYS = ("depth", "tilt", "heading", "direction", "twist", "wrench")
