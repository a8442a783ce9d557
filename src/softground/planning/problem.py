"""A gait as a problem: what moves on what, for how long, what it should be like and what it must obey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from softground.errors import OptionError
from softground.planning.constraints import Constraint, Cycle, InsideData
from softground.planning.costs import BaseAttitude, BaseHeight, Cost, Effort, ForwardSpeed, Periodicity
from softground.planning.size import posture_height, size_of, walking_step, weight_of
from softground.planning.splines import FootSplines
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.runs.dataset import coordinate_names
from softground.simulation.ground import Ground


@dataclass(frozen=True)
class Limits:
    """Bounds at every knot; None takes those of the robot (none for what it does not limit).

    Arrays are (nv, 2) for positions of slides and hinges, rad and m; numbers bound the size of all entries.
    """

    position: np.ndarray | None = None
    speed: float = 8.0  # m/s, rad/s
    torque: float | None = None  # N m
    pitch: float = 0.5  # rad, of the base


@dataclass(frozen=True)
class Boundary:
    """What is given of the first or last state: entries of q and v by name, as numbers or (lower, upper)."""

    q: dict[str, float | tuple[float, float]] = field(default_factory=dict)
    v: dict[str, float | tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class GaitProblem:
    """A trajectory to be found: the robot's states at `knots` moments `dt` apart, and the torques between them."""

    robot: Robot
    ground: Ground
    knots: int
    dt: float  # s
    costs: Sequence[Cost]
    constraints: tuple[Constraint, ...] = (InsideData(),)
    limits: Limits = Limits()
    initial: Boundary = Boundary()
    final: Boundary = Boundary()
    splines: tuple[FootSplines, ...] = ()
    collocation: float = 0.5
    """Collocation point, as a share of a step: 0 is the simulator's step, 0.5 (midpoint) is better for long ones."""

    def __post_init__(self):
        if not 0 <= self.collocation <= 1:
            raise OptionError(f"collocation is a share of a step, from 0 to 1, got {self.collocation}")
        if self.knots < 2:
            raise OptionError(f"a gait needs at least 2 knots, got {self.knots}")
        if not (np.isfinite(self.dt) and self.dt > 0):
            raise OptionError(f"dt must be a positive time step in seconds, got {self.dt}")

    @property
    def seconds(self) -> float:
        """Duration."""
        return (self.knots - 1) * self.dt

    def counted_knots(self, knots: int) -> int:
        """How many of so many knots costs are for: in a cycle the last state is the first one again, counted once."""
        return knots - any(isinstance(one, Cycle) for one in self.constraints)


PERIOD = 60
"""Steps after which limbs repeat themselves."""


def walking_problem(
    robot: Robot,
    ground: Ground,
    speed: float = 0.4,
    *,
    knots: int = 181,
    dt: float | None = None,
    height: float | None = None,
    period: float | None = None,
) -> GaitProblem:
    """Walk at a speed (m/s): the costs of zhu2021 IV.D, their weights included, for robots of other sizes by theirs.

    dt: between knots, by default 0.05 s for RoboSimian, for others by their size. height: of the base over the ground
    (m), by default the posture's. period: after which limbs repeat (s), by default that of 60 steps.
    """
    size, weight = size_of(robot), weight_of(robot)
    dt = walking_step(robot) if dt is None else dt
    period = PERIOD * dt if period is None else period
    forward = coordinate_names(robot)[0][base_motion(robot).forward_q]
    return GaitProblem(
        robot,
        ground,
        knots,
        dt,
        costs=(
            ForwardSpeed(speed, ForwardSpeed.weight / size),
            BaseAttitude(),
            BaseHeight(posture_height(robot) if height is None else height, BaseHeight.weight / size**2),
            Effort(Effort.weight / (weight * size) ** 2),
            Periodicity(round(period / dt)),
        ),
        initial=Boundary(q={forward: 0.0}),
    )


def coarser(problem: GaitProblem, factor: int) -> GaitProblem:
    """The same problem with steps `factor` times as long."""
    if (problem.knots - 1) % factor:
        raise OptionError(f"{problem.knots - 1} steps cannot be joined by {factor}")
    costs = tuple(
        replace(cost, period=cost.period // factor) if isinstance(cost, Periodicity) else cost for cost in problem.costs
    )
    return replace(problem, knots=(problem.knots - 1) // factor + 1, dt=problem.dt * factor, costs=costs)
