"""A foot driven through grains along a trajectory with corners, where a run of the protocol is one straight line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.protocol import Recording
from softground.experiments.rigs.dem.bed import Bed
from softground.experiments.rigs.dem.engine import FootPath
from softground.experiments.rigs.dem.rig import DemRig
from softground.experiments.trajectory import FootTrajectory

SAMPLE_PERIOD = 0.005
"""About how often the wrench is recorded, s."""


def record_along(
    rig: DemRig,
    trajectory: FootTrajectory,
    seed: int = 1,
    on_line: Callable[[int, int], None] = lambda done, total: None,
) -> Recording:
    """Lay the bed afresh, drive the rig's foot along the trajectory and record the wrench at the sole's centre.

    At each corner LAMMPS takes the foot away and puts it back in place, and its contacts forget how far they had
    slipped: within some 0.3 mm of way they slip again. on_line is called with the lines done and their number.
    """
    bed = rig.bed(seed)
    lines = straight_lines(trajectory, bed)
    _check_room(rig, trajectory, bed)
    times, wrenches = [], []
    with bed.open() as box:
        box.run(rig.rest)
        rig._approach(box, lines[0], bed.top)
        for done, (line, start) in enumerate(zip(lines, trajectory.time[:-1], strict=True), 1):
            samples = max(1, round(line.duration / SAMPLE_PERIOD))
            time, wrench = box.drive(rig.foot, line, samples)
            times.append(start + time[1:])  # the first instant has no slip yet
            wrenches.append(wrench[1:])
            on_line(done, len(lines))
    time, kept = np.unique(np.concatenate(times), return_index=True)
    return Recording(time, np.concatenate(wrenches)[kept])


def straight_lines(trajectory: FootTrajectory, bed: Bed) -> list[FootPath]:
    """The trajectory in the box's axes: x from the middle of its length, z from its floor."""
    corners, velocities = trajectory.corners(), trajectory.velocities()
    return [
        FootPath(np.array([x, 0.0, z + bed.surface]), pitch, np.array([vx, 0.0, vz]), pitch_rate, duration)
        for (x, z, pitch), (vx, vz, pitch_rate), duration in zip(
            corners[:-1], velocities, np.diff(trajectory.time), strict=True
        )
    ]


def _check_room(rig: DemRig, trajectory: FootTrajectory, bed: Bed) -> None:
    lowest, farthest = bed.surface - trajectory.depth.max(), np.abs(trajectory.x).max() + rig._reach
    if lowest < 2 * rig.grains.radius:
        raise ExperimentError(
            f"the trajectory goes {trajectory.depth.max():g} m deep and the bed is {bed.surface:g} m: fill the "
            "container higher"
        )
    if farthest > bed.container.length / 2 - 2 * rig.grains.radius:
        raise ExperimentError(
            f"the trajectory comes {farthest:g} m from the middle of a box of {bed.container.length:g} m: make the box "
            "longer"
        )
