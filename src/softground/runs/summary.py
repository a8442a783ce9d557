"""The few numbers, and the few words, that tell how a run went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from softground.runs.actuator_work import actuator_power
from softground.runs.fall import find_fall
from softground.runs.way import way_ahead

if TYPE_CHECKING:
    from softground.runs.run import Run


def summarise(run: Run) -> dict[str, Any]:
    """Names with units -> numbers. Means are over the second half of the run, when it has settled."""
    attrs, fall = run.attrs, find_fall(run)
    late = run.isel(time=slice(run.sizes["time"] // 2, None))
    vertical = late.vertical_force().sum(axis=1)
    loaded = late["depth"].values[late["depth"].values > 0]
    time, seconds = run["time"].values, _duration(run)
    lasting = np.append(np.diff(time), seconds - (time[-1] - time[0]))  # s, what each sample stands for
    return {
        "robot": attrs["robot"],
        "seconds": seconds,
        "distance_m": float(way_ahead(run)[-1]),
        "mean_sinkage_m": float(loaded.mean()) if loaded.size else 0.0,
        "greatest_sinkage_m": float(max(run["depth"].values.max(), 0.0)),
        "mean_vertical_force_n": float(vertical.mean()),
        "weight_n": run.weight,
        "actuator_work_j": float(lasting @ np.abs(actuator_power(run)).sum(axis=1)),
        "steps": int(attrs["steps"]),
        "steps_per_second": float(attrs["steps_per_second"]),
        "compile_seconds": float(attrs["compile_seconds"]),
        "steps_not_converged": int(attrs["steps_not_converged"]),
        "steps_outside_data": int(attrs["steps_outside_data"]),
        "ended": str(attrs["ended"]),
        "fell": fall is not None,
        "fall": "" if fall is None else f"at {fall.time:.2f} s: {fall.reason}",
    }


def _duration(run: Run) -> float:
    return int(run.attrs["steps"]) * float(run.attrs["dt_s"])


def troubles(run: Run) -> list[str]:
    """What a user must know of a run that did not go as asked, one line each."""
    attrs, lines, fall = run.attrs, [], find_fall(run)
    last = float(run["time"][-1])
    if attrs["ended"] == "interrupted":
        lines.append(f"interrupted: the run ends at t = {last:.3f} s")
    if attrs["ended"] == "non-finite":
        fastest = np.abs(run["velocity"].values[-1])
        worst = str(run["v"].values[int(np.argmax(fastest))])
        lines.append(
            f"stopped: the state became non-finite in the step after t = {last:.3f} s (fastest then: {worst} "
            f"at {fastest.max():.3g}); try a smaller dt, check the gains and the torques"
        )
    if attrs["ended"] not in ("finished", "interrupted", "non-finite"):
        lines.append(f"ended at t = {last:.3f} s: {attrs['ended']}")
    if fall is not None and attrs["ended"] == "finished":
        lines.append(f"the robot fell at t = {fall.time:.3f} s: {fall.reason}")
    if attrs["steps_not_converged"]:
        lines.append(
            f"{attrs['steps_not_converged']} of {attrs['steps']} steps did not converge: their forces are "
            "approximate; a larger eps or a smaller dt helps"
        )
    if attrs["steps_outside_data"]:
        lines.append(
            f"{attrs['steps_outside_data']} of {attrs['steps']} steps had a foot deeper or more tilted than "
            "the medium's data: forces there are extrapolated"
        )
    return lines
