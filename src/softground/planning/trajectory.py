"""A trajectory at equal steps in time: what guesses are and what plans hold.

How good it is as a gait: zhu2021's two numbers, and a few that they leave out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy.interpolate import CubicSpline

from softground.contact.feet import feet_in_ground
from softground.errors import FileFormatError, OptionError
from softground.planning.costs import ForwardSpeed, Periodicity
from softground.planning.problem import GaitProblem
from softground.planning.programs import kept_call
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.runs import Run
from softground.surfaces import Surface


class Trajectory(NamedTuple):
    """States at N knots `dt` apart, and the torques that act from each knot to the next."""

    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    torque: np.ndarray  # (N - 1, nu), N m
    dt: float  # s

    @property
    def knots(self) -> int:
        return len(self.q)

    @property
    def seconds(self) -> float:
        return (self.knots - 1) * self.dt

    def after(self, knot: int) -> Trajectory:
        """What is left of it from a knot on."""
        return Trajectory(self.q[knot:], self.v[knot:], self.torque[knot:], self.dt)

    def refined(self, times: int) -> Trajectory:
        """The same motion with steps a number of times as short."""
        return self.resampled((self.knots - 1) * times + 1)

    def resampled(self, knots: int) -> Trajectory:
        """The same motion at another number of knots: cubic in the configuration, torques interpolated."""
        if knots == self.knots:
            return self
        if knots < 2:
            raise OptionError(f"a trajectory needs at least 2 knots, got {knots}")
        dt = self.seconds / (knots - 1)
        before, after = np.arange(self.knots) * self.dt, np.arange(knots) * dt
        q = CubicSpline(before, self.q)(after)
        v = np.array([np.interp(after, before, column) for column in self.v.T]).T
        if self.q.shape[1] == self.v.shape[1]:
            v[1:] = np.diff(q, axis=0) / dt  # as semi-implicit Euler steps have it
        middle = before[:-1] + self.dt / 2
        torque = np.array([np.interp(after[:-1] + dt / 2, middle, column) for column in self.torque.T]).T
        return Trajectory(q, v, torque.reshape(knots - 1, -1), dt)


def trajectory_of(run: Run) -> Trajectory:
    """The trajectory of a run that was sampled at every step."""
    if int(run.attrs["every"]) != 1:
        raise FileFormatError(f"a trajectory needs a sample at every step, this run keeps one of {run.attrs['every']}")
    final = run.state("final")
    return Trajectory(
        np.concatenate([run["configuration"].values, np.asarray(final.q)[None]]),
        np.concatenate([run["velocity"].values, np.asarray(final.v)[None]]),
        run["torque"].values,
        float(run.attrs["dt_s"]),
    )


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
    depth, place = map(np.asarray, kept_call(_depths_and_places, (robot, problem.ground.surface), trajectory.q))
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


def _depths_and_places(parts: tuple[Robot, Surface], q):
    """Depth and x of every foot at every configuration, m."""
    feet = jax.vmap(lambda q: feet_in_ground(parts[0], q, parts[1]))(q)
    return feet.depth, feet.position[..., 0]


def desired_speed(problem: GaitProblem) -> float:
    return next((cost.speed for cost in problem.costs if isinstance(cost, ForwardSpeed)), 0.0)


def _period(problem: GaitProblem) -> int:
    whole = problem.knots - 1
    return next((cost.period for cost in problem.costs if isinstance(cost, Periodicity)), whole)


def _fewest_in_a_period(left: np.ndarray, period: int) -> int:
    starts = range(0, len(left) - period + 1, period)
    return min((int(left[start : start + period].sum(axis=0).min()) for start in starts), default=0)
