"""Walks that are drawn and not simulated: no robot falls while it is drawn, and nothing is compiled for it.

Feet move on paths, limbs follow by inverse kinematics, as far as they reach: where a path leads beyond that, a foot is
as near to it as it can be. The optimiser sees to what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np

from softground.contact.feet import feet_along
from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.control.trot import bump, foot_path
from softground.planning.guesses import STRIDE, phases_of, with_rates
from softground.planning.problem import GaitProblem
from softground.planning.size import size_of, standing, within_limits
from softground.planning.trajectory import Trajectory, desired_speed
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.surfaces import Plane

FINER = 4
"""Inverse kinematics is solved so many times in a step, so that limbs bend as they did before."""
BENT = (-0.3, 0.6, -0.3)
"""Bent limbs, from which inverse kinematics starts: rad, joints about the lateral axis from the hip on."""

LEANS = (0.0, -0.15, 0.15, -0.3, 0.3, -0.45, 0.45)
"""Pitches of the base that are tried, rad: limbs that do not bend both ways reach further so."""


@dataclass(frozen=True)
class Manner:
    """How a drawn walk goes. Lengths are those of a robot of RoboSimian's size, others' follow theirs (`size_of`)."""

    lag: float = 0.5  # share of the period by which the rear feet follow those in front (0.5: a trot)
    duty: float = 0.6  # share of the period that a foot is on the ground
    lift: float = 0.15  # m, of a foot
    crouch: float = 0.05  # m, of the base below its height when the robot stands
    gather: float = 0.4  # share of the way, along x, from below the hips to where feet are when the robot stands
    bend: tuple[float, float] = (1.0, 1.0)  # signs, without unit: how limbs bend, in front and in the rear
    toes: float = 0.0  # rad, by which a foot in the air is turned


LEAST = Manner(0.0, 0.55, 0.1, 0.03, 0.0, (-1.0, -1.0), -1.0)
MOST = Manner(0.5, 0.7, 0.35, 0.1, 0.8, (1.0, 1.0), 1.0)


def manners(seed: int = 0) -> Iterator[Manner]:
    """Manners between `LEAST` and `MOST`, spread evenly however many are taken; seed: where the sequence begins.

    It is that of the multiples of 1/g, 1/g^2, ..., modulo 1, where g^(d+1) = g + 1 in d dimensions: the golden ratio in
    one.
    """
    low, high = (np.array([m.lag, m.duty, m.lift, m.crouch, m.gather, *m.bend, m.toes]) for m in (LEAST, MOST))
    g = float(np.roots([1.0, *np.zeros(len(low) - 1), -1.0, -1.0]).real.max())
    steps, first = g ** -np.arange(1.0, len(low) + 1), np.random.default_rng(seed).uniform(size=len(low))
    for number in count():
        point = low + (high - low) * ((first + number * steps) % 1.0)
        lag, duty, lift, crouch, gather, front, rear, toes = map(float, point)
        yield Manner(lag, duty, lift, crouch, gather, (float(np.sign(front)), float(np.sign(rear))), toes)


def drawn_walk(problem: GaitProblem, manner: Manner | None = None, *, sunk: float = 0.0) -> Trajectory:
    """A walk at the problem's speed in a manner, by default a trot; torques are zero.

    The base moves on at its speed and as high as its deepest foot is `sunk` (m) into level ground.
    """
    robot, base = problem.robot, base_motion(problem.robot)
    manner = manner or Manner()
    speed, time = desired_speed(problem), np.arange(problem.knots) * problem.dt
    phase = (np.arange(FINER * STRIDE)[:, None] / (FINER * STRIDE) + phases_of(robot, manner.lag)) % 1.0
    at = np.arange(problem.knots) % STRIDE * FINER
    q = np.array(_reached(robot, phase, manner, speed * manner.duty * STRIDE * problem.dt))[at]
    q[:, base.forward_q] = speed * time
    q[:, base.up_q] += np.asarray(feet_along(robot, Plane(), q).depth).max(axis=1) - sunk
    still = Trajectory(q, np.zeros((len(q), robot.nv)), np.zeros((len(q) - 1, robot.nu)), problem.dt)
    v = with_rates(robot, still).v
    v[0] = v[1]
    return still._replace(v=np.clip(v, -problem.limits.speed, problem.limits.speed))


def _reached(robot: Robot, phase: np.ndarray, manner: Manner, step: float) -> np.ndarray:
    """Configurations (k, nq) with the feet at phases (k, F) of a walk of a step's length, m.

    The base is level; or, where limbs do not reach far enough ahead or behind then, it leans as little as helps.
    """
    size = size_of(robot)
    home = np.asarray(feet_in_base(robot, jnp.asarray(standing(robot))))
    stand = home[:, :3].copy()
    stand[:, 0] = hips(robot) + manner.gather * (home[:, 0] - hips(robot))
    path = foot_path(phase, manner.duty, step, manner.lift * size) + np.array([0.0, manner.crouch * size])
    swing = np.clip((phase - manner.duty) / (1 - manner.duty), 0.0, 1.0)
    targets, pitch = stand + np.insert(path, 1, 0.0, axis=-1), home[:, 3] + manner.toes * bump(swing)
    best, missed = bent(robot, manner.bend), np.inf
    for lean in LEANS:
        q, short = _leaning(robot, targets, pitch, lean, bent(robot, manner.bend))
        if short < missed - 0.01 * size:
            best, missed = q, short
        if missed < 0.01 * size:
            break
    return best


def _leaning(robot: Robot, targets, pitch, lean: float, guess: np.ndarray) -> tuple[np.ndarray, float]:
    """Configurations with the base turned by a pitch (rad), and by how much feet on the ground miss their places, m."""
    base = base_motion(robot)
    turn = np.array([[np.cos(lean), 0.0, -np.sin(lean)], [0.0, 1.0, 0.0], [np.sin(lean), 0.0, np.cos(lean)]])
    aims = targets @ turn.T
    q = joints_for_feet(robot, aims, pitch - lean if robot.planar else None, guess, nearest=True)
    places = np.asarray(jax.jit(jax.vmap(lambda one: feet_in_base(robot, one)))(q))[..., [0, 2]]
    on_ground = targets[..., 2] < targets[..., 2].min(axis=0) + 1e-6
    missed = float((np.linalg.norm(places - aims[..., [0, 2]], axis=-1) * on_ground).max())
    if robot.planar:
        q[:, base.attitude_q[0]] = lean * np.sign(np.asarray(robot.parameters.axis)[base.attitude_q[0], 1])
    else:
        q[:, 3:7] = [np.cos(lean / 2), 0.0, np.sin(lean / 2), 0.0]
    return q, missed


def bent(robot: Robot, bend: tuple[float, float] = (1.0, 1.0)) -> np.ndarray:
    """The posture with limbs bent, those in front and those in the rear to either side, as far as their joints go."""
    q, (lateral, _) = standing(robot), _joints(robot)
    front = ~rear_feet(robot)
    for foot, limb in enumerate(limbs(robot)):
        dofs = [robot.actuated[place] for place in np.flatnonzero(limb) if lateral[robot.actuated[place]]]
        for dof, angle in zip(dofs, BENT, strict=False):
            q[robot.dof_q[dof]] += lateral[dof] * bend[0 if front[foot] else 1] * angle
    return within_limits(robot, q)


def hips(robot: Robot) -> np.ndarray:
    """Where each foot's limb begins to swing, x in the base's frame (F,), m; of a foot without a limb, its own."""
    lateral, place = _joints(robot)
    origin = np.asarray(jax.jit(lambda q: robot.body_poses(robot.kinematics(q))[0][0])(jnp.asarray(robot.posture)))
    x = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))[:, 0].copy()
    for foot, limb in enumerate(limbs(robot)):
        dofs = [robot.actuated[at] for at in np.flatnonzero(limb) if lateral[robot.actuated[at]]]
        if dofs:
            x[foot] = place[dofs[0], 0] - origin[0]
    return x


def limbs(robot: Robot) -> np.ndarray:
    """Which actuators move which feet, (feet, nu)."""
    return robot.tree.body_support[[foot.body for foot in robot.feet]][:, list(robot.actuated)].astype(bool)


def rear_feet(robot: Robot) -> np.ndarray:
    """Which feet are in the rear, (feet,)."""
    return phases_of(robot, 0.25) % 0.5 > 0.1


def _joints(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Of every dof in the posture: 1 or -1 if it turns about the lateral axis (-1: the other way round), and where."""
    kin = jax.jit(lambda q: robot.kinematics(q))(jnp.asarray(robot.posture))
    sideways = np.asarray(kin.screw)[:, 1]
    place = np.asarray(kin.link_position)[list(robot.tree.dof_link)]
    return np.where(np.abs(sideways) > 0.9, np.sign(sideways), 0.0), place
