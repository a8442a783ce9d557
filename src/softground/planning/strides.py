"""One stride of a gait, planned by itself and repeated: where plans of many strides start.

A stride that ends in the state in which it began, further along, is a small problem; a long gait of the same costs has
the same ways to be good in each of its strides and must find them all. Repeated, the stride obeys every step of the
long problem, and what is left to gain there is at its two ends. Of a robot that is its own mirror image half a stride
will do, which ends with left and right exchanged.

A stride has many optima, far apart in cost, and which one a solve finds hangs on rounding. So it is searched for
(`search`): from several walks, drawn and not simulated (`drawn_walk`), the best is kept; then from what its neighbours
lead to (the rear limbs earlier or later, the swing higher, all joints shaken), as long as one of them is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from softground.contact.feet import feet_along
from softground.errors import OptionError
from softground.planning.constraints import Cycle
from softground.planning.costs import Periodicity
from softground.planning.guesses import STRIDE, carried_over, drawn_walk, phases_of, rise, tracked
from softground.planning.library import Command, Solved, command_of, nearest
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem, walking_problem
from softground.planning.search import Move, Search, improved, rank, solved_from
from softground.planning.size import size_of, walking_eps
from softground.planning.solve import solve
from softground.planning.stages import first_stages, near_stages, neighbour_stages
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.robots.mirror import mirror_of
from softground.simulation import Ground
from softground.surfaces import Plane

TURNED = np.deg2rad(5.0)
"""By which a stride is carried from slope to slope at a time."""
SAME = 1e-6
"""Commands that are not further apart have the same stride."""
LAGS = (0.0, 0.125, 0.25, 0.375)
"""Shares of the period by which the rear feet of the drawn walks follow; half a period more is their mirror image."""
MOVED, SWUNG, SHAKEN = (2, 1, 3, 4), (1.5, 0.75, 2.0, 1.25), (0.05, 0.1)
"""Neighbours of a stride, round by round: rear limbs moved by so many steps to either side, swings larger by a factor.
Joints are shaken by so much, rad, each round in another way."""


def stride(problem: GaitProblem, eps: float | None = None, search: Search | None = None) -> Trajectory:
    """A stride at the problem's speed on ground of smoothing `eps` (W), repeated for as long as the problem lasts.

    From the library, carried to the problem's speed and slope, if that has one nearby and no search is asked for.
    """
    robot, surface = problem.robot, problem.ground.surface
    eps = walking_eps(robot) if eps is None else eps
    plane = surface if isinstance(surface, Plane) else Plane()
    one = stride_problem(replace(problem, ground=replace(problem.ground, surface=plane)))
    gait = repeated(robot, whole_stride(one, best_stride(one, eps, search)), problem.knots)
    if plane is surface:
        return gait
    return tracked(problem, gait, eps)


def best_stride(one: GaitProblem, eps: float, search: Search | None = None) -> Trajectory:
    """The solution of a stride's problem on a plane: known, or carried from one that is, or searched for."""
    plane = one.ground.surface
    angle = rise(plane) if isinstance(plane, Plane) else 0.0
    known = nearest(one, angle) if search is None else None
    if known is not None and known[0].apart(command_of(one, angle)) < SAME:
        return known[1]
    if known is not None:
        found = from_known(one, known, angle, eps)
        if found.report.status == "converged":
            return found.trajectory
    level = searched(_on_slope(one, 0.0), eps, search or Search())
    return carried_to(one, level, 0.0, angle, eps).trajectory


def searched(level: GaitProblem, eps: float, search: Search, known: Trajectory | None = None) -> Plan:
    """The best stride that a search finds, from drawn walks or from a stride that is known."""
    if known is None:
        walks = [search.perturbed(walk, number) for number, walk in enumerate(drawn_walks(level))]
        found = solved_from(level, walks, first_stages(eps), search)
    else:
        found = solved_from(level, [search.perturbed(known, 0)], neighbour_stages(eps), search)
    return improved(found, partial(neighbours, level.robot), neighbour_stages(eps), search)


def from_known(one: GaitProblem, known: tuple[Command, Trajectory], angle: float, eps: float) -> Plan:
    """A stride on a slope (rad) from that of another command: at its own speed first, then from slope to slope."""
    command, trajectory = known
    there = _on_slope(one, command.slope)
    found = _solved_near(there, trajectory, eps)
    return carried_to(one, found, command.slope, angle, eps)


def carried_to(one: GaitProblem, found: Plan, before: float, angle: float, eps: float) -> Plan:
    """A stride from one slope to another (rad), by small turns."""
    for part in np.linspace(before, angle, 1 + int(np.ceil(abs(angle - before) / TURNED)))[1:]:
        there = _on_slope(one, float(part))
        found = _solved_near(there, carried_over(there, found, eps), eps)
    return found


def _solved_near(problem: GaitProblem, guess: Trajectory, eps: float) -> Plan:
    """What a guess leads to; by way of blurred ground where that is not a solution."""
    found = solve(problem, guess, stages=near_stages(eps), progress=False)
    if found.report.status == "converged":
        return found
    return min(found, solve(problem, guess, stages=neighbour_stages(eps)[2:], progress=False), key=rank)


def stride_for(robot: Robot, ground: Ground, command: Command, known: tuple[Command, Trajectory] | None) -> Solved:
    """The stride for a command, from a known one or by a search; None where it does not converge (`library.build`)."""
    eps = walking_eps(robot)
    one = stride_problem(walking_problem(robot, ground, command.speed))
    if known is None:
        found = carried_to(one, searched(_on_slope(one, 0.0), eps, Search()), 0.0, command.slope, eps)
    else:
        found = from_known(one, known, command.slope, eps)
    return (found.report.objective, found.trajectory) if found.report.status == "converged" else None


def stride_problem(problem: GaitProblem, steps: int = STRIDE) -> GaitProblem:
    """The problem of one stride of so many steps: it ends as it began. Half a stride where the robot allows that."""
    costs = tuple(cost for cost in problem.costs if not isinstance(cost, Periodicity))
    mirrored = steps % 2 == 0 and mirror_of(problem.robot) is not None
    knots = (steps // 2 if mirrored else steps) + 1
    return replace(problem, knots=knots, costs=costs, constraints=(*problem.constraints, Cycle(mirrored)))


def whole_stride(problem: GaitProblem, stride: Trajectory) -> Trajectory:
    """The stride that solves the problem of one, or of half of one."""
    cycle = next(one for one in problem.constraints if isinstance(one, Cycle))
    return both_sides(problem.robot, stride) if cycle.mirrored else stride


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


# -- where strides start -------------------------------------------------------------------------------------------


def drawn_walks(problem: GaitProblem) -> list[Trajectory]:
    """Walks that differ in how the rear feet follow those in front; of a biped, in how far apart its steps are."""
    sunk = 0.04 * size_of(problem.robot)
    if _rear_joints(problem.robot).any():
        return [drawn_walk(problem, lag=lag, sunk=sunk) for lag in LAGS]
    return [drawn_walk(problem, duty=duty, sunk=sunk) for duty in (0.55, 0.6, 0.65, 0.7)]


def neighbours(robot: Robot, number: int) -> list[Move]:
    """Ways from a stride to one that may lead to a better one, in a round of this number."""
    rear = _rear_joints(robot)
    steps, factor = MOVED[number % len(MOVED)], SWUNG[number % len(SWUNG)]
    moves = [
        *(_Lag(side * steps) for side in (1, -1) if rear.any()),
        *(_Swing(row, factor) for row in (rear, ~rear) if row.any()),
        *(_Shake(size, seed + len(SHAKEN) * number) for seed, size in enumerate(SHAKEN)),
    ]
    return [_on_whole_stride(move) for move in moves]


def _on_whole_stride(move: Callable[[Robot, Trajectory], Trajectory]) -> Move:
    def moved(plan: Plan) -> Trajectory:
        robot = plan.problem.robot
        whole = _within_limits(robot, move(robot, whole_stride(plan.problem, plan.trajectory)))
        knots = plan.trajectory.knots
        return Trajectory(whole.q[:knots], whole.v[:knots], whole.torque[: knots - 1], whole.dt)

    return moved


def _within_limits(robot: Robot, trajectory: Trajectory) -> Trajectory:
    q = trajectory.q.copy()
    for dof in robot.actuated:
        entry = robot.dof_q[dof]
        q[:, entry] = np.clip(q[:, entry], *np.asarray(robot.joint_range)[dof])
    return trajectory._replace(q=q)


def _rear_joints(robot: Robot) -> np.ndarray:
    """Which actuators (nu,) move rear feet and none in front."""
    rear = phases_of(robot, 0.25) % 0.5 > 0.1
    support = _limbs(robot)
    return np.asarray(support[rear].any(axis=0) & ~support[~rear].any(axis=0))


def _limbs(robot: Robot) -> np.ndarray:
    """Which actuators move which feet, (feet, nu)."""
    return robot.tree.body_support[[foot.body for foot in robot.feet]][:, list(robot.actuated)].astype(bool)


@dataclass(frozen=True)
class _Lag:
    """Rear limbs move so many steps earlier."""

    steps: int

    def __call__(self, robot: Robot, stride: Trajectory) -> Trajectory:
        rear = _rear_joints(robot)
        dofs = np.array(robot.actuated)[rear]
        entries = np.array(robot.dof_q)[dofs]
        count = stride.knots - 1
        later = (np.arange(count + 1) + self.steps) % count
        q, v, torque = stride.q.copy(), stride.v.copy(), stride.torque.copy()
        q[:, entries], v[:, dofs] = stride.q[later][:, entries], stride.v[later][:, dofs]
        torque[:, rear] = stride.torque[later[:-1]][:, rear]
        return Trajectory(q, v, torque, stride.dt)


@dataclass(frozen=True, eq=False)
class _Swing:
    """Limbs in the air move further from the line between where they leave the ground and where they come down."""

    joints: np.ndarray  # (nu,) of the limbs meant
    factor: float

    def __call__(self, robot: Robot, stride: Trajectory) -> Trajectory:
        q, count = stride.q.copy(), stride.knots - 1
        depth = np.asarray(feet_along(robot, Plane(), stride.q).depth)[:count]
        support = _limbs(robot)
        for foot in range(len(robot.feet)):
            limb = support[foot] & self.joints
            entries = np.array(robot.dof_q)[np.array(robot.actuated)[limb]]
            for first, after in swings(depth[:, foot] < 0):
                share = (np.arange(first, after) - first + 1)[:, None] / (after - first + 1)
                at = np.arange(first, after) % count
                start, end = stride.q[(first - 1) % count, entries], stride.q[after % count, entries]
                line = (1 - share) * start + share * end
                q[at[:, None], entries] = line + self.factor * (stride.q[at[:, None], entries] - line)
        q[-1, np.array(robot.dof_q)[list(robot.actuated)]] = q[0, np.array(robot.dof_q)[list(robot.actuated)]]
        return stride._replace(q=q)


def swings(in_air: np.ndarray) -> list[tuple[int, int]]:
    """First step and the one after the last (which may pass the end) of every time in the air, of a cycle."""
    count = len(in_air)
    if in_air.all() or not in_air.any():
        return []
    starts = [k for k in range(count) if in_air[k] and not in_air[k - 1]]
    return [(k, next(j for j in range(k, 2 * count) if not in_air[j % count])) for k in starts]


@dataclass(frozen=True)
class _Shake:
    """All joints move a little more or less, smoothly, by amounts that a seed decides."""

    size: float  # rad
    seed: int

    def __call__(self, robot: Robot, stride: Trajectory) -> Trajectory:
        rng = np.random.default_rng(self.seed)
        joints = np.array(robot.dof_q)[list(robot.actuated)]
        turn = 2 * np.pi * np.arange(stride.knots) / (stride.knots - 1)
        waves = np.stack([wave(times * turn) for times in (1, 2) for wave in (np.cos, np.sin)], axis=1)
        q = stride.q.copy()
        q[:, joints] += self.size * waves @ rng.normal(size=(4, len(joints)))
        return stride._replace(q=q)
