"""The DEM rig: a foot driven through a box of grains, simulated one by one with LAMMPS.

A run follows zhu2019 III.B.2: the bed is laid as it was poured, the foot goes straight down from above the
surface to the start of its path, rests, and moves. Motions in the x-z plane pitch an upright foot; those in space turn
the foot of the target about the axis of its twist, as LAMMPS turns a wall about one axis only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.protocol import Motion, Recording
from softground.experiments.rigs.base import Rig
from softground.experiments.rigs.dem.bed import Bed, Container, settled_bed
from softground.experiments.rigs.dem.engine import FORWARD_PITCH, REGIONS, Driven, FootPath, GrainBox
from softground.experiments.rigs.dem.grains import Grains
from softground.robots.shapes import Cylinder

SAMPLES = 150
"""Wrenches recorded in a run."""
LONG_FOOT = Cylinder(radius=0.05, length=0.25)
"""The foot of zhu2019, long enough not to go under at the depths to which it sinks in beads."""


@dataclass(frozen=True)
class DemRig(Rig):
    """Beads of zhu2019 in a box, and the foot that is driven through them."""

    name: ClassVar[str] = "dem"

    foot: Driven = LONG_FOOT
    grains: Grains = field(default_factory=Grains)
    container: Container = field(default_factory=Container)
    approach_speed: float = 0.5  # m/s, down to the start of the path
    rest: float = 0.05  # s, before the motion and after laying the bed
    cache: Path | None = None

    def __post_init__(self):
        if type(self.foot) not in REGIONS:
            raise ExperimentError(
                f"the DEM rig drives cylinders, half-cylinders and boxes, got {self.foot!r}: use --rig rft for others"
            )

    def settings(self) -> dict[str, Any]:
        return {
            "rig": self.name,
            "foot": asdict(self.foot),
            "grains": asdict(self.grains),
            "container": asdict(self.container),
            "approach_speed": self.approach_speed,
            "rest": self.rest,
        }

    def prepare(self, seed: int) -> None:
        self.bed(seed)

    def bed(self, seed: int) -> Bed:
        """The settled bed of this seed."""
        return settled_bed(self.container, self.grains, seed, self.cache)

    def record(self, motion: Motion, seed: int = 0) -> Recording:
        bed = self.bed(seed)
        path = self.path(motion, bed)
        with bed.open(foot=None if in_plane(motion) else motion.target.rotation) as box:
            box.run(self.rest)
            self._approach(box, path, bed.top, self._below_sole(motion.rotation(0.0)))
            times, wrenches = box.drive(self.foot, path, SAMPLES)
        return Recording(times, wrenches)

    def path(self, motion: Motion, bed: Bed) -> FootPath:
        """The motion in the box: its buried part in the middle of the floor."""
        start = motion.position(0.0) + np.array([*-self._middle(motion), bed.surface])
        if start[2] < self.grains.radius or motion.position(motion.duration)[2] + bed.surface < self.grains.radius:
            raise ExperimentError(
                f"at depth {motion.target.depth:g} m the foot would meet the floor of the {self.container.fill:g} m "
                "deep bed: fill the container higher"
            )
        velocity, spin = np.split(np.array(motion.twist), 2)
        if in_plane(motion):
            pitch = motion.target.tilt - motion.target_time * spin[1]
            return FootPath(start, pitch, velocity, spin[1], motion.duration)
        rate = float(np.linalg.norm(spin))
        axis = tuple((spin / rate).tolist()) if rate else FORWARD_PITCH
        return FootPath(start, -motion.target_time * rate, velocity, rate, motion.duration, axis=axis)

    @property
    def _reach(self) -> float:
        """From the sole's centre to its edge along x, m."""
        return self.foot.extent[0] / 2

    @property
    def _shank(self) -> float:
        """Length of the foot along its axis, m."""
        return self.foot.extent[2]

    def _middle(self, motion: Motion) -> np.ndarray:
        """x and y, m, about which what is buried of the foot during the motion spreads evenly."""
        reach = []
        for time in (0.0, motion.target_time, motion.duration):
            sole, axis = motion.position(time), motion.rotation(time)[:, 2]
            buried = np.clip(-sole[2] / max(axis[2], 0.1), 0.0, self._shank)
            across = np.array(self.foot.extent[:2]) / 2 * abs(axis[2])
            for place in (sole[:2], sole[:2] + buried * axis[:2]):
                reach += [place - across, place + across]
        return (np.min(reach, axis=0) + np.max(reach, axis=0)) / 2

    def _below_sole(self, rotation: np.ndarray) -> float:
        """How far the sole's lowest edge or corner is below its centre, m, in an attitude (3, 3)."""
        sides = np.abs(rotation[2, :2]) * self.foot.extent[:2] / 2
        return float(np.hypot(*sides) if self.foot.is_round else sides.sum())

    def _approach(self, box: GrainBox, path: FootPath, top: float, below_sole: float | None = None) -> None:
        """Push the foot straight down to the start of its path, at the start's attitude, and rest there.

        below_sole: how far its lowest point is below the sole's centre then, m; that of a pitched foot unless given.
        """
        pitched = self._reach * abs(np.sin(path.pitch))
        climb = top + self.grains.radius + (pitched if below_sole is None else below_sole) - path.start[2]
        if climb > 0:
            above = path.start + np.array([0.0, 0.0, climb])
            down = np.array([0.0, 0.0, -self.approach_speed])
            lowered = replace(path, start=above, velocity=down, pitch_rate=0.0, duration=climb / self.approach_speed)
            box.drive(self.foot, lowered)
        box.drive(self.foot, replace(path, velocity=np.zeros(3), pitch_rate=0.0, duration=self.rest))


def in_plane(motion: Motion) -> bool:
    """Whether a motion is one of x, z and pitch."""
    _, vy, _, wx, _, wz = motion.twist
    return not (vy or wx or wz or motion.target.tilt * motion.target.heading)
