"""The wrench database: what the ground did to one foot, at many poses, moved in many directions.

A configuration is a pose (depth, tilt and, in space, the heading of the lean). At each, the foot was moved in
every one of a set of numbered directions, and the wrench was read as the target pose was passed.

All quantities are in the surface frame (z along the outward normal). Twists are at the sole's centre; wrenches
are on the foot, about the reference point on its axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from softground.errors import ExperimentError, unknown_name
from softground.media.base import COMPONENTS
from softground.robots.shapes import Shape

#: Greatest plausible depth, m; speed, m/s; and turning rate, rad/s, of a measurement.
MAX_DEPTH, MAX_SPEED, MAX_SPIN = 1.0, 5.0, 10.0
#: Plausible stress per depth (N/m3) under the worst direction. The least is the buoyancy of a light powder,
#: 300 kg/m3 times g: no heap of grains is softer. The greatest is 10 N/cm3, that of 3D resistive force theory for
#: a packing of 2000 kg/m3 with an internal friction of 0.95; sand has 0.1 to 1. A factor of 1000 leaves this band.
SOFTEST, HARDEST = 300 * 9.81, 1e7


def check_rows(database: WrenchDatabase) -> None:
    """Everything that can be said of rows, complete or not."""
    _check_shapes(database)
    _check_finite(database)
    _check_signs_and_units(database)
    _check_duplicates(database)
    _check_twists(database)
    _check_forces(database)


def _check_shapes(database: WrenchDatabase) -> None:
    if database.kind not in ("planar", "spatial"):
        raise ExperimentError(unknown_name("kind of wrench database", database.kind, ("planar", "spatial")))
    if not database.foot.size_names():
        raise ExperimentError(
            f"the foot of a database must be given by sizes, as a Sphere, Cylinder or Box is, got {database.foot!r}"
        )
    rows, size = len(database.depth), len(database.components)
    expected = {"tilt": (rows,), "heading": (rows,), "direction": (rows,), "twist": (rows, size)}
    for name, shape in {**expected, "wrench": (rows, size)}.items():
        if getattr(database, name).shape != shape:
            raise ExperimentError(f"{name} of {rows} rows must have shape {shape}, got {getattr(database, name).shape}")
    if len(database.source) != rows:
        raise ExperimentError(f"every row needs a source: {rows} rows, {len(database.source)} sources")
    if rows == 0:
        raise ExperimentError("the wrench database has no rows: measure something first")
    if not np.isfinite(database.reference_height):
        raise ExperimentError(f"reference height must be finite, got {database.reference_height} m")


def _first(database: WrenchDatabase, wrong: np.ndarray) -> str | None:
    """Place of the first wrong row and how many there are, or None."""
    rows = np.flatnonzero(wrong)
    if not len(rows):
        return None
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"{database.place(int(rows[0]))}{more}"


def _refuse(database: WrenchDatabase, wrong: np.ndarray, what: str, remedy: str) -> None:
    place = _first(database, wrong)
    if place is not None:
        raise ExperimentError(f"{place}: {what}; {remedy}")


def _check_finite(database: WrenchDatabase) -> None:
    for name in ("depth", "tilt", "heading", "twist", "wrench"):
        values = getattr(database, name).reshape(len(database), -1)
        wrong = ~np.isfinite(values).all(axis=1)
        _refuse(database, wrong, f"{name} is NaN or infinite", "remove the row or measure it again")


def _check_signs_and_units(database: WrenchDatabase) -> None:
    depth = database.depth
    remedy = "it must be positive below the surface: zhu2019 files store the negative of it, so change the sign"
    _refuse(database, depth < 0, "depth is negative", remedy)
    remedy = "the column is in m: mm must be divided by 1000"
    _refuse(database, depth > MAX_DEPTH, f"depth exceeds {MAX_DEPTH:g} m", remedy)
    remedy = "the column is in rad: degrees must be multiplied by pi/180"
    _refuse(database, np.abs(database.tilt) > np.pi, "tilt exceeds pi", remedy)
    _refuse(database, np.abs(database.heading) > 2 * np.pi, "heading exceeds 2 pi", remedy)
    half = 2 if database.kind == "planar" else 3
    speed, spin = (np.linalg.norm(part, axis=1) for part in np.split(database.twist, [half], axis=1))
    remedy = "the columns are in m/s and rad/s: mm/s must be divided by 1000, degrees/s multiplied by pi/180"
    _refuse(database, speed > MAX_SPEED, f"the speed exceeds {MAX_SPEED:g} m/s", remedy)
    _refuse(database, spin > MAX_SPIN, f"the turning rate exceeds {MAX_SPIN:g} rad/s", remedy)


def _check_duplicates(database: WrenchDatabase) -> None:
    keys = np.column_stack([database.poses(), database.direction])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    earlier = first[group.reshape(-1)]
    repeated = np.flatnonzero(earlier != np.arange(len(keys)))
    if len(repeated):
        row = int(repeated[0])
        raise ExperimentError(
            f"{database.place(row)}: the same configuration and direction as {database.place(int(earlier[row]))}; "
            "keep one of them, or their average"
        )


def _check_twists(database: WrenchDatabase) -> None:
    """A direction is one twist, whatever the configuration."""
    _, first, group = np.unique(database.direction, return_index=True, return_inverse=True)
    usual = database.twist[first[group]]
    wrong = np.linalg.norm(database.twist - usual, axis=1) > 1e-6 + 1e-4 * np.linalg.norm(usual, axis=1)
    rows = np.flatnonzero(wrong)
    if len(rows):
        row = int(rows[0])
        raise ExperimentError(
            f"{database.place(row)}: direction {database.direction[row]} has another twist than at "
            f"{database.place(int(first[group[row]]))}; number directions so that each is one twist"
        )


def check_complete(database: WrenchDatabase) -> None:
    """Every direction at every configuration."""
    numbers = database.directions()
    poses, group = np.unique(database.poses(), axis=0, return_inverse=True)
    group = group.reshape(-1)
    for index in np.flatnonzero(np.bincount(group) != len(numbers)):
        rows = np.flatnonzero(group == index)
        missing = sorted(set(numbers.tolist()) - set(database.direction[rows].tolist()))
        depth, tilt, heading = poses[index]
        raise ExperimentError(
            f"the configuration at {database.place(int(rows[0]))} (depth {depth:g} m, tilt {tilt:g} rad, heading "
            f"{heading:g} rad) lacks directions {', '.join(map(str, missing))}; measure them, or, at zero tilt, "
            "fill them in by symmetry (softground.experiments.symmetry.completed)"
        )


def _check_forces(database: WrenchDatabase) -> None:
    """Wrenches of a plausible size: a wrong unit shows as a factor of 1000.

    Stress grows about in proportion to depth, so a foot of area A (sole and sides) whose lowest point is D deep
    meets less than HARDEST A D, and in the direction that meets most, more than SOFTEST A_sole depth.
    The resultant acts through points of the foot, so the torque is of the order of the force times the distance
    to the reference point; a couple may be added, hence the factor of 3.
    """
    half = 2 if database.kind == "planar" else 3
    force = np.linalg.norm(database.wrench[:, :half], axis=1)
    torque = np.linalg.norm(database.wrench[:, half:], axis=1)
    sole, skin, reach = foot_sizes(database.foot)
    deepest = database.depth + reach
    advice = "the columns are in N: mN must be divided by 1000, kN multiplied by 1000"
    _refuse(database, force > HARDEST * skin * deepest, "the force is more than any ground exerts", advice)
    under = database.depth > 0
    if under.any():
        row = int(np.flatnonzero(under)[np.argmax((force / (sole * np.maximum(database.depth, 1e-9)))[under])])
        if force[row] < SOFTEST * sole * database.depth[row]:
            raise ExperimentError(
                f"{database.place(row)}: the hardest push of all is {force[row]:g} N, less than the buoyancy of the "
                f"foot in a light powder; {advice}"
            )
    lever = np.hypot(abs(database.reference_height) + reach, reach)
    wrong = torque > 3 * max(force.max(), 1e-9) * lever
    _refuse(database, wrong, "the torque is more than the forces can exert", "the column is in N m, not N mm")


def foot_sizes(foot: Shape) -> tuple[float, float, float]:
    """Area of the sole and of all that can be loaded (m2), and how far the foot reaches from its sole's centre."""
    return foot.area, float(foot.panels().area.sum()), foot.reach


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
