"""How good a gait is: zhu2021's two numbers, and a few that they leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from softground.contact.feet import feet_along
from softground.planning.costs import ForwardSpeed, Periodicity
from softground.planning.problem import GaitProblem
from softground.planning.trajectory import Trajectory
from softground.robots.base import base_motion


@dataclass(frozen=True)
class GaitMetrics:
    """Mv and Mc are those of zhu2021 IV.B."""

    velocity_error: float
    """Mv: mean over knots of |forward speed - desired|, m/s."""
    paper_cost: float
    """Mc: sum over knots and joints of |joint rate x torque|, over distance times weight; no time step in it, 1/s."""
    cost_of_transport: float
    """Mc times the time step: work of the actuators, in either direction, over weight times distance."""
    speed: float
    """Distance over time, m/s."""
    distance: float
    """m, along x."""
    lifts: tuple[int, ...]
    """How often each foot leaves the ground."""
    fewest_lifts_in_a_period: int
    """Fewest lifts of any foot in any full period."""
    clearance: float
    """Greatest height of the sole that is lifted least, m."""
    deepest: float
    """Greatest depth of a foot, m."""
    slip: float
    """Share of the feet's way along x that they make while in the ground."""

    def as_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> GaitMetrics:
        """The metrics of `as_dict`, also by way of JSON."""
        return cls(**{**fields, "lifts": tuple(fields["lifts"])})


def gait_metrics(problem: GaitProblem, trajectory: Trajectory) -> GaitMetrics:
    """Metrics of a trajectory of this problem."""
    robot, base = problem.robot, base_motion(problem.robot)
    feet = feet_along(robot, problem.ground.surface, trajectory.q)
    depth, place = np.asarray(feet.depth), np.asarray(feet.position)[..., 0]
    distance = float(trajectory.q[-1, base.forward_q] - trajectory.q[0, base.forward_q])
    weight = float(robot.weight)
    # The torque of a step acts while the joints turn at the rate of its end.
    power = np.abs(trajectory.v[1:, list(robot.actuated)] * trajectory.torque).sum()
    left = (depth[1:] < 0) & (depth[:-1] >= 0)
    way = np.abs(np.diff(place, axis=0))
    paper_cost = float(power / (max(abs(distance), 1e-9) * weight))
    return GaitMetrics(
        velocity_error=float(np.abs(trajectory.v[:, base.forward_v] - desired_speed(problem)).mean()),
        paper_cost=paper_cost,
        cost_of_transport=paper_cost * trajectory.dt,
        speed=distance / trajectory.seconds,
        distance=distance,
        lifts=tuple(int(count) for count in left.sum(axis=0)),
        fewest_lifts_in_a_period=_fewest_in_a_period(left, _period(problem)),
        clearance=float((-depth).max(axis=0).min()),
        deepest=float(depth.max()),
        slip=float(way[depth[1:] > 0].sum() / max(way.sum(), 1e-9)),
    )


def desired_speed(problem: GaitProblem) -> float:
    return next((cost.speed for cost in problem.costs if isinstance(cost, ForwardSpeed)), 0.0)


def _period(problem: GaitProblem) -> int:
    whole = problem.knots - 1
    return next((cost.period for cost in problem.costs if isinstance(cost, Periodicity)), whole)


def _fewest_in_a_period(left: np.ndarray, period: int) -> int:
    starts = range(0, len(left) - period + 1, period)
    return min((int(left[start : start + period].sum(axis=0).min()) for start in starts), default=0)
