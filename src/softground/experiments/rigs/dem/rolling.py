"""A round foot that rolls, slips or spins in fresh grains: the wrench on it along its way.

Its axis moves at a constant speed, from above the surface down in a direction, and then level if asked to. At the same
time it turns at a share of the rate of rolling,

    turning = R omega / v_x:        0 slips without turning, 1 rolls without slip, 2 spins over the ground.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from softground.errors import ExperimentError
from softground.experiments.rigs.dem.engine import Driven, FootPath
from softground.experiments.rigs.dem.rig import DemRig
from softground.robots.shapes import HalfCylinder

SPACING = 0.001
"""m of way over which wrenches are averaged."""
SAMPLE = 1e-4
"""m of way between two samples of a wrench."""


@dataclass(frozen=True)
class Roll:
    """The way of a round foot: down to a depth, and then level. Its turning goes with what it moves ahead."""

    direction: float = 0.0  # rad from straight down, towards +x
    turning: float = 0.0  # rate over that of rolling without slip
    depth: float = 0.03  # m, of the lowest point, where it stops going down
    level: float = 0.0  # m, of way ahead at that depth
    speed: float = 0.1  # m/s, of the axis

    @property
    def ahead(self) -> float:
        """m, from the surface to the end."""
        return self.depth * np.tan(self.direction) + self.level


@dataclass(frozen=True)
class Rolled:
    """What a roll met; each row is a mean over `SPACING` of way."""

    ahead: Float[np.ndarray, " n"]  # m, since the lowest point was at the surface
    depth: Float[np.ndarray, " n"]  # m, of the lowest point
    wrench: Float[np.ndarray, "n 3"]  # N forwards, N up, N m about the axis


def rolled(rig: DemRig, roll: Roll, seed: int = 1) -> Rolled:
    """Lay the bed and move the rig's half-cylinder through it."""
    foot, bed = rig.foot, rig.bed(seed)
    if not isinstance(foot, HalfCylinder):
        raise ExperimentError(f"a foot that rolls must be a HalfCylinder, got {foot!r}")
    reach = foot.radius + max(0.0, bed.surface - roll.depth) / 2
    if roll.depth > foot.radius:
        raise ExperimentError(f"a half-cylinder of {foot.radius:g} m goes under at {roll.depth:g} m: roll it less deep")
    if bed.surface - roll.depth < 3 * rig.grains.radius:
        raise ExperimentError(f"a roll {roll.depth:g} m deep meets the floor of a bed of {bed.surface:g} m")
    if roll.ahead + 2 * reach > bed.container.length:
        raise ExperimentError(
            f"a roll of {roll.ahead:g} m comes close to the ends of a box of {bed.container.length:g} m"
        )
    above = bed.top - bed.surface + rig.grains.radius
    down = roll.speed * np.array([np.sin(roll.direction), 0.0, -np.cos(roll.direction)])
    start = np.array([-roll.ahead / 2 - above * np.tan(roll.direction), 0.0, bed.surface + above])
    # Samples are whole numbers of time steps apart, and a stretch is as many of them as reach its end.
    step = rig.grains.time_step
    between = step * max(1, round(SAMPLE / roll.speed / step))
    ways = [(down, (above + roll.depth) / -down[2])]
    if roll.level:
        ways.append((roll.speed * np.array([1.0, 0.0, 0.0]), roll.level / roll.speed))
    rows, pitch = [], 0.0
    with bed.open() as box:
        box.run(rig.rest)
        for velocity, duration in ways:
            samples, rate = int(np.ceil(duration / between)), roll.turning * float(velocity[0]) / foot.radius
            stretch = FootPath(start, pitch, velocity, rate, samples * between, foot.radius)
            time, wrench = box.drive(foot, stretch, samples)
            rows.append(_rows(foot, stretch, time, wrench))
            start, pitch = stretch.centre(time[-1]), pitch + rate * time[-1]
    x, z, *wrench = np.concatenate(rows).T
    entered = z < bed.surface
    return Rolled(*(one[entered] for one in (x + roll.ahead / 2, bed.surface - z, np.stack(wrench, axis=-1))))


def _rows(foot: Driven, stretch: FootPath, time: np.ndarray, wrench: np.ndarray) -> Float[np.ndarray, "n 5"]:
    """x and z of the lowest point, and the wrench about the axis, averaged. The first instant has no slip yet."""
    place = stretch.start + time[1:, None] * stretch.velocity
    torque = wrench[1:, 4] - foot.clearance * wrench[1:, 0]
    every = np.stack([place[:, 0], place[:, 2], wrench[1:, 0], wrench[1:, 2], torque], axis=-1)
    together = round(SPACING / SAMPLE)
    whole = len(every) // together * together
    return every[:whole].reshape(-1, together, 5).mean(axis=1)
