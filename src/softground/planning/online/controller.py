"""Model-predictive control of a planned gait."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.control.posture import actuator_positions, pd_gains
from softground.control.terrain_identification import Sensed, TerrainIdentifier, Uncertainty
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.feedback import Tolerances, costs_of, linearised
from softground.planning.online.horizon import Goal, Guess, Horizon
from softground.planning.size import walking_eps
from softground.simulation.simulator import Control, State
from softground.simulation.actuators import actuator_torque

if TYPE_CHECKING:
    from softground.planning.plan import Plan


class Memory(NamedTuple):
    """Between two calls."""

    old: Guess  # of a step earlier than ...
    new: Guess
    lag: Int[Array, ""]  # rows by which the robot is behind the plan
    old_lag: Int[Array, ""]
    strength: Float[Array, ""]
    belief: object = None
    before: object = None


class Online(eqx.Module):
    horizon: Horizon
    q: Float[Array, "M nq"]  # of the plan, in steps of the simulator
    v: Float[Array, "M nv"]
    v_mean: Float[Array, "M nv"]  # over the step of the plan that ends there
    torque: Float[Array, "M nu"]
    torque_mean: Float[Array, "M nu"]  # over the step of the plan that begins there
    twist: Float[Array, "M s"]
    value: Float[Array, "n x x"]  # at the plan's knots
    limit: Float[Array, " nu"]
    dt: Float[Array, ""]
    strength: Float[Array, ""]
    every: int = eqx.field(static=True)  # rows a step of the plan
    steps: int = eqx.field(static=True)
    iterations: int
    delay: int  # rows
    interp: float
    shifts: int = eqx.field(static=True)
    identifier: TerrainIdentifier | None = None
    first: object = None

    @classmethod
    def of(cls, plan, time_step, *, steps=15, iterations=6, delay=10, shifts=0, strength=1.0, interp=True, tolerances=None, eps=None, identify=False, **gains):
        problem, robot, trajectory = plan.problem, plan.problem.robot, plan.trajectory
        every = round(trajectory.dt / time_step)
        fine = trajectory.refined(every)
        kp, kd = pd_gains(robot, trajectory.q[0], **gains)
        eps = walking_eps(robot) if eps is None else eps
        state_cost, push_cost = costs_of(robot, tolerances or Tolerances())
        dynamics = ClosedForm(robot, problem.ground, problem.dt, problem.collocation)
        horizon = Horizon(dynamics, kp, kd, state_cost, push_cost, np.asarray(eps))
        a, b = linearised(problem, trajectory, eps, kp, kd)
        value = np.asarray(values(a, b, state_cost, push_cost))
        # extend by holding: a horizon beyond the end
        pad = every * (steps + 1)
        knots = np.arange(trajectory.knots) * trajectory.dt
        times = np.arange(len(fine.q)) * time_step
        v_mean = np.stack([np.interp(times, knots, column) for column in trajectory.v.T], 1)
        v_mean[every:] = (fine.q[every:] - fine.q[:-every]) / trajectory.dt
        middle = knots[:-1] + trajectory.dt / 2
        torque_mean = np.stack([np.interp(times + trajectory.dt / 2, middle, column) for column in trajectory.torque.T], 1)
        q = fine.q
        torque = np.concatenate([fine.torque, fine.torque[-1:]])
        there = np.minimum(np.arange(len(q)) + every, len(q) - 1)
        pairs_q = np.stack([q, q[there]], 1); pairs_v = np.stack([v_mean, v_mean[there]], 1)
        twist = np.asarray(jax.jit(jax.vmap(lambda q, v: dynamics.foot_twists(dynamics.met_pose(q, v), v)))(q, v_mean[there]))
        twist = (twist * dynamics.wrench_unit / eps).reshape(len(q), -1)
        identifier = None
        if identify:
            identifier = TerrainIdentifier(robot, problem.ground.sharpened(1e-3).medium, ("strength",), dt=time_step, surface=problem.ground.surface, uncertainty=Uncertainty(factor=2.0))
        return cls(horizon, q, fine.v, v_mean, torque, torque_mean, twist, value, np.asarray(robot.torque_limit, float),
                   np.asarray(time_step), np.asarray(float(strength)), every, steps, iterations, delay, float(interp), shifts, identifier, None)

    def goal(self, row) -> tuple[Goal, Guess]:
        rows = jnp.clip(row + self.every * np.arange(self.steps + 1), 0, len(self.q) - 1)
        q, v_mean, torque, twist, value = (jnp.asarray(x) for x in (self.q, self.v_mean, self.torque_mean, self.twist, self.value))
        state = jnp.concatenate([q[rows], v_mean[rows]], axis=1)
        knot, share = jnp.divmod(rows[-1], self.every)
        share = share / self.every
        end = (1 - share) * value[knot] + share * value[jnp.minimum(knot + 1, len(value) - 1)]
        live = row + self.every * np.arange(self.steps) < len(self.q) - 1
        goal = Goal(state, torque[rows[:-1]], 1.0 * live, end)
        nu = self.torque.shape[1]
        return goal, Guess(state, twist[rows[:-1]], jnp.zeros((self.steps, nu)), jnp.zeros((self.steps, nu, state.shape[1])))

    def row_of(self, state):
        return jnp.round(state.time / self.dt).astype(int)

    def init(self, state: State):
        row = self.row_of(state)
        _, guess = self.goal(row)
        _, earlier = self.goal(row - self.every)
        lag = jnp.zeros((), int)
        belief = before = None
        if self.identifier is not None:
            from softground.contact.feet import feet_in_ground
            robot, surface = self.horizon.dynamics.robot, self.horizon.dynamics.surface
            depth = feet_in_ground(robot, robot.kinematics(state.q), surface).depth.max()
            belief = self.identifier.start(state.q, depth)
            before = Sensed(state.q, state.v, state.v, jnp.zeros(robot.nu)), jnp.zeros((), bool), self._control(jnp.asarray(self.torque)[0], 0)
        return Memory(earlier, guess, lag, lag, jnp.asarray(self.strength), belief, before)

    def away(self, row, state):
        """deviation of a state from the plan at a row"""
        row = jnp.clip(row, 0, len(self.q) - 1)
        return jnp.concatenate([state.q - jnp.asarray(self.q)[row], state.v - jnp.asarray(self.v)[row]])

    def replan(self, memory: Memory, state: State) -> Memory:
        row = self.row_of(state)
        lag = memory.lag
        if self.shifts:
            lag = self.phase(row, lag, state)
        goal, fresh = self.goal(row - lag)
        old = memory.new
        guess = Guess(*(jnp.concatenate([a[1:], b[-1:]]) for a, b in zip(old, fresh, strict=True)))
        start = goal.state[0] + self.away(row - lag, state)
        once = lambda _, guess: self.horizon.improved(memory.strength, goal, guess, start)  # noqa: E731
        guess = jax.lax.fori_loop(0, self.iterations, once, guess)
        return memory._replace(old=old, new=guess, lag=lag, old_lag=memory.lag)

    def phase(self, row, lag, state):
        tries = lag + jnp.arange(-self.shifts, self.shifts + 1)
        def score(lag):
            away = self.away(row - lag, state)
            knot = jnp.clip((row - lag) // self.every, 0, len(self.value) - 1)
            return away @ jnp.asarray(self.value)[knot] @ away
        return tries[jnp.argmin(jax.vmap(score)(tries))]

    def __call__(self, memory: Memory, state: State):
        row = self.row_of(state)
        within = row % self.every
        if self.identifier is not None:
            memory = self.identified(memory, state)
        memory = jax.lax.cond(within == 0, lambda: self.replan(memory, state), lambda: memory)
        late = within < self.delay
        guess = jax.tree.map(lambda a, b: jnp.where(late, a[1], b[0]), memory.old, memory.new)
        following = jnp.where(late, memory.old.state[2], memory.new.state[1])
        lag = jnp.where(late, memory.old_lag, memory.lag)
        start = row - within - lag
        goal = lambda row: jnp.concatenate([jnp.asarray(self.q)[jnp.clip(row, 0, len(self.q) - 1)], jnp.asarray(self.v_mean)[jnp.clip(row, 0, len(self.q) - 1)]])
        d0, d1 = guess.state - goal(start), following - goal(start + self.every)
        share = self.interp * within / self.every
        planned = d0 + share * (d1 - d0)
        away = self.away(row - lag, state)
        push = guess.push - guess.gain @ (away - planned)
        now = jnp.clip(row - lag, 0, len(self.q) - 2)
        torque = jnp.clip(jnp.asarray(self.torque)[now] + push, -self.limit, self.limit)
        control = self._control(torque, now)
        if self.identifier is not None:
            memory = memory._replace(before=(Sensed(state.q, state.v, state.v, torque), jnp.ones((), bool), control))
        return memory, control

    def _control(self, torque, now):
        joints = np.array(self.horizon.dynamics.robot.dof_q)[list(self.horizon.dynamics.robot.actuated)]
        q = jnp.asarray(self.q)
        position, ahead = q[now][joints], q[now + 1][joints]
        return Control(torque, ahead, (ahead - position) / self.dt, jnp.asarray(self.horizon.kp), jnp.asarray(self.horizon.kd))

    def identified(self, memory, state):
        sensed, known, control = memory.before
        robot = self.horizon.dynamics.robot
        torque = actuator_torque(robot, sensed.q, state.v, control, self.dt)
        sensed = Sensed(sensed.q, sensed.v, state.v, torque)
        after = self.identifier.update(memory.belief, sensed)
        belief = jax.tree.map(lambda a, b: jnp.where(known, a, b), after, memory.belief)
        strength = jnp.clip(belief.parameters[0] / self.identifier.medium.strength, 0.4, 3.0)
        return memory._replace(belief=belief, strength=strength)


@jax.jit
def values(step, push, state_cost, torque_cost):
    def back(value, now):
        a, b = now
        gain = jnp.linalg.solve(jnp.diag(torque_cost) + b.T @ value @ b, b.T @ value @ a)
        value = jnp.diag(state_cost) + a.T @ value @ (a - b @ gain)
        value = (value + value.T) / 2
        return value, value
    end = jnp.diag(jnp.asarray(state_cost))
    return jnp.concatenate([jax.lax.scan(back, end, (step, push), reverse=True)[1], end[None]])
