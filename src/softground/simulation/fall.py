"""Whether, when and how a robot fell in a run."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import xarray as xr

from softground.simulation.base_orientation import base_quaternion
from softground.simulation.run_file import surface_of

LOWEST_SHARE = 0.5
"""A robot has fallen when its centre of mass is lower over the ground than this share of its first height, ..."""
GREATEST_TILT = np.deg2rad(60.0)
"""... or its base leans further than this from where it stood, rad."""


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
    low = height < LOWEST_SHARE * height[0]
    leaning = tilt > GREATEST_TILT
    fallen = np.flatnonzero(low | leaning)
    if not len(fallen):
        return None
    first = fallen[0]
    if leaning[first]:
        return Fall(float(time[first]), f"the base leans {np.rad2deg(tilt[first]):.0f} degrees")
    return Fall(float(time[first]), f"the centre of mass is {height[first]:.3f} m high, {height[0]:.3f} m at the start")


def height_over_ground(dataset: xr.Dataset) -> np.ndarray:
    """Distance (m) of the centre of mass from the surface, whatever its slope."""
    return np.asarray(jax.vmap(surface_of(dataset).signed_distance)(dataset["center_of_mass"].values))


def base_tilt(dataset: xr.Dataset) -> np.ndarray:
    """Angle (rad) between the base's up axis and where it pointed at the start of the run."""
    quaternion = base_quaternion(dataset)
    if quaternion is None:
        pitch = dataset["base_pitch"].values
        return np.abs(pitch - pitch[0])
    w, x, y, z = quaternion.T
    up = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z], axis=-1)
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    return np.arccos(np.clip(up @ up[0], -1.0, 1.0))
