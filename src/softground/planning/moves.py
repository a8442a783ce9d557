"""From strides to others near them that may lead to better ones (`search`).

A stride is as good as its limbs are: in front and in the rear each pair has many ways to swing, and the base hardly
moves. So the rear limbs of one stride may go with the front limbs of another (`crossed`), and each pair can be changed
by itself: moved in time, swung further, shaken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from softground.contact.feet import feet_along
from softground.planning.drawn import limbs, rear_feet
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.surfaces import Plane

Move = Callable[[Robot, Trajectory], Trajectory]
"""From a whole stride to another one."""

MOVED, SWUNG, SHAKEN = (2, 1, 3, 4), (1.5, 0.75, 2.0, 1.25), (0.05, 0.1)
"""Neighbours of a stride, round by round: rear limbs moved by so many steps to either side, swings larger by a factor.
Joints are shaken by so much, rad, each round in another way."""


def neighbours(robot: Robot, number: int) -> list[Move]:
    """Moves of a round of this number."""
    rear = rear_joints(robot)
    steps, factor = MOVED[number % len(MOVED)], SWUNG[number % len(SWUNG)]
    return [
        *(_Lag(side * steps) for side in (1, -1) if rear.any()),
        *(_Swing(row, factor) for row in (rear, ~rear) if row.any()),
        *(_Shake(size, seed + len(SHAKEN) * number) for seed, size in enumerate(SHAKEN)),
    ]


def crossed(robot: Robot, front: Trajectory, rear: Trajectory) -> Trajectory:
    """The front limbs of one stride with the rear limbs of another, which starts when it is most like the first."""
    rear = _later(robot, rear, _alike(robot, front, rear))
    taken = rear_joints(robot)
    dofs = np.array(robot.actuated)
    base = np.setdiff1d(np.arange(robot.nv), dofs)
    q, v, torque = front.q.copy(), front.v.copy(), front.torque.copy()
    entries = np.array(robot.dof_q)[dofs]
    own = np.setdiff1d(np.arange(robot.nq), entries)
    q[:, entries[taken]], v[:, dofs[taken]] = rear.q[:, entries[taken]], rear.v[:, dofs[taken]]
    q[:, own], v[:, base] = (front.q[:, own] + rear.q[:, own]) / 2, (front.v[:, base] + rear.v[:, base]) / 2
    torque[:, taken] = rear.torque[:, taken]
    return Trajectory(q, v, torque, front.dt)


def pairs(efforts: np.ndarray, done: set[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Which fronts to cross with which rears, (strides, 2) by their efforts: the cheapest that were not yet."""
    order = sorted(
        (efforts[i, 0] + efforts[j, 1], i, j)
        for i in range(len(efforts))
        for j in range(len(efforts))
        if i != j and (i, j) not in done
    )
    return [(i, j) for _, i, j in order[:count]]


def efforts_of(robot: Robot, strides: Sequence[Trajectory]) -> np.ndarray:
    """Torque squared of front and rear limbs, (strides, 2), (N m)^2."""
    rear = rear_joints(robot)
    squares = [(stride.torque**2).sum(axis=0) for stride in strides]
    return np.array([[one[~rear].sum(), one[rear].sum()] for one in squares])


def rear_joints(robot: Robot) -> np.ndarray:
    """Which actuators (nu,) move rear feet and none in front."""
    rear, support = rear_feet(robot), limbs(robot)
    return np.asarray(support[rear].any(axis=0) & ~support[~rear].any(axis=0))


def swings(in_air: np.ndarray) -> list[tuple[int, int]]:
    """First step and the one after the last (which may pass the end) of every time in the air, of a cycle."""
    count = len(in_air)
    if in_air.all() or not in_air.any():
        return []
    starts = [k for k in range(count) if in_air[k] and not in_air[k - 1]]
    return [(k, next(j for j in range(k, 2 * count) if not in_air[j % count])) for k in starts]


# -- in time -------------------------------------------------------------------------------------------------------


def _later(robot: Robot, stride: Trajectory, steps: int) -> Trajectory:
    """A whole stride that starts so many steps later, at the place where it started before."""
    count, base = stride.knots - 1, base_motion(robot)
    at = (np.arange(count + 1) + steps) % count
    place = [base.forward_q, base.up_q]
    way = (stride.q[-1, place] - stride.q[0, place]) * (np.arange(count + 1) / count)[:, None]
    q = stride.q.copy()
    q[:, place] -= way
    q = q[at]
    q[:, place] += way - (q[0, place] - stride.q[0, place]) * [1.0, 0.0]
    return Trajectory(q, stride.v[at], stride.torque[at[:-1]], stride.dt)


def _alike(robot: Robot, one: Trajectory, other: Trajectory) -> int:
    """By how many steps another stride must start later to have its feet in the ground when this one has."""
    mine, theirs = (np.asarray(feet_along(robot, Plane(), each.q[:-1]).depth) > 0 for each in (one, other))
    return int(np.argmin([(mine != np.roll(theirs, -steps, axis=0)).sum() for steps in range(len(mine))]))


# -- moves ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lag:
    """Rear limbs move so many steps earlier."""

    steps: int

    def __call__(self, robot: Robot, stride: Trajectory) -> Trajectory:
        rear = rear_joints(robot)
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
        support = limbs(robot)
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
