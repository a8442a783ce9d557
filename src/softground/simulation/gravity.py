"""Gravity in a run: which way is up, and what the robot weighs. It is the model file's, not the Earth's."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float

EARTH = (0.0, 0.0, -9.81)
"""m/s2, world: assumed of run files that do not say, which softground 0.1 wrote."""


def gravity_of(dataset: xr.Dataset) -> Float[np.ndarray, " 3"]:
    """Acceleration of free fall of a run (m/s2, world)."""
    return np.asarray(dataset.attrs["gravity_m_per_s2"], dtype=float)


def weight_of(dataset: xr.Dataset) -> float:
    """Weight of the robot of a run, N."""
    return float(dataset.attrs["mass_kg"]) * float(np.linalg.norm(gravity_of(dataset)))


def up_of(dataset: xr.Dataset) -> Float[np.ndarray, " 3"]:
    """Unit vector against gravity (world); where there is none, the world's z."""
    gravity = gravity_of(dataset)
    strength = float(np.linalg.norm(gravity))
    return -gravity / strength if strength else np.array([0.0, 0.0, 1.0])


def vertical_force(dataset: xr.Dataset) -> Float[np.ndarray, "t f"]:
    """Of the ground on every foot, against gravity, N."""
    return dataset["wrench_world"].sel(wrench_axis=["fx", "fy", "fz"]).values @ up_of(dataset)
