"""The few numbers that tell how a run went."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from softground.simulation.gravity import vertical_force, weight_of
from softground.simulation.motor_work import motor_power
from softground.simulation.way import way_ahead


def summarise(dataset: xr.Dataset) -> dict[str, Any]:
    """Names with units -> numbers. Means are over the second half of the run, when it has settled."""
    attrs = dataset.attrs
    late = dataset.isel(time=slice(dataset.sizes["time"] // 2, None))
    vertical = vertical_force(late).sum(axis=1)
    loaded = late["depth"].values[late["depth"].values > 0]
    time, seconds = dataset["time"].values, _duration(dataset)
    lasting = np.append(np.diff(time), seconds - (time[-1] - time[0]))  # s, what each sample stands for
    return {
        "robot": attrs["robot"],
        "seconds": seconds,
        "distance_m": float(way_ahead(dataset)[-1]),
        "mean_sinkage_m": float(loaded.mean()) if loaded.size else 0.0,
        "greatest_sinkage_m": float(max(dataset["depth"].values.max(), 0.0)),
        "mean_vertical_force_n": float(vertical.mean()),
        "weight_n": weight_of(dataset),
        "motor_work_j": float(lasting @ np.abs(motor_power(dataset)).sum(axis=1)),
        "steps": int(attrs["steps"]),
        "steps_per_second": float(attrs["steps_per_second"]),
        "compile_seconds": float(attrs["compile_seconds"]),
        "steps_not_converged": int(attrs["steps_not_converged"]),
        "steps_outside_data": int(attrs["steps_outside_data"]),
        "ended": str(attrs["ended"]),
    }


def _duration(dataset: xr.Dataset) -> float:
    return int(dataset.attrs["steps"]) * float(dataset.attrs["dt_s"])
