"""A trajectory at equal steps in time: what guesses are and what plans hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from softground.errors import FileFormatError, OptionError
from softground.runs import Run


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
