"""The few numbers that tell how a run went."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from softground.simulation.figures import motor_power


def summarise(dataset: xr.Dataset) -> dict[str, Any]:
    """Names with units -> numbers. Means are over the second half of the run, when it has settled."""
    attrs = dataset.attrs
    late = dataset.isel(time=slice(dataset.sizes["time"] // 2, None))
    base = dataset["base_position"].values
    vertical = late["wrench_world"].sel(wrench_axis="fz").values.sum(axis=1)
    loaded = late["depth"].values[late["depth"].values > 0]
    energy = np.abs(motor_power(dataset)).sum(axis=1).mean() * _duration(dataset)
    return {
        "robot": attrs["robot"],
        "seconds": _duration(dataset),
        "distance_m": float(base[-1, 0] - base[0, 0]),
        "mean_sinkage_m": float(loaded.mean()) if loaded.size else 0.0,
        "greatest_sinkage_m": float(max(dataset["depth"].values.max(), 0.0)),
        "mean_vertical_force_n": float(vertical.mean()),
        "weight_n": float(attrs["mass_kg"]) * 9.81,
        "motor_work_j": float(energy),
        "steps": int(attrs["steps"]),
        "steps_per_second": float(attrs["steps_per_second"]),
        "compile_seconds": float(attrs["compile_seconds"]),
        "steps_not_converged": int(attrs["steps_not_converged"]),
        "steps_outside_data": int(attrs["steps_outside_data"]),
        "ended": str(attrs["ended"]),
    }


def _duration(dataset: xr.Dataset) -> float:
    return int(dataset.attrs["steps"]) * float(dataset.attrs["dt_s"])
