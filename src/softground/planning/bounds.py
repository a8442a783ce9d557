"""Bounds on the unknowns: limits of the robot at every knot, and what is given of the first and last state."""

from __future__ import annotations

import numpy as np

from softground.errors import OptionError, unknown_name
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.planning.problem import GaitProblem
from softground.robots.base import base_motion
from softground.runs.dataset import coordinate_names


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
