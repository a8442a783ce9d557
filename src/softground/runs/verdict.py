"""How a run went: whether, when and why the robot fell, and the few numbers and words that tell the rest.

One definition of a fall, for runs that are over and for robots that are still walking.

A robot has fallen when its centre of mass has come down to half its height over the ground when standing, or when its
base leans by more than 60 degrees. Heights are distances from the ground's surface. Standing is how the robot starts,
put on the ground: so a robot that is dropped does not fall, and one that starts with its feet in the ground may.
What has no actuators cannot stand, and so cannot fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float

from softground.robots.rotations import quaternion_between_numpy, quaternion_matrix_numpy
from softground.runs.dataset import Placement
from softground.runs.measures import actuator_power, angle_between, base_tilt, up_against, way_ahead
from softground.simulation.simulator import Simulator, feet_of

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion, Run

LOWEST_SHARE = 0.5
"""Height of the centre of mass of a robot that has fallen, as a share of its height when standing."""
GREATEST_TILT = np.deg2rad(60.0)
"""rad, of a base that stands: what of it pointed up, against gravity, at the start."""

FALLEN = "fallen: "
"""Before the reason of a fall that ended a run."""


@dataclass(frozen=True)
class Fall:
    """A fall: when it was first seen, and what gave it away."""

    time: float  # s
    reason: str


def find_fall(run: RobotMotion) -> Fall | None:
    """The fall of a run; None where the robot stayed on its feet."""
    end, ended = float(run["time"][-1]), str(run.attrs.get("ended", ""))  # what was only planned did not end
    if ended == "non-finite":
        return Fall(end, "the state became non-finite")
    if not run.sizes["actuator"]:
        return None
    height, tilt = run.height(), base_tilt(run)
    standing = height[0] + float(run["depth"].values[0].max()) if run.sizes["foot"] else height[0]
    for time, *seen in zip(run["time"].values, height, tilt, strict=True):
        if reason := _reason(float(seen[0]), standing, float(seen[1])):
            return Fall(float(time), reason)
    return Fall(end, ended.removeprefix(FALLEN)) if ended.startswith(FALLEN) else None


class FallWatch:
    """Callable: why a robot has fallen in a configuration, or None where it has not."""

    def __init__(self, simulator: Simulator, q: Float[np.ndarray, " nq"]):
        """q: where the robot starts."""
        self._placement = Placement(simulator.robot)
        surface = simulator.ground.surface
        self._look = jax.jit(lambda point: (surface.signed_distance(point), surface.normal(point)))
        self._up = up_against(np.asarray(simulator.robot.gravity, float))
        self._has_actuators = simulator.robot.nu > 0
        start = self._placement(q)
        self._start = start.base_quaternion
        height, self._normal = jax.device_get(self._look(start.center_of_mass))
        self._standing = float(height + np.max(feet_of(simulator, q).depth))

    def __call__(self, q: Float[np.ndarray, " nq"]) -> str | None:
        if not self._has_actuators:
            return None
        place = self._placement(q)
        turned = quaternion_matrix_numpy(quaternion_between_numpy(place.base_quaternion, self._start))
        height, normal = jax.device_get(self._look(place.center_of_mass))
        tilts = angle_between(np.stack([turned @ self._up, turned @ self._normal]), np.stack([self._up, normal]))
        return _reason(float(height), self._standing, float(tilts.min()))


def _reason(height: float, standing: float, tilt: float) -> str | None:
    if tilt > GREATEST_TILT:
        return f"the base leans {np.rad2deg(tilt):.0f} degrees"
    if standing > 0 and height < LOWEST_SHARE * standing:  # who starts below the ground cannot come down to it
        return f"the centre of mass is {height:.3f} m over the ground, {standing:.3f} m when standing"
    return None


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


#: Of a normal distribution: 95 % lie within so many deviations.
_NORMAL_95 = 1.959964


def wilson(successes: int, trials: int, z: float = _NORMAL_95) -> tuple[float, float]:
    """Interval of a share of successes at 95 %, after Wilson (1927): right also near 0 and 1.

    >>> from softground.runs.verdict import wilson
    >>> [round(end, 3) for end in wilson(20, 20)]
    [0.839, 1.0]
    """
    share = successes / trials
    middle = share + z**2 / (2 * trials)
    half = z * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    whole = 1 + z**2 / trials
    return max((middle - half) / whole, 0.0), min((middle + half) / whole, 1.0)
