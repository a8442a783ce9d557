"""A humanoid in motion, and its quantities along that motion: what the tasks' claims are measured against.

The motion has a given velocity and acceleration at time 0. Along it, positions and orientations are known from forward
kinematics alone, so central differences of them know nothing of Jacobians and their rates.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np
from scipy.spatial.transform import Rotation

from softground.control.whole_body.references import (
    AngularMomentum,
    FrameMotion,
    PointMotion,
    References,
    holding,
)
from softground.control.whole_body.snapshot import Snapshot, Unknowns, frames_in_order, snapshot
from softground.robots import Robot

PERIOD = 1e-3
FRAMES = ("root_link", "chest", "l_elbow_1")
STIFFNESS, DAMPING = 8e5, 1e4
TIME = 3e-4
"""s, of the central differences: their error is TIME^2 times fourth derivatives, about (10 rad/s)^4 here, so 1e-3;
rounding, 1e-16 / TIME^2, is below 1e-8."""


class Motion(NamedTuple):
    """State and acceleration of the robot and wrenches of its feet at time 0."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    wrenches: np.ndarray
    wrench_rates: np.ndarray

    def unknowns(self, wrench: str) -> np.ndarray:
        """x of the QP that stands for this motion."""
        return np.concatenate([self.a, (self.wrenches if wrench == "value" else self.wrench_rates).ravel()])


@lru_cache
def robot() -> Robot:
    return Robot.load("icub")


@lru_cache
def frame_names() -> tuple[str, ...]:
    return frames_in_order(robot(), FRAMES)


def random_motion(seed: int) -> Motion:
    """Half a radian from the posture at a few radians per second."""
    rng = np.random.default_rng(seed)
    nv = robot().nv
    q = np.asarray(integrate(robot().posture, 0.2 * rng.normal(size=nv), 1.0))
    wrenches = rng.normal(size=(2, 6)) * [20, 20, 20, 3, 3, 3] + [0, 0, 160, 0, 0, 0]
    return Motion(q, rng.normal(size=nv), 5 * rng.normal(size=nv), wrenches, 100 * rng.normal(size=(2, 6)))


@lru_cache
def _compiled():
    machine = robot()

    def look(q, v, wrenches, in_contact, wrench):
        return snapshot(machine, Unknowns(machine.nv, 2, wrench), frame_names(), PERIOD, q, v, wrenches, in_contact)

    seen = jax.jit(look, static_argnames="wrench")
    poses = jax.jit(lambda q: (machine.frames(q, np.zeros(machine.nv), frame_names()), machine.center_of_mass(q)))
    return seen, poses, jax.jit(lambda q, v, dt: machine.integrate(q, v, dt))


def integrate(q, v, dt):
    return _compiled()[2](np.asarray(q), np.asarray(v), dt)


def look(motion: Motion, wrench: str, in_contact=(True, True)) -> Snapshot:
    """The snapshot that tasks see of a motion."""
    return _compiled()[0](motion.q, motion.v, motion.wrenches, np.array(in_contact), wrench)


class Place(NamedTuple):
    """Where everything is at one time."""

    position: dict[str, np.ndarray]
    rotation: dict[str, np.ndarray]
    com: np.ndarray


def place(motion: Motion, time: float) -> Place:
    """Forward kinematics along the motion: v(t) = v + a t, so q(t) is reached from q at the mean velocity."""
    q = integrate(motion.q, motion.v + motion.a * time / 2, time)
    frames, com = _compiled()[1](q)
    position, rotation = np.asarray(frames.position), np.asarray(frames.rotation)
    return Place(dict(zip(frame_names(), position, strict=True)), dict(zip(frame_names(), rotation, strict=True)), com)


def second_difference(before, now, after):
    """Second derivative of a vector."""
    return (np.asarray(after) - 2 * np.asarray(now) + np.asarray(before)) / TIME**2


def angular_acceleration(before, now, after):
    """Of an orientation, world axes, from three of its matrices: no formula of the code under test."""
    second = Rotation.from_matrix(np.asarray(after) @ np.asarray(now).T).as_rotvec() / TIME
    first = Rotation.from_matrix(np.asarray(now) @ np.asarray(before).T).as_rotvec() / TIME
    return (second - first) / TIME


def around(motion: Motion) -> tuple[Place, Place, Place]:
    return place(motion, -TIME), place(motion, 0.0), place(motion, TIME)


def following(motion: Motion) -> References:
    """References that the motion meets exactly, with zero desired accelerations: feedback has nothing to say."""
    seen = look(motion, "rate")
    zero = np.zeros(3)
    frames = {
        name: FrameMotion(*(np.asarray(part) for part in (f.position, f.rotation, f.twist)), np.zeros(6))
        for name in frame_names()
        for f in [seen.frames[name]]
    }
    standing = holding(robot(), frame_names(), motion.q, STIFFNESS, DAMPING)
    ground = standing.ground
    return standing._replace(
        com=PointMotion(np.asarray(seen.com), np.asarray(seen.com_velocity), zero, zero),
        angular_momentum=AngularMomentum(np.asarray(seen.momentum)[3:], zero, zero),
        frames=frames,
        wrenches=motion.wrenches,
        ground=ground._replace(
            rest_position=ground.rest_position + np.array([0.003, -0.002, 0.01]),
            rest_rotation=Rotation.from_rotvec([0.05, -0.04, 0.02]).as_matrix() @ ground.rest_rotation,
        ),
    )
