"""What a gait should be like: small cost objects, each a weighted sum of squares over the trajectory (zhu2021 III.E).

A cost gives blocks of residuals r, and adds sum r^2 to the objective. To add one, write a dataclass with `blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import jax.numpy as jnp
import numpy as np

from softground.planning.blocks import Block
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.robots.base import base_motion
from softground.surfaces import Surface

if TYPE_CHECKING:
    from softground.planning.problem import GaitProblem


class Cost(Protocol):
    """A term of the objective."""

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Block]:
        """Blocks of residuals, weights included: the objective is the sum of their squares."""
        ...


@dataclass(frozen=True)
class ForwardSpeed:
    """weight (speed of the base along x - speed)^2 at every knot; in space plus weight (speed along y)^2."""

    speed: float  # m/s
    weight: float = 100.0

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Block]:
        forward = base_motion(problem.robot).forward_v
        entries = [forward] if problem.robot.planar else [forward, forward + 1]
        columns = layout.v_at(np.arange(problem.counted_knots(layout.knots)))[:, entries]
        factor, asked = self.weight**0.5, np.array([self.speed, 0.0])[: len(entries)]
        return [Affine("speed", columns, factor * np.eye(len(entries)), -factor * asked)]


@dataclass(frozen=True)
class BaseAttitude:
    """weight (pitch - pitch)^2 at every knot; in space also sideways (roll^2 + yaw^2), of small angles."""

    pitch: float = 0.0  # rad
    weight: float = 0.01  # 1/rad^2
    sideways: float = 10.0  # 1/rad^2; at the weight of pitch strides roll by 0.4 rad, and have no optimum that is found

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Block]:
        base = base_motion(problem.robot)
        columns = layout.q_at(np.arange(problem.counted_knots(layout.knots)))[:, list(base.attitude_q)]
        size = len(base.attitude_q)
        reference, weight = np.zeros(size), np.full(size, self.sideways)
        reference[size // 2], weight[size // 2] = self.pitch, self.weight
        factor = np.diag(weight**0.5)
        return [Affine("attitude", columns, base.attitude_factor * factor, -factor @ reference)]


@dataclass(frozen=True)
class BaseHeight:
    """weight (height of the base over the ground - height)^2 at every knot."""

    height: float  # m
    weight: float = 0.01

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Block]:
        base = base_motion(problem.robot)
        columns = layout.q_at(np.arange(problem.counted_knots(layout.knots)))[:, [base.forward_q, base.up_q]]
        return [HeightResidual(columns, problem.ground.surface, self.height, self.weight**0.5)]


class HeightResidual(Block):
    """factor (distance of the base to the ground - height)."""

    surface: Surface
    height: float
    factor: float

    def __init__(self, columns, surface: Surface, height: float, factor: float):
        self.label, self.columns, self.linear = "height", columns, False
        self.surface, self.height, self.factor = surface, height, factor

    def rows(self, local, data, eps):
        point = jnp.stack([local[0], jnp.zeros_like(local[0]), local[1]])
        return self.factor * (self.surface.signed_distance(point) - self.height)[None]


@dataclass(frozen=True)
class Effort:
    """weight |torque|^2 at every step."""

    weight: float = 1e-5  # 1/(N m)^2

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Block]:
        columns = layout.torque_at(np.arange(layout.knots - 1))
        return [Affine("effort", columns, self.weight**0.5 * TORQUE_UNIT * np.eye(layout.nu))]


@dataclass(frozen=True)
class ActuatorWork:
    """weight |power| of every actuator at every step, its corner rounded: with the speed held, the cost of transport.

    Power P is the torque of a step times the joint's rate at its end, as in `planning.metrics`; an actuator that brakes
    gains nothing. A cost is a sum of squares, so the residual is a smooth root of a smooth |P|,

        r = P / (threshold + (P^2 + threshold^2)^(1/2))^(1/2),      r^2 = (P^2 + threshold^2)^(1/2) - threshold.

    Torque at rest is free, so forces with which feet only press against each other are left undecided: keep a little
    `Effort` beside it.
    """

    weight: float = 1e-4  # 1/W
    threshold: float = 5.0  # W, below which the corner is rounded

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Block]:
        steps = np.arange(layout.knots - 1)
        rates = layout.v_at(steps + 1)[:, list(problem.robot.actuated)]
        columns = np.concatenate([rates, layout.torque_at(steps)], axis=1)
        return [PowerResidual(columns, self.weight**0.5, self.threshold)]


class PowerResidual(Block):
    """factor sign(P) ((P^2 + threshold^2)^(1/2) - threshold)^(1/2) for each actuator's power P."""

    factor: float
    threshold: float

    def __init__(self, columns, factor: float, threshold: float):
        self.label, self.columns, self.linear = "work", columns, False
        self.factor, self.threshold = factor, threshold

    def rows(self, local, data, eps):
        rate, torque = jnp.split(local, 2)
        power = TORQUE_UNIT * torque * rate
        return self.factor * power / jnp.sqrt(self.threshold + jnp.sqrt(power**2 + self.threshold**2))


@dataclass(frozen=True)
class Periodicity:
    """weight |joints(k) - joints(k + period)|^2: limbs repeat themselves after `period` knots."""

    period: int  # knots
    weight: float = 0.1

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Block]:
        robot = problem.robot
        joints = np.array(robot.dof_q)[list(robot.actuated)]
        first = np.arange(layout.knots - self.period)
        columns = np.concatenate([layout.q_at(first)[:, joints], layout.q_at(first + self.period)[:, joints]], axis=1)
        matrix = self.weight**0.5 * np.concatenate([np.eye(len(joints)), -np.eye(len(joints))], axis=1)
        return [Affine("periodicity", columns, matrix)] if len(first) else []


class Affine(Block):
    """matrix local + offset."""

    matrix: np.ndarray
    offset: np.ndarray

    def __init__(self, label: str, columns, matrix, offset=None):
        self.label, self.columns, self.linear = label, np.asarray(columns), True
        self.matrix = np.asarray(matrix, dtype=float)
        self.offset = np.zeros(len(matrix)) if offset is None else np.asarray(offset, dtype=float)

    def rows(self, local, data, eps):
        return self.matrix @ local + self.offset
