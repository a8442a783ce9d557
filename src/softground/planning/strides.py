"""One stride of a gait, planned by itself and repeated: where plans of many strides start.

A stride that ends in the state in which it began, further along, is a small problem; a long gait of the same costs has
the same ways to be good in each of its strides and must find them all. Repeated, the stride obeys every step of the
long problem, and what is left to gain there is at its two ends. Of a robot that is its own mirror image half a stride
will do, which ends with left and right exchanged.

A stride has many optima, far apart in cost, and which one a solve finds hangs on rounding. So it is searched for
(`search`): from many walks, drawn and not simulated (`drawn`), then from what is made of the best of them (`moves`):
the front limbs of one with the rear limbs of another, limbs earlier or later, higher, shaken; as long as that helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from softground.errors import OptionError
from softground.media import medium_of
from softground.planning.carrying import check_carried
from softground.planning.constraints import Cycle
from softground.planning.costs import Periodicity
from softground.planning.drawn import drawn_walk, manners
from softground.planning.guesses import STRIDE, carried_over, draped, rise, turned
from softground.planning.library import Command, Solved, near
from softground.planning.moves import crossed, efforts_of, neighbours, pairs, rear_joints
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem, walking_problem
from softground.planning.search import Search, improved, rank, solved_from
from softground.planning.size import size_of, walking_eps, within_limits
from softground.planning.solve import solve
from softground.planning.stages import first_stages, near_stages, neighbour_stages, spatial_stages
from softground.planning.trajectory import Trajectory, desired_speed
from softground.planning.transcription import Transcription
from softground.planning.twin import in_space, twin_of
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.robots.catalogue import Recipe
from softground.robots.mirror import mirror_of
from softground.simulation import Ground
from softground.surfaces import Plane

CLOSED = 5e-4
"""Violation of a step's rows that a stride may lead to where it is repeated: half of what is tolerated."""
TRIED = 3
"""Entries of the library from which a stride is made before it is searched for."""
TWINS = Search(starts=8, rounds=3)
"""How long to look for a stride of a planar twin: it is a start, and what it costs is not what it costs in space."""
TURNED = np.deg2rad(5.0)
"""By which a stride is carried from slope to slope at a time."""


def stride(problem: GaitProblem, eps: float | None = None, search: Search | None = None) -> Trajectory:
    """A stride at the problem's speed on ground of smoothing `eps` (W), repeated for as long as the problem lasts.

    From the library, carried to the problem's speed and slope, if that has one nearby and no search is asked for.
    """
    robot, surface = problem.robot, problem.ground.surface
    eps = walking_eps(robot) if eps is None else eps
    plane = surface if isinstance(surface, Plane) else Plane()
    one = stride_problem(replace(problem, ground=replace(problem.ground, surface=plane)))
    gait = repeated(robot, whole_stride(one, best_stride(one, eps, search).trajectory), problem.knots)
    if plane is surface:
        return gait
    return draped(problem, gait)


def best_stride(one: GaitProblem, eps: float, search: Search | None = None) -> Plan:
    """The solution of a stride's problem on a plane: carried from one that is known, or searched for."""
    plane = one.ground.surface
    angle = rise(plane) if isinstance(plane, Plane) else 0.0
    known = from_library(one, eps) if search is None else None
    if known is not None:
        return known
    check_carried(one)
    twin = twin_of(one.robot)
    if twin is not None:
        return from_twin(one, twin, angle, eps, search or TWINS)
    level = searched(_on_slope(one, 0.0), eps, search or Search())
    return carried_to(one, level, 0.0, angle, eps)


def from_library(one: GaitProblem, eps: float) -> Plan | None:
    """What the entries of the library that are nearest lead to; None where none of them leads to a stride."""
    plane = one.ground.surface
    angle = rise(plane) if isinstance(plane, Plane) else 0.0
    found = []
    for known in near(one, angle)[:TRIED]:
        found.append(from_known(one, known, angle, eps))
        if closed(found[-1]):
            return found[-1]
    return next((one for one in found if one.report.status == "converged"), None)


def from_twin(one: GaitProblem, twin: Robot, angle: float, eps: float, search: Search) -> Plan:
    """A stride in space by way of the best one that the robot's planar twin finds, on the same slope (rad)."""
    steps = one.knots - 1 if not _mirrored(one) else 2 * (one.knots - 1)
    flat = walking_problem(twin, one.ground, desired_speed(one), knots=steps + 1, dt=one.dt)
    flat = stride_problem(flat, steps)
    best = best_stride(flat, eps, search).trajectory
    start = first_knots(in_space(one.robot, twin, whole_stride(flat, best)), one.knots)
    found = solve(one, start, stages=spatial_stages(eps), progress=False)
    return found if closed(found) else solved_near(one, found.trajectory, eps)


def searched(level: GaitProblem, eps: float, search: Search, known: Trajectory | None = None) -> Plan:
    """The best stride that a search finds, from drawn walks or from a stride that is known."""
    if known is None:
        walks = [search.perturbed(walk, number) for number, walk in enumerate(drawn_walks(level, search))]
        found = solved_from(level, walks, first_stages(eps), search)
    else:
        start = search.perturbed(known, 0)
        found = [
            plan for way in (near_stages, neighbour_stages) for plan in solved_from(level, [start], way(eps), search)
        ]
    return improved(found, Children(level.robot), neighbour_stages(eps), search)


def from_known(one: GaitProblem, known: tuple[Command, Trajectory], angle: float, eps: float) -> Plan:
    """A stride on a slope (rad) from that of another command: at once where that is near, else at its own slope first,
    then from slope to slope."""
    command, trajectory = known
    if one.robot.planar and 0 < abs(angle - command.slope) <= TURNED:
        start = turned(one.robot, trajectory, angle - command.slope)
        found = solve(_on_slope(one, angle), start, stages=near_stages(eps), progress=False)
        if closed(found):
            return found
    found = solved_near(_on_slope(one, command.slope), trajectory, eps)
    return carried_to(one, found, command.slope, angle, eps)


def carried_to(one: GaitProblem, found: Plan, before: float, angle: float, eps: float) -> Plan:
    """A stride from one slope to another (rad), by small turns."""
    for part in np.linspace(before, angle, 1 + int(np.ceil(abs(angle - before) / TURNED)))[1:]:
        there = _on_slope(one, float(part))
        found = solved_near(there, carried_over(there, found, eps), eps)
    return found


def solved_near(problem: GaitProblem, guess: Trajectory, eps: float) -> Plan:
    """What a guess leads to; where that is not closed yet it goes on from there, or by way of blurred ground."""
    found = [solve(problem, guess, stages=near_stages(eps), progress=False)]
    if found[0].report.status == "converged" and not closed(found[0]):
        found.append(solve(problem, found[0].trajectory, stages=near_stages(eps), progress=False))
    if not closed(found[-1]):
        found.append(solve(problem, guess, stages=neighbour_stages(eps)[2:], progress=False))
    return min(found, key=lambda one: (not closed(one), rank(one)))


def closed(stride: Plan) -> bool:
    """Whether a stride is solved, so well that it can be repeated.

    A step has to make up for what its end misses its start by; and the feet's twists are those of the trajectory then,
    where the optimiser's own may differ from them by what a row tolerates, and forces with them.
    """
    if stride.report.status != "converged" or stride.report.violation > CLOSED * stride.problem.dt:
        return False
    again = Transcription(stride.problem)
    return again.violation(again.unknowns(stride.trajectory, stride.eps), stride.eps) <= CLOSED


@dataclass(frozen=True)
class StrideFor:
    """Finds strides of a robot on a medium of which the strength is given: from a known one, or by a search."""

    robot: Recipe
    ground: str  # name of the medium

    def __call__(self, command: Command, known: tuple[Command, Trajectory] | None) -> Solved:
        """The stride for a command; None where it does not converge (`library.build`)."""
        robot = Robot.from_recipe(self.robot)
        eps = walking_eps(robot)
        soil = Ground(medium_of(self.ground, robot, strength=command.strength))
        one = _on_slope(stride_problem(walking_problem(robot, soil, command.speed)), command.slope)
        if known is None:
            found = best_stride(one, eps, Search())
        else:
            found = from_known(one, known, command.slope, eps)
        return (found.report.objective, found.trajectory) if closed(found) else None


def stride_problem(problem: GaitProblem, steps: int = STRIDE) -> GaitProblem:
    """The problem of one stride of so many steps: it ends as it began. Half a stride where the robot allows that."""
    costs = tuple(cost for cost in problem.costs if not isinstance(cost, Periodicity))
    mirrored = steps % 2 == 0 and mirror_of(problem.robot) is not None
    knots = (steps // 2 if mirrored else steps) + 1
    return replace(problem, knots=knots, costs=costs, constraints=(*problem.constraints, Cycle(mirrored)))


def whole_stride(problem: GaitProblem, stride: Trajectory) -> Trajectory:
    """The stride that solves the problem of one, or of half of one."""
    return both_sides(problem.robot, stride) if _mirrored(problem) else stride


def _mirrored(problem: GaitProblem) -> bool:
    """Whether a stride's problem is that of half of one."""
    return next(one for one in problem.constraints if isinstance(one, Cycle)).mirrored


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


def _on_slope(problem: GaitProblem, angle: float) -> GaitProblem:
    return replace(problem, ground=replace(problem.ground, surface=Plane(slope=angle)))


# -- where a search starts, and where it goes ----------------------------------------------------------------------


def drawn_walks(problem: GaitProblem, search: Search) -> list[Trajectory]:
    """So many walks as a search starts from, in manners as different as they can be."""
    sunk = 0.04 * size_of(problem.robot)
    return [drawn_walk(problem, manner, sunk=sunk) for manner in islice(manners(search.seed), search.starts)]


class Children:
    """Guesses of every round of a search: crossings of the best fronts and rears, and neighbours of the best stride.

    Where rounds are in vain, neighbours are those of the second best, and so on.
    """

    def __init__(self, robot: Robot, parents: int = 8, crossings: int = 5):
        self.robot, self.parents, self.crossings = robot, parents, crossings
        self.done: set[tuple[float, float]] = set()

    def __call__(self, number: int, known: Sequence[Plan], idle: int) -> list[Trajectory]:
        known = known[: self.parents]
        strides = [whole_stride(plan.problem, plan.trajectory) for plan in known]
        names = [plan.report.objective for plan in known]
        made = {(i, j) for i, a in enumerate(names) for j, b in enumerate(names) if (a, b) in self.done}
        chosen = pairs(efforts_of(self.robot, strides), made, self.crossings) if rear_joints(self.robot).any() else []
        self.done |= {(names[i], names[j]) for i, j in chosen}
        parent, moves = strides[min(idle, len(strides) - 1)], neighbours(self.robot, number)
        found = [
            *(crossed(self.robot, strides[i], strides[j]) for i, j in chosen),
            *(move(self.robot, parent) for move in (moves[number % 2 :: 2] if chosen else moves)),
        ]
        knots = known[0].trajectory.knots
        return [first_knots(possible(self.robot, stride), knots) for stride in found]


def possible(robot: Robot, stride: Trajectory) -> Trajectory:
    """The stride with its joints within their limits."""
    return stride._replace(q=within_limits(robot, stride.q))


def first_knots(stride: Trajectory, knots: int) -> Trajectory:
    """The beginning of a trajectory."""
    return Trajectory(stride.q[:knots], stride.v[:knots], stride.torque[: knots - 1], stride.dt)
