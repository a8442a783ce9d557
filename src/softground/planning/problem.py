"""A gait as a problem: what moves on what, for how long, what it should be like and what it must obey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import OptionError
from softground.planning.constraints import Constraint, InsideData
from softground.planning.costs import BaseAttitude, BaseHeight, Cost, Effort, ForwardSpeed, Periodicity
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


def walking_problem(
    robot: Robot,
    ground: Ground,
    speed: float = 0.4,
    *,
    knots: int = 181,
    dt: float = 0.05,
    height: float | None = None,
    period: float = 3.0,
) -> GaitProblem:
    """Walk at a speed (m/s): the costs of zhu2021 IV.D, their weights included.

    height: of the base over the ground (m), by default the posture's. period: after which limbs repeat (s).
    """
    forward = coordinate_names(robot)[0][base_motion(robot).forward_q]
    return GaitProblem(
        robot,
        ground,
        knots,
        dt,
        costs=(
            ForwardSpeed(speed),
            BaseAttitude(),
            BaseHeight(posture_height(robot) if height is None else height),
            Effort(),
            Periodicity(round(period / dt)),
        ),
        initial=Boundary(q={forward: 0.0}),
    )


def posture_height(robot: Robot) -> float:
    """Height of the base over the lowest foot in the robot's posture, m."""
    place = jax.jit(lambda q: robot.foot_poses(q)[0])(jnp.asarray(robot.posture))
    lowest = min(float(z) - foot.clearance for z, foot in zip(place[:, 2], robot.feet, strict=True))
    return float(np.asarray(robot.posture)[base_motion(robot).up_q]) - lowest


def coarser(problem: GaitProblem, factor: int) -> GaitProblem:
    """The same problem with steps `factor` times as long."""
    if (problem.knots - 1) % factor:
        raise OptionError(f"{problem.knots - 1} steps cannot be joined by {factor}")
    costs = tuple(
        replace(cost, period=cost.period // factor) if isinstance(cost, Periodicity) else cost for cost in problem.costs
    )
    return replace(problem, knots=(problem.knots - 1) // factor + 1, dt=problem.dt * factor, costs=costs)
