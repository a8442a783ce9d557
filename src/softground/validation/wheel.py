"""A wheel that is driven and steered through sand: sinkage and forces under a load, or forces at a sinkage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from softground.media.base import Medium
from softground.robots.shapes import HalfCylinder
from softground.validation.base import Measurements, read_csv
from softground.validation.steady import steady_wrenches

NUMBERS = ["slip_angle_rad", "rim_speed_command_m_s", "travel_speed_m_s", "sinkage_m"]
FORCES = ["force_forward_n", "force_lateral_n", "force_vertical_n"]
SIZES = {"0.058 x 0.050 m": (0.058, 0.050), "0.0625 x 0.060 m": (0.0625, 0.060)}
"""Radius and width that the sources give for the wheel (they disagree)."""
DEEPEST = 2.0
"""Greatest sinkage that is looked for, in radii."""


@dataclass(frozen=True)
class Wheel(Measurements):
    """Means over repeats of a wheel's steady motion. With `given_load` sinkage and both level forces at the measured
    load are asked for, else all three forces at the measured sinkage. radius, width: of the wheel, m."""

    name: ClassVar[str] = "wheel"

    slip_angle: np.ndarray  # (c,) rad, from heading to travel
    rim_speed: np.ndarray  # (c,) m/s
    travel_speed: np.ndarray  # (c,) m/s
    sinkage: np.ndarray  # (c,) m
    force: np.ndarray  # (c, 3) N: forward, lateral, vertical, on the wheel
    deviation: np.ndarray  # (c, 4) standard deviation between repeats: sinkage (m), forces (N)
    radius: float = SIZES["0.058 x 0.050 m"][0]
    width: float = SIZES["0.058 x 0.050 m"][1]
    given_load: bool = True

    @classmethod
    def read(cls, path: str | Path, **options) -> Wheel:
        """Conditions of a table of trials (columns as `wheel_in_sand_smooth.csv`, docs/validation.md)."""
        table = read_csv(Path(path), [*NUMBERS, *FORCES], [])
        key = np.c_[table["slip_angle_rad"].round(4), table["rim_speed_command_m_s"].round(6)]
        _, where = np.unique(key, axis=0, return_inverse=True)
        trials = np.bincount(where)

        def mean(values):
            return np.bincount(where, values) / trials

        found = {name: mean(table[name]) for name in [*NUMBERS, *FORCES]}
        measured = [table["sinkage_m"], *(table[name] for name in FORCES)]
        deviation = [
            np.sqrt(mean((one - mean(one)[where]) ** 2) * trials / np.maximum(trials - 1, 1)) for one in measured
        ]
        return cls(
            found["slip_angle_rad"],
            found["rim_speed_command_m_s"],
            found["travel_speed_m_s"],
            found["sinkage_m"],
            np.stack([found[name] for name in FORCES], axis=1),
            np.stack(deviation, axis=1),
            **options,
        )

    @property
    def columns(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return ("sinkage_mm", "forward_n", "lateral_n") if self.given_load else ("forward_n", "lateral_n", "vertical_n")

    @property
    def worth(self) -> tuple[float, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return (2.0, 3.0, 2.5) if self.given_load else (3.0, 2.5, 5.0)

    @property
    def measured(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return np.c_[1e3 * self.sinkage, self.force[:, :2]] if self.given_load else self.force

    def spread(self) -> np.ndarray:
        pooled = np.sqrt((self.deviation**2).mean(0))
        return np.r_[1e3 * pooled[0], pooled[1:3]] if self.given_load else pooled[1:]

    def rows(self, which: np.ndarray) -> Wheel:
        fields = ("slip_angle", "rim_speed", "travel_speed", "sinkage", "force", "deviation")
        return replace(self, **{name: getattr(self, name)[which] for name in fields})

    def up_to(self, degrees: float) -> Wheel:
        """The conditions with slip angles up to some degrees."""
        return self.rows(self.slip_angle <= np.deg2rad(degrees) + 1e-3)

    def twists(self) -> np.ndarray:
        """Of the axle in the wheel's frame (c, 6): x along the heading, y along the axle."""
        twist = np.zeros((len(self.sinkage), 6))
        twist[:, 0] = self.travel_speed * np.cos(self.slip_angle)
        twist[:, 1] = -self.travel_speed * np.sin(self.slip_angle)
        twist[:, 4] = self.rim_speed / self.radius
        return twist

    def predict(self, medium: Medium) -> np.ndarray:
        return self.predicted(lambda depth, twist: self.forces(medium, depth, twist))

    def forces(self, medium: Medium, depth: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """On the wheel at depths (r,) with twists (r, 6), N (r, 3)."""
        upright = np.broadcast_to(np.eye(3), (len(depth), 3, 3))
        shape = HalfCylinder(self.radius, self.width)  # what is above the axle is not in the sand, or trails
        return steady_wrenches(medium, shape, False, depth, upright, twist)[:, :3]

    def predicted(self, forces) -> np.ndarray:
        """Predictions from a function (depth (r,), twist (r, 6)) -> forces (r, 3)."""
        twist = self.twists()
        if not self.given_load:
            return forces(self.sinkage, twist)
        depths = DEEPEST * self.radius * np.linspace(0.005, 1, 80) ** 1.5
        every = forces(np.tile(depths, len(twist)), np.repeat(twist, len(depths), axis=0))
        return np.array(
            [_at_load(depths, one, load) for one, load in zip(every.reshape(-1, 80, 3), self.force[:, 2], strict=True)]
        )


def _at_load(depths: np.ndarray, force: np.ndarray, load: float) -> np.ndarray:
    """Sinkage (mm) and level forces where the ground first carries a load; at the greatest depth if it never does."""
    carries = np.flatnonzero(force[:, 2] > load)
    last = carries[0] if len(carries) else len(depths) - 1
    if last == 0 or not len(carries):
        return np.r_[1e3 * depths[last], force[last, :2]]
    share = (load - force[last - 1, 2]) / (force[last, 2] - force[last - 1, 2])
    mixed = force[last - 1] + share * (force[last] - force[last - 1])
    return np.r_[1e3 * (depths[last - 1] + share * (depths[last] - depths[last - 1])), mixed[:2]]
