"""A foot pushed into fresh grains at constant velocity, tilted or not: the wrench on it at every depth.

The foot starts above the highest grain and keeps its velocity, so that grains meet it as they meet a foot that lands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.rigs.dem.engine import FootPath
from softground.experiments.rigs.dem.rig import DemRig

SPACING = 0.0025
"""Of the depths at which wrenches are read, m: each is the mean over so much of depth."""
SAMPLE = 2.5e-4
"""Of depth between two samples of a wrench, m."""
PLANAR = [0, 2, 4]


@dataclass(frozen=True)
class Push:
    """How a foot comes down: at a tilt (rad, about +y), in a direction (rad from straight down, towards +x)."""

    tilt: float = 0.0  # rad
    direction: float = 0.0  # rad
    speed: float = 0.1  # m/s, downwards
    depth: float = 0.045  # m, of the sole's centre at the end

    @property
    def velocity(self) -> np.ndarray:
        """Of the sole's centre (3,), m/s."""
        return self.speed * np.array([np.tan(self.direction), 0.0, -1.0])

    def first_touch(self, reach: float) -> float:
        """Depth of the sole's centre, m, at which the lowest edge of a sole that reaches so far (m) is at the surface,
        rounded up to the depths that are read."""
        return -SPACING * np.floor(reach * abs(np.sin(self.tilt)) / SPACING)

    def depths(self, reach: float) -> np.ndarray:
        """Those that are read (n,), m."""
        first = max(self.first_touch(reach), -self.depth)
        return np.arange(round(first / SPACING), round(self.depth / SPACING) + 1) * SPACING


def pushed(rig: DemRig, push: Push, seed: int = 1) -> np.ndarray:
    """Wrenches (n, 3) on the foot at the depths of the push: forward and upward force (N), torque (N m) about the
    sole's centre."""
    bed = rig.bed(seed)
    if bed.surface - push.depth - rig._reach * abs(np.sin(push.tilt)) < 3 * rig.grains.radius:
        raise ExperimentError(f"a push to {push.depth:g} m meets the floor of a bed of {bed.surface:g} m")
    above = bed.top - bed.surface + rig.grains.radius + rig._reach * abs(np.sin(push.tilt))
    depths, way = push.depths(rig._reach), above + push.depth + SPACING
    # The middle of the way that the foot goes in the ground is in the middle of the box.
    start = np.array([-np.tan(push.direction) * (above + push.depth / 2), 0.0, bed.surface + above])
    step = rig.grains.time_step
    between = step * max(1, round(SAMPLE / push.speed / step))  # s, between samples: so many time steps
    samples = int(np.ceil(way / push.speed / between))
    path = FootPath(start, push.tilt, push.velocity, 0.0, samples * between)
    with bed.open() as box:
        box.run(rig.rest)
        time, wrench = box.drive(rig.foot, path, samples)
    at = push.speed * time - above
    return np.array([wrench[np.abs(at - one) <= SPACING / 2][:, PLANAR].mean(0) for one in depths])
