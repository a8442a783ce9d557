"""Wrench databases from tables of others: the plain table published with zhu2019.

Its columns are depth_m (negative below the surface), tilt_rad, direction, fx_n, fz_n, ty_nm. Directions are
numbered as in `softground.media.resistive.directions`; the foot was turned about its sole's centre.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softground.errors import ExperimentError, FileFormatError
from softground.experiments.database import MEASURED, ZERO, WrenchDatabase
from softground.experiments.database_checks import check_complete
from softground.experiments.database_file import (
    errors_naming,
    is_database,
    read_columns,
    read_database,
    read_lines,
    whole_numbers,
)
from softground.media.resistive.directions import PLANAR_COUNTS, directions
from softground.robots.shapes import Cylinder, Shape

ZHU2019_COLUMNS = ["depth_m", "tilt_rad", "direction", "fx_n", "fz_n", "ty_nm"]
#: Foot and reference point (m up its axis) of zhu2019's physical measurements.
ZHU2019_FOOT, ZHU2019_REFERENCE = Cylinder(radius=0.05, length=0.15), 0.1572


def from_zhu2019(
    path: str | Path,
    *,
    medium: str = "",
    foot: Shape = ZHU2019_FOOT,
    reference_height: float = ZHU2019_REFERENCE,
    provenance: str = "",
    partial: bool = False,
) -> WrenchDatabase:
    """Database of a plain table of zhu2019; `medium` is the file's name unless given.

    reference_height: of the point about which torques were taken, m.
    partial: allow configurations that lack directions.
    """
    path = Path(path)
    lines = read_lines(path)
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    if start == len(lines):
        raise FileFormatError(f"{path} has no rows: its columns must be {','.join(ZHU2019_COLUMNS)}")
    columns, numbers = read_columns(path, lines, start, ZHU2019_COLUMNS)
    direction = whole_numbers(path, columns["direction"], numbers)
    _check_depth(path, columns["depth_m"], numbers)
    at_surface = columns["depth_m"] == 0
    with errors_naming(path):
        database = WrenchDatabase(
            medium=medium or path.stem,
            foot=foot,
            reference_height=reference_height,
            kind="planar",
            provenance=provenance or f"plain table {path.name}",
            depth=-columns["depth_m"] + 0.0,
            tilt=columns["tilt_rad"],
            heading=np.zeros(len(numbers)),
            direction=direction,
            twist=_twists(path, direction, numbers),
            wrench=np.stack([columns[name] for name in ZHU2019_COLUMNS[3:]], axis=1),
            source=tuple(np.where(at_surface, ZERO, MEASURED).tolist()),
            lines=np.array(numbers),
        )
        if not partial:
            check_complete(database)
    return database


def _check_depth(path: Path, depth: np.ndarray, numbers: list[int]) -> None:
    wrong = np.flatnonzero(depth > 0)
    if len(wrong):
        row = int(wrong[0])
        raise ExperimentError(
            f"{path}, line {numbers[row]}: depth_m is {depth[row]:g}, and in tables of zhu2019 it is negative below "
            "the surface; change the sign"
        )


def _twists(path: Path, direction: np.ndarray, numbers: list[int]) -> np.ndarray:
    """Twists (r, 3) of the numbered directions, of the smallest set that has them all."""
    count = next((count for count in PLANAR_COUNTS if direction.max() < count), None)
    wrong = np.flatnonzero((direction < 0) | (direction >= (count or PLANAR_COUNTS[-1])))
    if count is None or len(wrong):
        row = int(wrong[0])
        raise ExperimentError(
            f"{path}, line {numbers[row]}: direction {direction[row]} is not one of 0 to {PLANAR_COUNTS[-1] - 1}"
        )
    return directions(count)[direction]


def read_any(path: str | Path) -> WrenchDatabase:
    """A database from a file of ours or from a plain table of zhu2019, whichever it is."""
    lines = read_lines(Path(path))
    return read_database(path) if is_database(lines) else from_zhu2019(path)
