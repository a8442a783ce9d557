"""A foot pushed into grains that were simulated one by one: wrenches at depths, of several beds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import FileFormatError
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium
from softground.robots.shapes import Box, ConvexMesh, Shape
from softground.validation.base import Measurements

SHIPPED = files("softground") / "validation" / "data" / "pushes.csv"
COLUMNS = ("rig", "bed", "tilt_rad", "direction_rad", "speed_m_s", "depth_m", "fx_n", "fz_n", "ty_nm")
SLOW, FAST = 0.1, (0.5, 1.0, 2.0)
"""Of the feet in the records, m/s."""
START = 0.2
"""Scale of grains with which fits begin, N/cm3."""
REPOSE = 0.418
"""Angle of repose of such beads, read off the surface around a print in other beds, rad."""
ROUNDED = 160
"""Elements of a foot with rounded edges: with twice as many errors change by 0.002."""
STEP = 2.5e-4
"""Way down between two predictions, m."""
ARM = 0.1
"""By which torques are divided to be compared with forces, m."""
CORNER = 4
"""Directions in which a quarter circle of a rounded edge has its vertices."""


@dataclass(frozen=True)
class Pushes(Measurements):
    """Means over beds of the wrench on a foot about its sole's centre; a condition is a push and a depth.

    tilt: rad, about +y. direction: rad from straight down, towards +x. speed: m/s, downwards. depth: m, of the sole's
    centre. wrench: forward and upward force (N), torque (N m), of every bed.
    """

    name: ClassVar[str] = "pushes"
    columns: ClassVar[tuple[str, ...]] = ("forward_n", "vertical_n", "torque_nm")
    worth: ClassVar[tuple[float, ...]] = (10.0, 10.0, 1.0)  # N, N, N m

    foot: Shape
    tilt: np.ndarray  # (c,)
    direction: np.ndarray  # (c,)
    speed: np.ndarray  # (c,)
    depth: np.ndarray  # (c,)
    wrench: np.ndarray  # (beds, c, 3)
    density: float  # kg/m3, of the bulk, mean over beds
    radius: float  # m, of the grains
    surface: float = 0.0  # m, depth at which media are told that the ground begins

    @classmethod
    def read(cls, path: str | Path = str(SHIPPED), rig: str = "as planned", beds: tuple[int, ...] = ()) -> Pushes:
        """Those pushes that all of these beds of a rig had; the table of the package unless another is given."""
        settings, table = _read(Path(path))
        here = np.flatnonzero(table["rig"] == rig)
        beds = beds or tuple(sorted(set(table["bed"][here].astype(int))))
        keys = np.c_[[table[name][here].astype(float) for name in COLUMNS[2:6]]].T
        wrench = np.c_[[table[name][here].astype(float) for name in COLUMNS[6:]]].T
        bed = table["bed"][here].astype(int)
        conditions, which = np.unique(keys, axis=0, return_inverse=True)
        found = np.full((len(beds), len(conditions), 3), np.nan)
        for index, one in enumerate(beds):
            mine = bed == one
            found[index, which.ravel()[mine]] = wrench[mine]
        kept = np.isfinite(found).all((0, 2))
        if not kept.any():
            raise FileFormatError(f"{path} has no push that beds {beds} of the rig {rig!r} share")
        density = float(np.mean([settings["density_kg_m3"][rig][str(one)] for one in beds]))
        radius = settings["rigs"][rig]["grains"]["radius"]
        own = {"wrench": found[:, kept], "density": density, "radius": radius}
        return cls(Box(**settings["foot"]), *conditions[kept].T, **own)

    @property
    def measured(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.wrench.mean(0)

    def spread(self) -> np.ndarray:
        return np.sqrt(self.wrench.var(0, ddof=1).mean(0))

    def rows(self, which: np.ndarray) -> Pushes:
        own = {name: getattr(self, name)[which] for name in ("tilt", "direction", "speed", "depth")}
        return replace(self, wrench=self.wrench[:, which], **own)

    def where(self, *, tilted: bool | float = False, oblique: bool = False, speed: float | None = None) -> Pushes:
        """Upright or tilted (at any angle, or one, rad), straight down or not, at all speeds or one (m/s)."""
        some = self if isinstance(tilted, bool) else self.at(tilted)
        which = ((some.tilt != 0) == bool(tilted)) & ((some.direction != 0) == oblique)
        return some.rows(which & (np.isclose(some.speed, speed) if speed is not None else True))

    def at(self, tilt: float) -> Pushes:
        """At one tilt, rad."""
        return self.rows(np.isclose(self.tilt, tilt, atol=1e-5))

    def below(self, depth: float) -> Pushes:
        """Where the sole's centre is this deep (m) or deeper."""
        return self.rows(self.depth > depth - 1e-9)

    def predict(self, medium: Medium) -> np.ndarray:
        found = np.zeros((len(self.depth), 3))
        pushes, which = np.unique(np.c_[self.tilt, self.direction, self.speed], axis=0, return_inverse=True)
        for index, (tilt, direction, speed) in enumerate(pushes):
            mine = which.ravel() == index
            depth = self.depth[mine] - self.surface
            found[mine] = push_wrenches(medium, self.foot, tilt, direction, speed, depth)
        return found

    def felt_surface(self) -> float:
        """Depth (m) at which a line through the upward forces is zero: above the surface if grains bear a flat sole."""
        slope, start = np.polyfit(self.depth, self.measured[:, 1], 1)
        return float(-start / slope)

    def errors_by_bed(self, medium: Medium) -> np.ndarray:
        """In each bed, of all forces, N, and torques over `ARM`: (beds, 3 c)."""
        return self._by_bed(self.predict(medium) - self.wrench)

    def forces_by_bed(self) -> np.ndarray:
        """What was measured in each bed, likewise."""
        return self._by_bed(self.wrench)

    @staticmethod
    def _by_bed(wrench: np.ndarray) -> np.ndarray:
        return (np.array([1.0, 1.0, 1 / ARM]) * wrench).reshape(len(wrench), -1)

    def relative_error(self, medium: Medium) -> float:
        """Root of the mean square error over that of what was measured, torques over `ARM`."""
        weight = np.array([1.0, 1.0, 1 / ARM])
        error = weight * (self.predict(medium) - self.measured)
        return float(np.sqrt((error**2).sum() / ((weight * self.measured) ** 2).sum()))

    def force_ratio(self, medium: Medium) -> float:
        """Mean upward force by a medium over that of the grains."""
        return float(self.predict(medium)[:, 1].mean() / self.measured[:, 1].mean())

    def relative_spread(self) -> float:
        """The same of one bed about the mean of all."""
        weight = np.array([1.0, 1.0, 1 / ARM])
        deviation = weight**2 * self.wrench.var(0, ddof=1)
        return float(np.sqrt(deviation.sum() / ((weight * self.measured) ** 2).sum()))

    def mean_force(self) -> tuple[float, float]:
        """Upward force, N: mean over conditions and beds, and its standard deviation between beds (nan of one)."""
        each = self.wrench[:, :, 1].mean(1)
        return float(each.mean()), float(each.std(ddof=1)) if len(each) > 1 else np.nan


def parallel_body(foot: Box, distance: float) -> ConvexMesh:
    """The body whose surface lies outside of a box's by a distance, m: faces moved out, edges and corners round.

    The middle of a grain that touches a foot lies on it, a radius outside of the foot. To a continuum of middles of
    grains, which fill the bed up to its surface, the foot is this body.
    """
    angle = np.linspace(0.0, np.pi / 2, CORNER)
    across, along = (one.ravel() for one in np.meshgrid(angle, angle))
    rounded = np.stack([np.sin(across) * np.cos(along), np.sin(across) * np.sin(along), np.cos(across)], axis=-1)
    half = np.array([foot.length, foot.width, foot.height]) / 2
    corners = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 1, 3)
    points = (corners * (half + distance * rounded)).reshape(-1, 3) + np.array([0.0, 0.0, half[2]])
    return ConvexMesh(tuple(map(tuple, np.unique(points.round(9), axis=0).tolist())))


def parallel(data: Pushes) -> Pushes:
    """With the foot larger by a grain's radius on all sides, for laws that feel all of its surface."""
    assert isinstance(data.foot, Box)
    return replace(data, foot=parallel_body(data.foot, data.radius))


def push_wrenches(medium: Medium, foot: Shape, tilt: float, direction: float, speed: float, depth: np.ndarray):
    """Planar wrenches (n, 3) at depths (n,) on a foot that comes down from above the surface as `Pushes` says."""
    above = foot.extent[0] / 2 * abs(np.sin(tilt)) + 2 * STEP
    way = np.arange(-above, depth.max() + STEP, STEP)
    cos, sin = np.cos(tilt), np.sin(tilt)
    rotation = np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
    twist = np.zeros(6)
    twist[[0, 2]] = speed * np.tan(direction), -speed
    bound = medium.for_foot(foot, True)
    assert bound.kind == "planar"
    found = np.asarray(_along(bound, way, rotation, twist[COMPONENTS["planar"]], STEP / speed))
    return np.stack([np.interp(depth, way, one) for one in found.T], axis=1)


@eqx.filter_jit
def _along(medium: FootMedium, depth, rotation, twist, dt):
    def foot_at(one) -> FootInGround:
        return FootInGround(one, jnp.zeros(3), jnp.asarray(rotation), jnp.eye(3))

    def step(memory, one):
        foot = foot_at(one)
        law = medium.law(foot, memory, dt)
        return medium.remember(foot, memory, law, twist, dt), law.wrench(twist)

    return jax.lax.scan(step, medium.initial_memory(foot_at(depth[0])), depth)[1]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings of the first line, and columns of words."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) < 3 or not lines[0].startswith("# {") or lines[1] != ",".join(COLUMNS):
        raise FileFormatError(f"{path} is no table of pushes: its second line must be {','.join(COLUMNS)}")
    rows = np.array([line.split(",") for line in lines[2:]])
    return json.loads(lines[0][2:]), dict(zip(COLUMNS, rows.T, strict=True))


def read_rows(path: Path) -> tuple[dict[str, Any], list[tuple]]:
    """A table as `write_pushes` takes it."""
    settings, table = _read(path)
    numbers = np.array([table[name].astype(float) for name in COLUMNS[2:]]).T.tolist()
    names = zip(table["rig"].tolist(), table["bed"].astype(int).tolist(), strict=True)
    return settings, [(*name, *row[:4], tuple(row[4:])) for name, row in zip(names, numbers, strict=True)]


def write_pushes(path: Path, settings: dict[str, Any], rows: list[tuple]) -> None:
    """A table of pushes, with all that it takes to repeat them in its first line."""
    lines = [f"# {json.dumps(settings, sort_keys=True)}", ",".join(COLUMNS)]
    for rig, bed, tilt, direction, speed, depth, (fx, fz, ty) in rows:
        lines.append(f"{rig},{bed},{tilt:.6f},{direction:.6f},{speed:g},{depth:.4f},{fx:.2f},{fz:.2f},{ty:.3f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
