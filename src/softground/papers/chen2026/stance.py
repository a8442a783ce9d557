"""One stance of the augmented models, on sand and on rigid ground, in the same coordinates.

    sand = sand_stance(sagittal_model(), Wedge(zeta=1.36))
    rigid = rigid_stance(sagittal_model())
    motion = jax.jit(lambda start: sand.motion(start, control, steps=100))(sand.start(q, v))

On sand the stance foot slips and sinks as its medium lets it. On rigid ground its contact point does not move: the
foot rolls (`rigid_ground`).
"""

from __future__ import annotations

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.errors import OptionError
from softground.media import Medium
from softground.papers.chen2026.rigid_ground import INTRUSION, Rigid
from softground.robots import Robot
from softground.simulation import Simulator
from softground.simulation.simulator import Control, Policy, State

DT = 0.002
"""Time step, s."""


class StanceMotion(eqx.Module):
    """A stance as it happened, one row a step; states at the start of the steps, in augmented coordinates."""

    time: Float[Array, " t"]  # s
    q: Float[Array, "t nq"]
    v: Float[Array, "t nq"]
    torque: Float[Array, "t nu"]  # N m
    force: Float[Array, "t 2"]  # N, of the ground on the foot, along the two intrusion coordinates
    converged: Bool[Array, " t"]

    @property
    def slip(self) -> Float[Array, " t"]:
        """Slip of the contact point since the stance began, m: x_s or y_s."""
        return self.q[:, 0]

    @property
    def sinkage(self) -> Float[Array, " t"]:
        """Sinkage of the contact point, m, positive below the surface: -z_s."""
        return -self.q[:, 1]


class Stance(eqx.Module):
    """An augmented model on a ground."""

    robot: Robot
    simulator: Simulator

    def start(self, q=None, v=None) -> State:
        """State from augmented coordinates (nq,) and velocities; by default at rest as the robot stands."""
        q = np.asarray(self.robot.posture if q is None else q, dtype=float)
        v = np.zeros(self.robot.nv) if v is None else np.asarray(v, dtype=float)
        if q.shape != (self.robot.nq,) or v.shape != (self.robot.nv,):
            raise OptionError(
                f"q and v must have {self.robot.nq} entries, slip and height first, got {q.shape}, {v.shape}"
            )
        return self.simulator.initial_state(q, v)

    def motion(
        self, start: State, control: Control | Policy | Float[Array, "t nu"] | None = None, steps: int | None = None
    ) -> StanceMotion:
        """Simulate the stance: see `Simulator.rollout` for what controls it."""
        record = self.simulator.rollout(start, control, steps)[1]
        force = record.wrench_world[:, 0, self._force_axes]
        return StanceMotion(record.time, record.q, record.v, record.torque, force, record.converged)

    @property
    def _force_axes(self) -> np.ndarray:
        """World axes of slip and sinkage: x, z or y, z."""
        return np.array([0, 2] if self.robot.planar else [1, 2])


def sand_stance(robot: Robot, medium: Medium, dt: float = DT) -> Stance:
    """An augmented model whose stance foot slips and sinks in a medium."""
    return Stance(robot, Simulator(robot, medium, dt))


def rigid_stance(robot: Robot, dt: float = DT) -> Stance:
    """The same whose foot rolls without slipping and sinking: the rigid-ground assumption."""
    return Stance(robot, Simulator(robot, Rigid(), dt))


def reaction(robot: Robot, q: Float[Array, " n"], v: Float[Array, " n"], a: Float[Array, " n"]) -> Float[Array, "2"]:
    """Ground reaction along the intrusion coordinates (N) that a motion of an augmented model asks for.

    With slip and sinkage as coordinates the foot's Jacobian in (1) is constant, [I 0], so their rows of the inverse
    dynamics *are* the forces,  F = (D a + C v + G)[intrusion rows].
    """
    return robot.inverse_dynamics(q, v, a)[:INTRUSION]
