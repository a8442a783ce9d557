"""What is measured of a motion: turns and lean of the base, the way ahead, work of the actuators, stances of the feet.

**Turns.** A base frame may point anywhere: iCub's x points backwards, others have z along the spine. So only turns
since the start of the run are looked at. They are rotations of the world's vectors, in which the base's own axes do not
occur.

**Way**, along the ground and in the robot's own heading. No model file says which way a robot looks, and base frames
point anywhere. So "ahead" is taken from the motion itself. Every displacement of the centre of mass is laid into the
ground (its part along the normal is left out) and turned back by what the base has turned since the start, about the
normal. The sum s of all these is where the robot would have got had it not turned. Ahead is the direction of s, fixed
in the robot's heading, and the way is the part along it:

    ahead = s / |s|,      way(t) = sum up to t of (displacement, turned back) . ahead,      way(end) = |s|

So a robot that turns gets ahead, too, and one that walks sideways or backwards all the time gets ahead by that. What it
sways to and fro is no way; a drift aside by d over a way of w adds d^2 / 2w. In a run shorter than a few strides s is
also made of the sway from foot to foot: it is then the way that the robot went, not that which it meant to go. On a
slope the way is along the slope, longer than its projection by 1 / cos(slope).

**Work.** The torque of a sample acts in the step that begins there, while the joint goes from its position at the
step's start to that at its end. So the work of a step is torque times displacement: exact, and, joints being moved with
the velocity at the step's end, not the torque times the velocity of the same sample.

Of a run that keeps one sample per n steps the displacement from sample to sample is still exact. Its torque is known in
one step of n, and taken as linear from a sample to the next: over steps 0 to n - 1 its mean is

    torque_k + (n - 1) / (2 n) (torque_k+1 - torque_k),

which is torque_k itself for n = 1. What is left is an error of second order in the time between samples, and whatever
the actuators do and undo in between is lost.

**Stances** are intervals in which a foot carries: one definition, for costs, figures and studies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from softground.robots.rotations import (
    axis_angle_quaternion_numpy,
    quaternion_between_numpy,
    quaternion_matrix_numpy,
    quaternion_product_numpy,
)

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion

AVERAGED = 1.0
"""s, over which heading and ground are averaged where a way is measured: waddling from foot to foot is no turn, and a
bump no slope."""

BACK = np.array([1.0, -1.0, -1.0, -1.0])
"""Factors of a quaternion's parts that turn it into its inverse."""


def turned(run: RobotMotion) -> Float[np.ndarray, "t 4"]:
    """Rotation (quaternion, world axes) of the base from the start of the run to every sample."""
    orientation = run["base_quaternion"].values
    return quaternion_between_numpy(orientation, orientation[0])


def base_tilt(run: RobotMotion) -> Float[np.ndarray, " t"]:
    """Angle (rad) by which the base leans away from how it stood at the start of the run.

    Taken is the direction, fixed in the base, that pointed up (against gravity) at the start: by how much it is off up
    now. On a slope a robot may stand square to the ground instead, and turn about its normal: then it is the direction
    that pointed along the normal, against the normal now. Neither leans, so the angle is the lesser of the two.
    """
    normal = averaged(run.ground_normal(), run["time"].values)
    base, up = quaternion_matrix_numpy(turned(run)), run.up
    return np.minimum(angle_between(base @ up, up), angle_between(base @ normal[0], normal))


def angle_between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Angle between vectors (rad)."""
    return np.arctan2(np.linalg.norm(np.cross(one, other), axis=-1), np.sum(one * other, axis=-1))


def heading(run: RobotMotion) -> Float[np.ndarray, " t"]:
    """Angle (rad, to the left) by which the base has turned about the ground's normal since the start of the run.

    A rotation is a turn about the normal and then a lean, about an axis in the ground; this is the turn. Where the
    ground is not plane its normal (averaged over a second) changes along the way: the least rotation that follows it is
    taken out first.
    """
    normal = averaged(run.ground_normal(), run["time"].values)
    turns = quaternion_product_numpy(least_rotation(normal) * BACK, turned(run))
    angle = np.unwrap(2 * np.arctan2(turns[:, 1:] @ _unit(normal[0]), turns[:, 0]))
    return angle - angle[0]


def averaged(values: np.ndarray, time: Float[np.ndarray, " t"]) -> np.ndarray:
    """Samples (t, ...) averaged over the second around each; at its ends a run goes on as it is there."""
    if len(time) < 2:
        return values
    window = max(1, round(AVERAGED / float(time[1] - time[0])))
    first = np.repeat(values[:1], window // 2 + 1, axis=0)
    last = np.repeat(values[-1:], (window - 1) // 2, axis=0)
    total = np.cumsum(np.concatenate([first, values, last]) - values[0], axis=0)  # of what stays the same: exactly 0
    return values[0] + (total[window:] - total[:-window]) / window


def least_rotation(normal: Float[np.ndarray, "t 3"]) -> Float[np.ndarray, "t 4"]:
    """Rotations (quaternions) of least angle from the first of some directions to each of them."""
    unit = _unit(normal)
    return _unit(np.concatenate([1 + unit @ unit[0][:, None], np.cross(unit[0], unit)], axis=-1))


def up_against(gravity: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
    """Unit vector against gravity (world); where there is none, the world's z."""
    strength = float(np.linalg.norm(gravity))
    return -gravity / strength if strength else np.array([0.0, 0.0, 1.0])


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def way_ahead(run: RobotMotion) -> Float[np.ndarray, " t"]:
    """Way (m) of the centre of mass ahead since the start of the run."""
    time = run["time"].values
    if len(time) < 2:
        return np.zeros(len(time))
    normal = averaged(run.ground_normal(), time)
    angle = averaged(heading(run), time)
    normal, angle = np.concatenate([normal[:1], _between(normal)]), _between(angle)  # a step goes as half way along it
    level = _rotated(least_rotation(normal)[1:] * BACK, np.diff(run["center_of_mass"].values, axis=0))
    upright = normal[0] / np.linalg.norm(normal[0])
    along = level - np.outer(level @ upright, upright)
    steps = _rotated(axis_angle_quaternion_numpy(upright, -angle), along)
    total = steps.sum(axis=0)
    length = float(np.linalg.norm(total))
    ahead = total / length if length else total
    return np.append(0.0, np.cumsum(steps @ ahead))


def _rotated(quaternions: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.einsum("tij,tj->ti", quaternion_matrix_numpy(quaternions), vectors)


def _between(samples: np.ndarray) -> np.ndarray:
    """Means of neighbours."""
    return (samples[1:] + samples[:-1]) / 2


def actuator_work(run: RobotMotion) -> Float[np.ndarray, "s m"]:
    """Mechanical work (J) of every actuator from each sample to the next, positive when it drives."""
    torque = run["torque"].values
    position = run["configuration"].sel(q=run["actuator"].values).values
    steps = _steps(run)[:, None]
    mean_torque = torque[:-1] + (steps - 1) / (2 * steps) * np.diff(torque, axis=0)
    return mean_torque * np.diff(position, axis=0)


def actuator_power(run: RobotMotion) -> Float[np.ndarray, "t m"]:
    """Mechanical power (W) of every actuator, positive when it drives: mean from each sample to the next.

    Of the last sample, which nothing follows, it is that at the start of its step.
    """
    last = run["torque"].values[-1] * run["velocity"].values[-1, run["actuator_dof"].values]
    between = actuator_work(run) / (_steps(run) * float(run.attrs["dt_s"]))[:, None]
    return np.concatenate([between, last[None]])


def _steps(run: RobotMotion) -> Float[np.ndarray, " s"]:
    """Number of steps from each sample to the next."""
    return np.maximum(np.round(np.diff(run["time"].values) / float(run.attrs["dt_s"])), 1.0)


CARRIES = 0.1
"""A foot is in stance while it carries more than this share of the weight."""
SHORTEST_STANCE = 0.02
"""s: what is shorter is a bounce."""


@dataclass(frozen=True)
class Stance:
    """A complete stance of a foot: it begins and ends within the run."""

    foot: str
    start: float  # s
    end: float  # s
    first: int  # sample of the run
    last: int  # sample, the first in which the foot no longer carries

    @property
    def samples(self) -> slice:
        """Rows of the run, from the first sample to the last."""
        return slice(self.first, self.last + 1)


def find_stances(run: RobotMotion) -> list[Stance]:
    """Every stance that begins and ends within the run, in the order in which they begin."""
    time = run["time"].values
    found = []
    for foot, force in zip(run["foot"].values, run.vertical_force().T, strict=True):
        for first, last in loaded_intervals(force > CARRIES * run.weight):
            if time[last] - time[first] >= SHORTEST_STANCE:
                found.append(Stance(str(foot), float(time[first]), float(time[last]), first, last))
    return sorted(found, key=lambda stance: stance.start)


def loaded_intervals(loaded: Bool[np.ndarray, " t"]) -> list[tuple[int, int]]:
    """First sample of every run of True, and the first sample after it; runs that touch an end are left out."""
    change = np.diff(loaded.astype(int))
    begins, ends = np.flatnonzero(change == 1) + 1, np.flatnonzero(change == -1) + 1
    ends = ends[ends > begins[0]] if len(begins) else ends[:0]
    return list(zip(begins.tolist(), ends.tolist(), strict=False))
