"""Bounds on the unknowns: limits of the robot at every knot, and what is given of the first and last state.

And what can be known to go wrong before the optimiser starts, said in words.
"""

from __future__ import annotations

import numpy as np

from softground.arrays import require_double
from softground.errors import OptionError, unknown_name
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.planning.problem import GaitProblem
from softground.planning.trajectory import Trajectory, desired_speed
from softground.robots.base import base_motion
from softground.runs.dataset import coordinate_names
from softground.surfaces import HeightField, MeshSurface, Surface


def bounds(problem: GaitProblem, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (n,) on the unknowns; OptionError where they cross."""
    lower, upper = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    robot, limits = problem.robot, problem.limits
    every, steps = np.arange(layout.knots), np.arange(layout.knots - 1)
    low_q, high_q = _configuration(problem)
    lower[layout.q_at(every)], upper[layout.q_at(every)] = low_q, high_q
    lower[layout.v_at(every)], upper[layout.v_at(every)] = -limits.speed, limits.speed
    torque = np.asarray(robot.torque_limit if limits.torque is None else limits.torque, dtype=float)
    lower[layout.torque_at(steps)], upper[layout.torque_at(steps)] = -torque / TORQUE_UNIT, torque / TORQUE_UNIT
    q_names, v_names = coordinate_names(robot)[0], list(robot.dof_names)
    for label, boundary, knot in (("initial", problem.initial, 0), ("final", problem.final, layout.knots - 1)):
        _narrow(lower, upper, layout.q_at(knot), boundary.q, q_names, f"{label} configuration")
        _narrow(lower, upper, layout.v_at(knot), boundary.v, v_names, f"{label} velocity")
    return lower, upper


def _configuration(problem: GaitProblem) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (nq,) on the configuration that hold at every knot."""
    robot, limits = problem.robot, problem.limits
    low, high = np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    ranges = np.asarray(robot.joint_range if limits.position is None else limits.position, dtype=float)
    for dof, coordinate in enumerate(robot.dof_q):
        if coordinate >= 0:
            low[coordinate], high[coordinate] = ranges[dof]
    base = base_motion(robot)
    for coordinate in base.attitude_q:
        low[coordinate], high[coordinate] = np.array([-1, 1]) * limits.pitch / base.attitude_factor
    crossed = np.flatnonzero(~(low < high))
    if len(crossed):
        name = coordinate_names(robot)[0][crossed[0]]
        raise OptionError(f"limits of {name} cross: lower {low[crossed[0]]:g}, upper {high[crossed[0]]:g}")
    return low, high


def _narrow(lower, upper, places, given: dict, names: list[str], label: str) -> None:
    """Bound named entries further, in place."""
    for name, value in given.items():
        if name not in names:
            raise OptionError(unknown_name(f"entry of the {label}", name, names))
        low, high = value if isinstance(value, tuple) else (value, value)
        place = places[names.index(name)]
        if low > high:
            raise OptionError(f"bounds of {name} in the {label} cross: lower {low:g}, upper {high:g}")
        if low > upper[place] or high < lower[place]:
            raise OptionError(
                f"{name} of the {label} must lie within its limits [{lower[place]:g}, {upper[place]:g}], "
                f"got [{low:g}, {high:g}]"
            )
        lower[place], upper[place] = max(low, lower[place]), min(high, upper[place])


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
