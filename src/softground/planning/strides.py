"""One stride of a gait, planned by itself and repeated: where plans of many strides start.

A stride that ends in the state in which it began, further along, is a small problem with few ways to be good; a long
gait of the same costs has the same ways in each of its strides and must find them all. Repeated, the stride obeys every
step of the long problem, and what is left to gain there is at its two ends.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softground.errors import OptionError
from softground.planning.constraints import Cycle
from softground.planning.costs import Periodicity
from softground.planning.guesses import carried_over, rise, stride_seconds, walk_at_speed
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem
from softground.planning.solve import solve
from softground.planning.stages import blurred_stages, near_stages
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.robots.mirror import mirror_of
from softground.simulation import Ground
from softground.surfaces import Plane

TURNED = np.deg2rad(5.0)
"""By which a stride is carried from slope to slope at a time."""


def stride(problem: GaitProblem, eps: float = 1.0) -> Trajectory:
    """A stride at the problem's speed on ground of smoothing `eps` (W), repeated for as long as the problem lasts."""
    found = stride_plan(problem, eps)
    if isinstance(problem.ground.surface, Plane):
        return repeated(problem.robot, found.trajectory, problem.knots)
    long = replace(problem, ground=Ground(problem.ground.medium))
    gait = replace(found, problem=long, trajectory=repeated(problem.robot, found.trajectory, problem.knots))
    return carried_over(problem, gait, eps)


def stride_plan(problem: GaitProblem, eps: float = 1.0) -> Plan:
    """One stride by itself: from a walk on level ground, then from slope to slope; level if the ground is no plane."""
    surface = problem.ground.surface
    angle = rise(surface) if isinstance(surface, Plane) else 0.0
    one = stride_problem(problem, stride_seconds(problem.robot))
    level = _on_slope(one, 0.0)
    walk = walk_at_speed(level, eps, period=level.seconds)
    found = solve(level, walk, stages=blurred_stages(eps), progress=False)
    for part in np.linspace(0.0, angle, 1 + int(np.ceil(abs(angle) / TURNED)))[1:]:
        there = _on_slope(one, float(part))
        found = solve(there, carried_over(there, found, eps), stages=near_stages(eps), progress=False)
    return found


def stride_problem(problem: GaitProblem, seconds: float) -> GaitProblem:
    """The problem of one stride: it lasts so long (s) and ends as it began."""
    costs = tuple(cost for cost in problem.costs if not isinstance(cost, Periodicity))
    knots = round(seconds / problem.dt) + 1
    return replace(problem, knots=knots, costs=costs, constraints=(*problem.constraints, Cycle()))


def repeated(robot: Robot, stride: Trajectory, knots: int) -> Trajectory:
    """A stride again and again, until there are so many knots."""
    steps = stride.knots - 1
    base = base_motion(robot)
    place = [base.forward_q, base.up_q]
    way = stride.q[-1, place] - stride.q[0, place]
    times = -(-(knots - 1) // steps)
    q = np.concatenate([np.tile(stride.q[:-1], (times, 1)), stride.q[-1:]])
    number = np.append(np.repeat(np.arange(times), steps), times - 1)
    q[:, place] += number[:, None] * way
    v = np.concatenate([stride.v[:1], np.tile(stride.v[1:], (times, 1))])
    return Trajectory(q[:knots], v[:knots], np.tile(stride.torque, (times, 1))[: knots - 1], stride.dt)


def both_sides(robot: Robot, half: Trajectory) -> Trajectory:
    """A whole stride from its first half: the second is the first with left and right exchanged, further along."""
    mirror = mirror_of(robot)
    if mirror is None:
        raise OptionError(f"{robot.name} is not its own mirror image: half a stride says nothing of the other half")
    base = base_motion(robot)
    place = [base.forward_q, base.up_q]
    q = mirror.q(half.q[1:])
    q[:, place] = half.q[1:, place] + half.q[-1, place] - half.q[0, place]
    return Trajectory(
        np.concatenate([half.q, q]),
        np.concatenate([half.v, mirror.v(half.v[1:])]),
        np.concatenate([half.torque, mirror.torque(half.torque)]),
        half.dt,
    )


def _on_slope(problem: GaitProblem, angle: float) -> GaitProblem:
    return replace(problem, ground=replace(problem.ground, surface=Plane(slope=angle)))
