"""Whether, when and how a robot fell in a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from softground.simulation.base_orientation import base_tilt
from softground.simulation.over_ground import height_over_ground

LOWEST_SHARE = 0.5
"""A robot has fallen when its centre of mass is lower over the ground than this share of its first height, ..."""
GREATEST_TILT = np.deg2rad(60.0)
"""... or its base leans further than this, rad: what of it pointed up, against gravity, at the start of the run."""


@dataclass(frozen=True)
class Fall:
    """A fall: when it was first seen, and what gave it away."""

    time: float  # s
    reason: str


def find_fall(dataset: xr.Dataset) -> Fall | None:
    """The fall of a run; None where the robot stayed on its feet. Heights are distances from the ground's surface."""
    time = dataset["time"].values
    height, tilt = height_over_ground(dataset), base_tilt(dataset)
    if dataset.attrs["ended"] == "non-finite":
        return Fall(float(time[-1]), "the state became non-finite")
    low = (height < LOWEST_SHARE * height[0]) & (height[0] > 0)  # what starts in the ground cannot fall to it
    leaning = tilt > GREATEST_TILT
    fallen = np.flatnonzero(low | leaning)
    if not len(fallen):
        return None
    first = fallen[0]
    if leaning[first]:
        return Fall(float(time[first]), f"the base leans {np.rad2deg(tilt[first]):.0f} degrees")
    return Fall(float(time[first]), f"the centre of mass is {height[first]:.3f} m high, {height[0]:.3f} m at the start")
