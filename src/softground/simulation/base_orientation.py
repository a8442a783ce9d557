"""How the base of a robot was turned in a run: its quaternion, and which way it headed."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.spatial.transform import Rotation


def base_quaternion(dataset: xr.Dataset) -> np.ndarray | None:
    """(time, 4), w first; None where the base does not turn in space."""
    names = [str(name) for name in dataset["q"].values]
    first = names[0].removesuffix("_x")
    quaternion = [f"{first}_q{part}" for part in "wxyz"]
    return dataset["configuration"].sel(q=quaternion).values if set(quaternion) <= set(names) else None


def heading(dataset: xr.Dataset) -> np.ndarray:
    """Angle (rad, to the left) by which what pointed along x at the start of the run has turned about the vertical."""
    quaternion = base_quaternion(dataset)
    if quaternion is None:
        return np.zeros(dataset.sizes["time"])
    turned = Rotation.from_quat(quaternion, scalar_first=True)
    ahead = (turned * turned[0].inv()).apply([1.0, 0.0, 0.0])
    return np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
