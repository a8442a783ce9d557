"""Feedback that holds a planned gait: the linear-quadratic regulator along its trajectory.

A plan gives every step's rows and their derivatives. With the states' deviations x = (tangent of q, v) and a change u
of the torques, the step from knot k is, to first order,

    x+ = A_k x + B_k u,

where the feet's scaled twists are eliminated: their rows are solved for them together with the next state. The joints'
PD control is part of the step. It acts on the step's end, so the torque is u - kp (joints of x+) - kd (rates of x+),
and u is what balance needs beyond it: no joint's error says that the base falls. The u that makes the sum of x'Qx +
u'Ru over all that is left of the gait least is -K_k x (Riccati's recursion, backwards from the end):

    K = (R + B'PB)^-1 B'PA,      P <- Q + A'P(A - BK).

Q and R say what deviations are worth each other (`Tolerances`, Bryson's rule): the squares of what is tolerable.
Between knots the gain is that of the step, the deviation that of the moment; torques stay within the actuators' limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.posture import pd_gains
from softground.planning.blocks import Block
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.planning.problem import GaitProblem
from softground.planning.programs import kept_call
from softground.planning.size import REFERENCE_HEIGHT, REFERENCE_WEIGHT, size_of, walking_eps, weight_of
from softground.planning.tracking import TrackJoints
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.robots.rotations import normalize, quaternion_conjugate, quaternion_log, quaternion_product
from softground.robots.tree import FREE, SLIDE
from softground.simulation.simulator import Control, State

if TYPE_CHECKING:
    from softground.planning.plan import Plan


REFERENCE_TORQUE = REFERENCE_WEIGHT * REFERENCE_HEIGHT  # N m
YIELDING = 2 * np.pi * 2.0
"""rad/s, of the joints' PD control of a robot in space, which would fall to the side: what holds it is where its feet
are put down, and joints that are held as stiffly as in the plane keep them where the plan has them."""


@dataclass(frozen=True)
class Tolerances:
    """Deviations that are as bad as each other; lengths and speeds for RoboSimian, for others by their size."""

    place: float = 0.05  # m, of the base
    attitude: float = 0.05  # rad
    joint: float = 0.3  # rad
    speed: float = 0.2  # m/s, of the base
    turning: float = 0.5  # rad/s
    rate: float = 3.0  # rad/s
    torque: float = 0.3  # share of the actuators' limits, or of weight times height where that is less


class TrackState(eqx.Module):
    """Controller: a plan's torques, PD control of its joints, and torques that bring the whole state back to it."""

    joints: TrackJoints
    q: Float[Array, "M nq"]  # at the steps of the simulator
    v: Float[Array, "M nv"]
    gain: Float[Array, "n nu x"]  # N m per unit of the deviation (x = 2 nv), in the plan's steps
    limit: Float[Array, " nu"]  # N m
    knot_dt: Float[Array, ""]  # s, of a step of the plan
    dt: Float[Array, ""]  # s, of the simulator

    @classmethod
    def of(cls, plan: Plan, time_step: float, tolerances: Tolerances | None = None, **gains) -> TrackState:
        """Hold a plan in steps of `time_step` (s); `gains`: of the PD control, see `control.posture.pd_gains`, with a
        lower frequency for robots in space."""
        robot, trajectory = plan.problem.robot, plan.trajectory
        if not robot.planar:
            gains.setdefault("frequency", YIELDING)
        fine = trajectory.refined(round(trajectory.dt / time_step))
        kp, kd = pd_gains(robot, trajectory.q[0], **gains)
        # Whatever the plan's own form and eps: a blurred ground is one that a foot may find a little higher or lower.
        step, push = linearised(plan.problem, trajectory, walking_eps(robot), kp, kd)
        state_cost, torque_cost = costs_of(robot, tolerances or Tolerances())
        return cls(
            TrackJoints.of(robot, fine, time_step, **gains),
            fine.q,
            fine.v,
            np.asarray(regulator(step, push, state_cost, torque_cost)),
            np.asarray(robot.torque_limit, dtype=float),
            np.asarray(trajectory.dt),
            np.asarray(time_step, dtype=float),
        )

    def init(self, state: State) -> None:
        return None

    def __call__(self, memory: None, state: State) -> tuple[None, Control]:
        dtype = state.q.dtype
        row = jnp.clip(jnp.round(state.time / jnp.asarray(self.dt, dtype)).astype(int), 0, len(self.q) - 1)
        knot = jnp.floor(state.time / jnp.asarray(self.knot_dt, dtype) + 1e-6).astype(int)
        gain = jnp.asarray(self.gain, dtype)[jnp.clip(knot, 0, len(self.gain) - 1)]
        away = deviation(jnp.asarray(self.q, dtype)[row], jnp.asarray(self.v, dtype)[row], state.q, state.v)
        control = self.joints(state)
        limit = jnp.asarray(self.limit, dtype)
        torque = jnp.clip(jnp.asarray(control.torque) - gain @ away, -limit, limit)
        return memory, eqx.tree_at(lambda one: one.torque, control, torque)


def deviation(q_planned, v_planned, q, v) -> Float[Array, " x"]:
    """How a state differs from the planned one: tangent of the configuration (a free base's first), velocity."""
    if len(q) == len(v):
        way = q - q_planned
    else:
        turn = quaternion_product(quaternion_conjugate(normalize(q_planned[3:7])), normalize(q[3:7]))
        way = jnp.concatenate([q[:3] - q_planned[:3], quaternion_log(turn), q[7:] - q_planned[7:]])
    return jnp.concatenate([way, v - v_planned])


def linearised(
    problem: GaitProblem, trajectory: Trajectory, eps: float, kp, kd, form: type[Dynamics] = ClosedForm
) -> tuple[Float[Array, "n x x"], Float[Array, "n x u"]]:
    """A and B of every step of a trajectory on ground of temperature eps (W), with PD control of gains kp, kd."""
    robot = problem.robot
    dynamics = form(robot, problem.ground, problem.dt, problem.collocation)
    layout = Layout.of(robot, trajectory.knots, dynamics.lifted)
    block = dynamics.block(layout)
    lifted = dynamics.lift(trajectory.q, trajectory.v, eps)
    actuated = list(robot.actuated)
    spring, damper = (np.zeros((robot.nu, robot.nv)) for _ in range(2))
    spring[np.arange(robot.nu), actuated] = np.asarray(kp) / TORQUE_UNIT
    damper[np.arange(robot.nu), actuated] = np.asarray(kd) / TORQUE_UNIT
    given = trajectory.q[:-1], trajectory.v[:-1], lifted, trajectory.torque, trajectory.q[1:], trajectory.v[1:]
    return kept_call(_linear_steps, _Linear(block, robot, layout, spring, damper, eps), *given)


class _Linear(NamedTuple):
    """What steps are made of that are linearised."""

    block: Block
    robot: Robot
    layout: Layout
    spring: np.ndarray  # (u, nv) of the PD control, in the unit of torques
    damper: np.ndarray
    eps: float  # W


def _linear_steps(parts: _Linear, *trajectory):
    robot, layout = parts.robot, parts.layout
    sizes = np.cumsum([layout.nq, layout.nv, layout.lifted, layout.nu, layout.nq])

    def one(q, v, lifted, torque, q_next, v_next):
        local = jnp.concatenate([q, v, lifted, torque / TORQUE_UNIT, q_next, v_next])
        by = parts.block.jacobian(local, None, parts.eps)
        by_q, by_v, by_s, by_torque, by_next, by_v_next = jnp.split(by, sizes, axis=1)
        here, there = (_tangent(robot, one) for one in (q, q_next))
        square = lambda rows: jnp.concatenate([there.T @ rows[: layout.nq], rows[layout.nq :]])  # noqa: E731
        by_joints = by_next @ there - by_torque @ parts.spring
        unknown = square(jnp.concatenate([by_s, by_joints, by_v_next - by_torque @ parts.damper], axis=1))
        known = square(jnp.concatenate([by_q @ here, by_v, by_torque / TORQUE_UNIT], axis=1))
        answer = -jnp.linalg.solve(unknown, known)[layout.lifted :]
        return answer[:, : 2 * robot.nv], answer[:, 2 * robot.nv :]

    return jax.vmap(one)(*trajectory)


def _tangent(robot: Robot, q) -> Float[Array, "nq nv"]:
    """How a configuration changes along its tangent."""
    return jax.jacfwd(lambda way: robot.integrate(q, way, 1.0))(jnp.zeros(robot.nv))


def costs_of(robot: Robot, tolerances: Tolerances) -> tuple[np.ndarray, np.ndarray]:
    """Diagonals of Q (x,) and R (u,): one over the squares of what is tolerable."""
    size = size_of(robot)
    actuated = np.isin(np.arange(robot.nv), robot.actuated)
    turns = np.array([_turns(robot, dof) for dof in range(robot.nv)])
    way = np.where(actuated, tolerances.joint, np.where(turns, tolerances.attitude, tolerances.place * size))
    rate = np.where(actuated, tolerances.rate, np.where(turns, tolerances.turning, tolerances.speed * size**0.5))
    torque = tolerances.torque * np.minimum(robot.torque_limit, weight_of(robot) * size * REFERENCE_TORQUE)
    return np.concatenate([way, rate]) ** -2.0, torque**-2.0


def _turns(robot: Robot, dof: int) -> bool:
    """Whether a degree of freedom is an angle."""
    link = robot.tree.dof_link[dof]
    kind = robot.tree.joint_type[link]
    return dof - robot.tree.dof_address[link] >= 3 if kind == FREE else kind != SLIDE


def regulator(step, push, state_cost, torque_cost) -> Float[Array, "n u x"]:
    """Gains K_k of the best feedback -K_k x, by Riccati's recursion."""
    return riccati(step, push, state_cost, torque_cost)[0]


@jax.jit
def riccati(step, push, state_cost, torque_cost) -> tuple[Float[Array, "n u x"], Float[Array, "n+1 x x"]]:
    """Gains of the best feedback, and its value x'P_k x: what is left to pay from every knot, the last included."""

    def back(value, now):
        a, b = now
        gain = jnp.linalg.solve(jnp.diag(torque_cost) + b.T @ value @ b, b.T @ value @ a)
        value = jnp.diag(state_cost) + a.T @ value @ (a - b @ gain)
        value = (value + value.T) / 2
        return value, (gain, value)

    end = jnp.diag(jnp.asarray(state_cost))
    gains, values = jax.lax.scan(back, end, (step, push), reverse=True)[1]
    return gains, jnp.concatenate([values, end[None]])
