"""Cost of transport: the energy that moves a unit of weight by a unit of distance (chen2026, III.A).

    CoT = 1 / (W d)  integral of |tau' dq/dt| dt,          d the way of the centre of mass ahead

over a whole walk, or over each stance of each foot. As printed, the power of all motors is summed before its size is
taken, so that one motor may drive with what another brakes; `per_motor` takes the size of each motor's power instead,
for motors that cannot share. A walk that falls has no cost of transport, and neither has one that gets nowhere.

Ahead is where the base heads (x at the start of a run): the paper integrates the *longitudinal* velocity. A robot that
turns gets ahead, too. The heading is averaged over a second, so that waddling from foot to foot is no way ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.ndimage import uniform_filter1d

from softground.errors import OptionError
from softground.simulation.base_orientation import heading
from softground.simulation.fall import Fall, find_fall
from softground.simulation.figures import motor_power

GRAVITY = 9.81
CARRIES = 0.1
"""A foot is in stance while it carries more than this share of the weight."""
SHORTEST_STANCE = 0.02
"""s: what is shorter is a bounce."""
AVERAGED = 1.0
"""s, over which the heading is averaged."""
SHORTEST_WAY = 1e-3
"""m: a robot that moves less goes nowhere."""


@dataclass(frozen=True)
class Cost:
    """Cost of transport over an interval of time; None where the robot did not get ahead."""

    start: float  # s
    end: float  # s
    distance: float  # m, ahead
    energy: float  # J, of all motors together
    energy_per_motor: float  # J, each motor by itself
    weight: float  # N
    com_height: float  # m, mean over the interval

    @property
    def speed(self) -> float:
        """Mean, ahead, m/s."""
        return self.distance / (self.end - self.start)

    @property
    def dimensionless_speed(self) -> float:
        """Speed over sqrt(g h), h the height of the centre of mass."""
        return self.speed / float(np.sqrt(GRAVITY * self.com_height))

    @property
    def cost_of_transport(self) -> float | None:
        return self._over_way(self.energy)

    @property
    def per_motor(self) -> float | None:
        return self._over_way(self.energy_per_motor)

    def _over_way(self, energy: float) -> float | None:
        return energy / (self.weight * self.distance) if self.distance > SHORTEST_WAY else None


@dataclass(frozen=True)
class StanceCost:
    """Cost of transport over one stance of a foot."""

    foot: str
    cost: Cost


@dataclass(frozen=True)
class WalkCost:
    """Cost of transport of a run: of the whole, and of every complete stance. After a fall there is none."""

    fall: Fall | None
    walk: Cost | None
    stances: tuple[StanceCost, ...]

    def stance_costs(self) -> np.ndarray:
        """Costs of transport of the stances in which the robot got ahead."""
        costs = [stance.cost.cost_of_transport for stance in self.stances]
        return np.array([cost for cost in costs if cost is not None])


def walk_cost(dataset: xr.Dataset, start: float | None = None, end: float | None = None) -> WalkCost:
    """Cost of transport of a run between two times (s), by default all of it."""
    if dataset.sizes["motor"] == 0:
        raise OptionError(f"{dataset.attrs['robot']} has no motors, so moving costs it nothing")
    fall = find_fall(dataset)
    if fall is not None:
        return WalkCost(fall, None, ())
    part = _between(with_way(dataset), start, end)
    return WalkCost(None, cost_over(part), tuple(stances(part)))


def _between(dataset: xr.Dataset, start: float | None, end: float | None) -> xr.Dataset:
    part = dataset.sel(time=slice(start, end))
    if part.sizes["time"] < 2:
        first, last = float(dataset["time"][0]), float(dataset["time"][-1])
        raise OptionError(f"the run lasts from {first:g} to {last:g} s: nothing between {start} and {end} s")
    return part


def with_way(dataset: xr.Dataset) -> xr.Dataset:
    """A run with the way of its centre of mass ahead, `way` (m), since its start."""
    steps = np.diff(dataset["center_of_mass"].sel(xyz=["x", "y"]).values, axis=0)
    a_second = max(1, round(AVERAGED / float(np.diff(dataset["time"].values[:2])[0]))) if len(steps) else 1
    angle = uniform_filter1d(heading(dataset), a_second, mode="nearest")[:-1]
    ahead = steps[:, 0] * np.cos(angle) + steps[:, 1] * np.sin(angle)
    return dataset.assign(way=("time", np.append(0.0, np.cumsum(ahead))))


def cost_over(dataset: xr.Dataset) -> Cost:
    """Cost of transport over all samples of a run `with_way`, or of a part of it."""
    time, center, way = dataset["time"].values, dataset["center_of_mass"], dataset["way"].values
    power = motor_power(dataset)[:-1]  # torques act from a sample to the next
    step = np.diff(time)
    return Cost(
        start=float(time[0]),
        end=float(time[-1]),
        distance=float(way[-1] - way[0]),
        energy=float(step @ np.abs(power.sum(axis=1))),
        energy_per_motor=float(step @ np.abs(power).sum(axis=1)),
        weight=float(dataset.attrs["mass_kg"]) * GRAVITY,
        com_height=float(center.sel(xyz="z").mean()),
    )


def stances(dataset: xr.Dataset) -> list[StanceCost]:
    """Every stance that begins and ends within the run, in the order in which they begin."""
    carried = dataset["wrench_world"].sel(wrench_axis="fz").values
    weight = float(dataset.attrs["mass_kg"]) * GRAVITY
    found = []
    for foot, force in zip(dataset["foot"].values, carried.T, strict=True):
        for first, last in loaded_intervals(force > CARRIES * weight):
            cost = cost_over(dataset.isel(time=slice(first, last + 1)))
            if cost.end - cost.start >= SHORTEST_STANCE:
                found.append(StanceCost(str(foot), cost))
    return sorted(found, key=lambda stance: stance.cost.start)


def loaded_intervals(loaded: np.ndarray) -> list[tuple[int, int]]:
    """First sample of every run of True, and the first sample after it; runs that touch an end are left out."""
    change = np.diff(loaded.astype(int))
    begins, ends = np.flatnonzero(change == 1) + 1, np.flatnonzero(change == -1) + 1
    ends = ends[ends > begins[0]] if len(begins) else ends[:0]
    return list(zip(begins.tolist(), ends.tolist(), strict=False))


def describe_cost(cost: WalkCost) -> dict[str, Any]:
    """Names with units -> numbers, for people and for JSON; None where there is no number."""
    if cost.fall is not None:
        return {"fell": True, "fell_at_s": cost.fall.time, "fall": cost.fall.reason, "cost_of_transport": None}
    walk, each = cost.walk, cost.stance_costs()
    assert walk is not None
    return {
        "fell": False,
        "cost_of_transport": walk.cost_of_transport,
        "cost_of_transport_per_motor": walk.per_motor,
        "energy_j": walk.energy,
        "distance_m": walk.distance,
        "speed_m_per_s": walk.speed,
        "dimensionless_speed": walk.dimensionless_speed,
        "stances": len(cost.stances),
        "cost_per_stance_mean": float(each.mean()) if len(each) else None,
        "cost_per_stance_deviation": float(each.std()) if len(each) else None,
    }


def stance_rows(cost: WalkCost) -> list[dict[str, Any]]:
    """Every stance by foot, time and cost."""
    return [
        {
            "foot": stance.foot,
            "start_s": stance.cost.start,
            "end_s": stance.cost.end,
            "distance_m": stance.cost.distance,
            "cost_of_transport": stance.cost.cost_of_transport,
        }
        for stance in cost.stances
    ]
