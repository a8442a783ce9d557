"""Cost of transport: the energy that moves a unit of weight by a unit of distance (chen2026, III.A).

    CoT = 1 / (W d)  integral of |tau' dq/dt| dt,          W the weight, d the way of the centre of mass ahead

over a whole walk, or over each stance of each foot. As printed, the power of all actuators is summed before its size is
taken, so that one actuator may drive with what another brakes; `per_actuator` takes the size of each actuator's power
instead, for actuators that cannot share. A walk that falls has no cost of transport, and neither has one that gets
nowhere.

The integral is the sum over steps of |torque . displacement of the joints| (`actuator_work`), the way is along the
ground and in the robot's own heading (`way_ahead`), heights are distances from the ground's surface, and the weight is
that under the gravity of the robot's model. A robot that walks backwards gets ahead, too: no model says where its front
is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from softground.errors import OptionError
from softground.runs.measures import actuator_work, find_stances, way_ahead
from softground.runs.verdict import Fall, find_fall

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion

M = TypeVar("M", bound="RobotMotion")

SHORTEST_WAY = 1e-3
"""m: a robot that moves less goes nowhere."""


@dataclass(frozen=True)
class Cost:
    """Cost of transport over an interval of time; None where the robot did not get ahead."""

    start: float  # s
    end: float  # s
    distance: float  # m, ahead
    energy: float  # J, of all actuators together
    energy_per_actuator: float  # J, each actuator by itself
    weight: float  # N
    gravity: float  # m/s2
    com_height: float  # m over the ground, mean over the interval

    @property
    def speed(self) -> float:
        """Mean, ahead, m/s."""
        return self.distance / (self.end - self.start)

    @property
    def dimensionless_speed(self) -> float:
        """Speed over sqrt(g h), h the height of the centre of mass; NaN where that is in the ground."""
        return self.speed / float(np.sqrt(self.gravity * self.com_height)) if self.com_height > 0 else float("nan")

    @property
    def cost_of_transport(self) -> float | None:
        return self._over_way(self.energy)

    @property
    def per_actuator(self) -> float | None:
        return self._over_way(self.energy_per_actuator)

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


def walk_cost(run: RobotMotion, start: float | None = None, end: float | None = None) -> WalkCost:
    """Cost of transport of a run between two times (s), by default all of it."""
    if run.sizes["actuator"] == 0:
        raise OptionError(f"{run.attrs['robot']} has no actuators, so moving costs it nothing")
    if not run.weight:
        raise OptionError("the run has no gravity: without weight there is no cost of transport")
    fall = find_fall(run)
    if fall is not None:
        return WalkCost(fall, None, ())
    part = _between(with_way(run), start, end)
    stances = tuple(StanceCost(stance.foot, cost_over(part.isel(time=stance.samples))) for stance in find_stances(part))
    return WalkCost(None, cost_over(part), stances)


def _between(run: RobotMotion, start: float | None, end: float | None) -> RobotMotion:
    part = run.sel(time=slice(start, end))
    if part.sizes["time"] < 2:
        first, last = float(run["time"][0]), float(run["time"][-1])
        since, until = "its start" if start is None else f"{start:g} s", "its end" if end is None else f"{end:g} s"
        raise OptionError(f"the run lasts from {first:g} to {last:g} s: nothing from {since} to {until}")
    return part


def with_way(run: M) -> M:
    """A run with the `way` (m) of its centre of mass ahead, since its start, and its `height` (m) over the ground."""
    return run.assign(way=("time", way_ahead(run)), height=("time", run.height()))


def cost_over(run: RobotMotion) -> Cost:
    """Cost of transport over all samples of a run `with_way`, or of a part of it."""
    time, way, work = run["time"].values, run["way"].values, actuator_work(run)
    return Cost(
        start=float(time[0]),
        end=float(time[-1]),
        distance=float(way[-1] - way[0]),
        energy=float(np.abs(work.sum(axis=1)).sum()),
        energy_per_actuator=float(np.abs(work).sum()),
        weight=run.weight,
        gravity=float(np.linalg.norm(run.gravity)),
        com_height=float(run["height"].mean()),
    )


def describe_cost(cost: WalkCost) -> dict[str, Any]:
    """Names with units -> numbers, for people and for JSON; None where there is no number."""
    if cost.fall is not None:
        return {"fell": True, "fell_at_s": cost.fall.time, "fall": cost.fall.reason, "cost_of_transport": None}
    walk, each = cost.walk, cost.stance_costs()
    assert walk is not None
    return {
        "fell": False,
        "cost_of_transport": walk.cost_of_transport,
        "cost_of_transport_per_actuator": walk.per_actuator,
        "energy_j": walk.energy,
        "distance_m": walk.distance,
        "speed_m_per_s": walk.speed,
        "dimensionless_speed": None if np.isnan(walk.dimensionless_speed) else walk.dimensionless_speed,
        "com_height_m": walk.com_height,
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
