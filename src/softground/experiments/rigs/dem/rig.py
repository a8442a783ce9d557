"""The DEM rig: a foot driven through a box of grains, simulated one by one with LAMMPS.

A run follows zhu2019 III.B.2: the bed is laid as it was poured, the foot goes straight down from above the
surface to the start of its path, rests, and moves. Motions are planar (x, z and pitch), as LAMMPS turns a wall
about one axis only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.protocol import Motion, Recording
from softground.experiments.rigs.base import Rig
from softground.experiments.rigs.dem.bed import Bed, Container, settled_bed
from softground.experiments.rigs.dem.engine import REGIONS, Driven, FootPath, GrainBox
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
        path = self.path(motion, bed := self.bed(seed))
        with bed.open() as box:
            box.run(self.rest)
            self._approach(box, path, bed.top)
            times, wrenches = box.drive(self.foot, path, SAMPLES)
        return Recording(times, wrenches)

    def path(self, motion: Motion, bed: Bed) -> FootPath:
        """The motion in the box: in the middle of its width, its buried part in the middle of its length."""
        sideways = [motion.twist[1], motion.twist[3], motion.twist[5], motion.target.tilt * motion.target.heading]
        if np.any(sideways):
            raise ExperimentError(
                f"the DEM rig moves in the x-z plane only, got twist {motion.twist} and heading "
                f"{motion.target.heading:g}: use --rig rft for motions in space"
            )
        start = motion.position(0.0) + np.array([-self._middle(motion), 0.0, bed.surface])
        if start[2] < self.grains.radius or motion.position(motion.duration)[2] + bed.surface < self.grains.radius:
            raise ExperimentError(
                f"at depth {motion.target.depth:g} m the foot would meet the floor of the {self.container.fill:g} m "
                "deep bed: fill the container higher"
            )
        pitch_rate = motion.twist[4]
        pitch = motion.target.tilt - motion.target_time * pitch_rate
        return FootPath(start, pitch, np.array(motion.twist[:3]), pitch_rate, motion.duration)

    @property
    def _reach(self) -> float:
        """From the sole's centre to its edge along x, m."""
        return self.foot.extent[0] / 2

    @property
    def _shank(self) -> float:
        """Length of the foot along its axis, m."""
        return self.foot.extent[2]

    def _middle(self, motion: Motion) -> float:
        """x, m, about which what is buried of the foot during the motion spreads evenly."""
        reach = []
        for time in (0.0, motion.target_time, motion.duration):
            sole, axis = motion.position(time), motion.rotation(time)[:, 2]
            buried = np.clip(-sole[2] / max(axis[2], 0.1), 0.0, self._shank)
            across = self._reach * abs(axis[2])
            reach += [sole[0] - across, sole[0] + across]
            reach += [sole[0] + buried * axis[0] - across, sole[0] + buried * axis[0] + across]
        return (min(reach) + max(reach)) / 2

    def _approach(self, box: GrainBox, path: FootPath, top: float) -> None:
        """Push the foot straight down to the start of its path, at the start's pitch, and rest there."""
        lowest_below_sole = self._reach * abs(np.sin(path.pitch))
        climb = top + self.grains.radius + lowest_below_sole - path.start[2]
        if climb > 0:
            above = path.start + np.array([0.0, 0.0, climb])
            down = np.array([0.0, 0.0, -self.approach_speed])
            box.drive(self.foot, FootPath(above, path.pitch, down, 0.0, climb / self.approach_speed))
        box.drive(self.foot, FootPath(path.start, path.pitch, np.zeros(3), 0.0, self.rest))
