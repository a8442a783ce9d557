"""What can be known to go wrong before the optimiser starts, said in words."""

from __future__ import annotations

import numpy as np

from softground.errors import OptionError
from softground.planning.bounds import bounds
from softground.planning.layout import Layout
from softground.planning.metrics import desired_speed
from softground.planning.problem import GaitProblem
from softground.planning.trajectory import Trajectory
from softground.precision import require_double
from softground.robots.base import base_motion
from softground.runs.dataset import coordinate_names
from softground.surfaces import HeightField, MeshSurface, Surface

OUTSIDE = 1e-6  # by which an entry may pass its bound


def check_problem(problem: GaitProblem) -> None:
    """OptionError where bounds cross, or the way leads off the terrain; media are checked where they are used."""
    require_double("planning")
    layout = Layout.of(problem.robot, problem.knots, 0)
    lower, upper = bounds(problem, layout)
    if not problem.costs:
        raise OptionError("a gait problem needs at least one cost: see softground.planning.costs")
    _check_terrain(problem, layout, lower, upper)


def check_guess(problem: GaitProblem, guess: Trajectory) -> None:
    """OptionError where a guess is of another robot, not finite, or starts where the problem says it cannot."""
    robot = problem.robot
    for label, value, size in (("q", guess.q, robot.nq), ("v", guess.v, robot.nv), ("torque", guess.torque, robot.nu)):
        if value.ndim != 2 or value.shape[1] != size:
            raise OptionError(f"{label} of the guess must have {size} columns for {robot.name}, got {value.shape}")
        if not np.isfinite(value).all():
            raise OptionError(f"{label} of the guess must be finite: the first bad row is {_first_bad(value)}")
    _check_start(problem, guess)


def _check_start(problem: GaitProblem, guess: Trajectory) -> None:
    """The first state of the guess must lie within what the problem gives of it, and its feet within the data."""
    layout = Layout.of(problem.robot, problem.knots, 0)
    lower, upper = bounds(problem, layout)
    for values, places, names, label in (
        (guess.q[0], layout.q_at(0), coordinate_names(problem.robot)[0], "configuration"),
        (guess.v[0], layout.v_at(0), list(problem.robot.dof_names), "velocity"),
    ):
        low, high = lower[places], upper[places]
        outside = np.flatnonzero((values < low - OUTSIDE) | (values > high + OUTSIDE))
        if len(outside):
            entry = outside[0]
            raise OptionError(
                f"the guess starts outside the problem: {names[entry]} of its first {label} is {values[entry]:.4g}, "
                f"must lie within [{low[entry]:.4g}, {high[entry]:.4g}]; shift the guess or widen `initial`"
            )


def _check_terrain(problem: GaitProblem, layout: Layout, lower: np.ndarray, upper: np.ndarray) -> None:
    """The ground must have been given where the robot must go, or would go at the desired speed."""
    first, last = terrain_along_x(problem.ground.surface)
    forward = base_motion(problem.robot).forward_q
    start, goal = ((lower[at][forward], upper[at][forward]) for at in (layout.q_at(0), layout.q_at(layout.knots - 1)))
    way = desired_speed(problem) * problem.seconds
    ends = {"start": start, "goal": goal, "end of the walk": (start[0] + way, start[1] + way)}
    for label, places in ends.items():
        for x in places:
            if np.isfinite(x) and not first <= x <= last:
                raise OptionError(
                    f"the {label}, x = {x:g} m, lies outside the terrain, which reaches from x = {first:g} to "
                    f"{last:g} m: move it, shorten the gait, or use a larger surface"
                )


def terrain_along_x(surface: Surface) -> tuple[float, float]:
    """Where a surface was given along x, m: all of x for those that are formulas."""
    if not isinstance(surface, HeightField | MeshSurface):
        return -np.inf, np.inf
    first = float(surface.spline.origin[0])
    return first, first + float(surface.spline.spacing[0]) * (
        surface.spline.coefficients.shape[0] - 3
    )  # one beyond each end


def _first_bad(value: np.ndarray) -> int:
    return int(np.flatnonzero(~np.isfinite(value).all(axis=1))[0])
