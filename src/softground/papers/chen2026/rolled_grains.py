"""What a round foot meets that rolls, slips or spins through grains simulated one by one: the table that is shipped.

Beds 1 and 2 are for identification, 4 and 5 for judging. The foot is the biped's. The grains are `Grains()`, so
large that five lie side by side under the foot; half as large, in one bed and some of the rolls, they are a check.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from jaxtyping import Float

from softground.errors import FileFormatError
from softground.experiments.rigs.dem.rolling import Roll, Rolled
from softground.robots import HalfCylinder
from softground.whole_file import write_whole

SHIPPED = Path(str(files("softground") / "papers" / "data" / "dem_rolls.csv"))
COLUMNS = "grain_mm,bed,roll,ahead_mm,depth_mm,fx_n,fz_n,ty_nm"
FOOT = HalfCylinder(0.04, 0.08)
FIT, JUDGE = (1, 2), (4, 5)  # beds
COARSE, FINE = 0.008, 0.004  # m, radii of grains
OBLIQUE, FLAT = np.deg2rad(30.0), np.deg2rad(60.0)
DEPTH, LEVEL_DEPTH, LEVEL = 0.03, 0.02, 0.06  # m
ROLLS: dict[str, Roll] = {
    "straight down": Roll(depth=DEPTH),
    "30 deg ahead, slipping": Roll(OBLIQUE, 0.0, DEPTH),
    "30 deg ahead, rolling": Roll(OBLIQUE, 1.0, DEPTH),
    "60 deg ahead, slipping": Roll(FLAT, 0.0, DEPTH),
    "60 deg ahead, rolling": Roll(FLAT, 1.0, DEPTH),
    "level, slipping": Roll(0.0, 0.0, LEVEL_DEPTH, LEVEL),
    "level, rolling": Roll(0.0, 1.0, LEVEL_DEPTH, LEVEL),
    "level, spinning": Roll(0.0, 2.0, LEVEL_DEPTH, LEVEL),
}
"""Direction from straight down; depth to which it goes; and the way along."""


@dataclass(frozen=True)
class Record:
    """One roll through one bed."""

    grain: float  # m, radius
    bed: int
    roll: str
    met: Rolled


def write_rolls(path: Path, records: list[Record], provenance: str) -> Path:
    """Records as a table, written whole, with a line that says where they come from."""
    lines = [f"# {provenance}", COLUMNS]
    for one in records:
        for x, z, (fx, fz, ty) in zip(one.met.ahead, one.met.depth, one.met.wrench, strict=True):
            numbers = f"{1e3 * x:.2f},{1e3 * z:.2f},{fx:.3f},{fz:.3f},{ty:.4f}"
            lines.append(f"{1e3 * one.grain:g},{one.bed},{one.roll.replace(',', ';')},{numbers}")
    return write_whole(path, lambda temporary: temporary.write_text("\n".join(lines) + "\n", encoding="utf-8"))


@cache
def read_rolls(path: Path = SHIPPED) -> tuple[Record, ...]:
    """A table as records."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) < 3 or lines[1] != COLUMNS:
        raise FileFormatError(f"{path} is not a table of rolls: its second line must be {COLUMNS}")
    rows: dict[tuple[float, int, str], list[list[float]]] = {}
    for line in lines[2:]:
        grain, bed, roll, *numbers = line.split(",")
        rows.setdefault((float(grain), int(bed), roll.replace(";", ",")), []).append([*map(float, numbers)])
    return tuple(_record(*key, np.array(values)) for key, values in rows.items())


def _record(grain: float, bed: int, roll: str, values: Float[np.ndarray, "n 5"]) -> Record:
    if not np.isfinite(values).all():
        raise FileFormatError(f"the table of rolls holds numbers that are not finite ({roll}): record it again")
    return Record(grain / 1e3, bed, roll, Rolled(values[:, 0] / 1e3, values[:, 1] / 1e3, values[:, 2:]))
