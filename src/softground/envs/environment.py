"""Environment: a task on a ground as two pure functions, after the conventions of MuJoCo Playground.

    reset(rng) -> State
    step(state, action) -> State

Both are of one robot: `jax.vmap` makes a batch of them, in which each robot has a ground of its own. All that is random
comes from the key in the state. Nothing raises inside: a robot whose action or state is not finite ends its episode,
with a flag in the metrics, and leaves the others alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.contact import BatchNewton, Newton
from softground.envs.endings import ENDINGS
from softground.envs.grounds import Grounds, Parameters
from softground.envs.moment import TOUCH, Driven, Moment, set_down, with_feet
from softground.envs.observations import OBSERVATIONS
from softground.envs.rewards import REWARDS
from softground.envs.task import Task
from softground.errors import OptionError
from softground.media.base import Medium
from softground.native.errors import NotNative
from softground.native.parts import by_native_code, say_why_not
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.robots.tree import FREE
from softground.simulation import Ground, Simulator
from softground.simulation.controllers import steps_in_period
from softground.simulation.simulator import Backend
from softground.simulation.simulator import State as Physics


class State(eqx.Module):
    """A robot in an episode, as Playground and Brax have it; of a batch along leading axes.

    >>> import jax, softground as sg
    >>> env = sg.envs.make("robosimian")
    >>> state = jax.jit(env.reset)(jax.random.key(0))
    >>> sorted(state.obs)
    ['privileged_state', 'state']
    """

    data: Physics  # of the simulator
    obs: dict[str, Array]  # "state", for the policy, and "privileged_state", for a critic
    reward: Float[Array, "*n"]  # dimensionless
    done: Float[Array, "*n"]  # 1.0 where the episode has ended, a factor
    metrics: dict[str, Array]
    info: dict[str, Any]  # what the next step needs: key, command, parameters of the ground, ...

    def replace(self, **changes) -> State:
        """The same with other values in some fields."""
        return dataclasses.replace(self, **changes)


class Environment:
    """A task on a ground.

    ground: a name, a medium or an `sg.Ground`, by default the task's. vary: ranges of its parameters, drawn for every
    episode (`Grounds`), in place of the task's own, which hold for the ground that the task names; any other is taken
    as it is. backend: as of `Simulator`; "auto" is native code where it can be made. Not a pytree: `jax.jit(env.step)`
    closes over it.
    """

    def __init__(
        self,
        task: Task,
        ground: str | Medium | Ground | None = None,
        vary: Mapping[str, Any] | None = None,
        backend: Backend = "auto",
    ):
        self.task = task
        robot = Robot.load(task.robot, lock=task.lock, posture=task.posture)
        self.grounds = Grounds(ground or task.ground, task.ranges_on(ground) if vary is None else vary, robot)
        on_cpu = jax.default_backend() == "cpu"
        solver = Newton() if on_cpu else BatchNewton()
        simulator = Simulator(robot, self.grounds.ground, task.dt, solver=solver, backend=backend)
        self.simulator = simulator.with_backend("native") if simulator.backend == "auto" else simulator
        self.driven = Driven.of(robot, task.kp, task.kd, task.action_scale, self._names("feet"))
        self.steps = steps_in_period(task.dt, task.period)
        self._up = vertical_coordinate(robot)
        self._every = max(1, round(task.commands.seconds / task.period))

    def _names(self, observation: str) -> bool:
        return observation in (*self.task.observations, *self.task.privileged)

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.simulator.robot

    @property
    def action_size(self) -> int:
        """Numbers of an action: one for every actuator."""
        return self.robot.nu

    @property
    def observation_size(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the observations, by name."""
        shapes = jax.eval_shape(self.reset, jax.random.key(0)).obs
        return {name: shape.shape for name, shape in shapes.items()}

    @property
    def dt(self) -> float:
        """Time between two actions, s."""
        return self.task.period

    # -- the two functions -------------------------------------------------------------------------------

    def reset(self, rng: Array, ground: Parameters | None = None) -> State:
        """An episode's beginning. ground: parameters in place of drawn ones."""
        dtype = jnp.zeros(()).dtype
        rng, of_ground, of_start, of_command, of_noise = jax.random.split(rng, 5)
        drawn = self.grounds.draw(of_ground, dtype)
        values = drawn | {name: jnp.asarray(value, dtype) for name, value in (ground or {}).items()}
        simulator = self.on(values)
        data = self._begun(simulator, self._started(of_start, dtype))
        action = jnp.zeros(self.action_size, dtype)
        command = self._drawn_command(of_command, dtype)
        seen = self.driven.seen(data, simulator.ground.surface, action, command)
        moment = seen._replace(ground=self.grounds.shares(values).astype(dtype))
        feet = jnp.zeros(len(self.robot.feet), dtype)
        info = {
            "rng": rng,
            "command": command,
            "ground": values,
            "action": action,
            "air_time": feet,
            "steps": jnp.zeros((), jnp.int32),
        }
        zero = jnp.zeros((), dtype)
        metrics: dict[str, Array] = {f"reward/{name}": zero for name in self.task.rewards}
        metrics |= {"invalid": zero, "not_converged": zero}
        return State(data, self._observed(moment, of_noise), zero, zero, metrics, info)

    def step(self, state: State, action: Float[Array, " nu"]) -> State:
        """The episode after one more action, which is held for the task's period."""
        action = jnp.asarray(action)
        if action.shape != (self.action_size,):
            raise OptionError(
                f"an action of {self.task.name} must have shape ({self.action_size},), one for every actuator, got "
                f"{action.shape}: for a batch use jax.vmap(env.step)"
            )
        dtype, info, before = state.data.q.dtype, state.info, state.data
        action = action.astype(dtype)
        told = jnp.isfinite(action).all()
        action = jnp.where(told, jnp.clip(action, -self.task.action_bound, self.task.action_bound), info["action"])
        rng, of_push, of_command, of_noise = jax.random.split(info["rng"], 4)
        anew = info["steps"] % self._every == self._every - 1
        simulator = self.on(info["ground"])
        after, record = simulator.hold(before, self.driven.control(action), self.steps)
        sound = record.finite & jnp.isfinite(after.q).all() & jnp.isfinite(after.v).all()
        after, record = jax.tree.map(
            lambda new, old: jnp.where(sound, new, old), (after, record), (before, _blank(record))
        )
        after = self._pushed(after, of_push, anew)
        command = jnp.where(anew, self._drawn_command(of_command, dtype), info["command"])
        moment = self._moment(state, simulator, after, record, action)
        over = [ENDINGS[name](moment, limit) for name, limit in self.task.endings.items()]
        ended = jnp.any(jnp.stack([*over, ~sound, ~told]))
        moment = moment._replace(ended=ended)
        worth = {name: weight * REWARDS[name](moment) for name, weight in self.task.rewards.items()}
        reward = self.task.reward_scale * jnp.stack(list(worth.values())).sum()
        if self.task.least_reward is not None:
            reward = jnp.maximum(reward, self.task.least_reward)
        metrics = {f"reward/{name}": value.astype(dtype) for name, value in worth.items()}
        metrics |= {"invalid": (~(sound & told)).astype(dtype), "not_converged": (~record.converged).astype(dtype)}
        info = info | {
            "rng": rng,
            "command": command,
            "action": action,
            "air_time": jnp.where(moment.load > TOUCH, 0.0, moment.air_time).astype(dtype),
            "steps": info["steps"] + 1,
        }
        obs = self._observed(moment._replace(command=command), of_noise)
        return State(after, obs, reward.astype(dtype), ended.astype(dtype), metrics, info)

    # -- parts -------------------------------------------------------------------------------------------

    def on(self, values: Parameters) -> Simulator:
        """The simulator on the ground with these parameters."""
        return eqx.tree_at(lambda one: one.ground, self.simulator, self.grounds.with_parameters(values))

    def _started(self, key: Array, dtype) -> tuple[Array, Array]:
        """Configuration, not yet set down, and velocity at the start of an episode."""
        robot, start = self.robot, self.task.start
        of_joints, of_velocity, of_heading = jax.random.split(key, 3)
        joints = np.array(robot.dof_q, dtype=int)[list(robot.actuated)]
        q = jnp.asarray(robot.posture, dtype)
        q = q.at[joints].add(start.joints * _between(of_joints, (len(joints),), dtype))
        v = jnp.zeros(robot.nv, dtype)
        base = 6 if robot.tree.joint_type[0] == FREE else 3
        v = v.at[:base].set(start.velocity * _between(of_velocity, (base,), dtype))
        if robot.tree.joint_type[0] == FREE:
            half = jnp.pi / 2 * _between(of_heading, (), dtype)
            zero = jnp.zeros((), dtype)
            q = q.at[3:7].set(jnp.stack([jnp.cos(half), zero, zero, jnp.sin(half)]))
        return q, v

    def _begun(self, simulator: Simulator, start: tuple[Array, Array]) -> Physics:
        """State of the simulator, with the robot set down; by native code where steps are."""
        height, up = self.task.start.height, self._up

        def begin(simulator: Simulator, q: Array, v: Array) -> Physics:
            return simulator.initial_state(set_down(simulator, q, height, up), v, dtype=q.dtype)

        if simulator.backend == "native" and simulator.ground.footprints is None:
            try:
                return by_native_code(begin, simulator, *start)
            except NotNative as reason:
                say_why_not("starts of episodes", str(reason))
        return begin(simulator, *start)

    def _drawn_command(self, key: Array, dtype) -> Float[Array, "3"]:
        of_values, of_still = jax.random.split(key)
        low, high = (jnp.asarray(side, dtype) for side in zip(*self.task.commands.ranges, strict=True))
        drawn = jax.random.uniform(of_values, (3,), dtype, low, high)
        return jnp.where(jax.random.uniform(of_still, (), dtype) < self.task.commands.still, 0.0, drawn)

    def _pushed(self, data: Physics, key: Array, now: Array) -> Physics:
        if not self.task.push or self.robot.tree.joint_type[0] != FREE:
            return data
        push = self.task.push * _between(key, (2,), data.v.dtype)
        return dataclasses.replace(data, v=jnp.asarray(data.v).at[:2].add(jnp.where(now, push, 0.0)))

    def _moment(self, state: State, simulator: Simulator, after: Physics, record, action: Array) -> Moment:
        """The moment at the end of a period."""
        info, period = state.info, self.task.period
        dtype = after.q.dtype
        seen = self.driven.seen(after, simulator.ground.surface, action, info["command"])
        moment = with_feet(seen, self.robot, record, simulator.twist_kind)
        before = self.driven.joints(state.data)[1]
        flown = info["air_time"] + period
        return moment._replace(
            accelerations=(moment.speeds - before) / period,
            last_action=info["action"],
            air_time=flown,
            landed=(moment.load > TOUCH) & (info["air_time"] > 0),
            ground=self.grounds.shares(info["ground"]).astype(dtype),
        )

    def _observed(self, moment: Moment, key: Array) -> dict[str, Array]:
        """Observations; noise on those of the policy."""
        keys = jax.random.split(key, max(1, len(self.task.observations)))
        dtype = moment.joints.dtype
        noisy = []
        for k, (name, noise) in zip(keys, self.task.observations.items(), strict=False):
            value = OBSERVATIONS[name](moment).astype(dtype)
            noisy.append(value + noise * _between(k, value.shape, dtype) if noise else value)
        exact = [OBSERVATIONS[name](moment).astype(dtype) for name in self.task.privileged]
        return {"state": jnp.concatenate(noisy), "privileged_state": jnp.concatenate(exact)}


def _between(key: Array, shape: tuple[int, ...], dtype) -> Array:
    """Uniform, from -1 to 1."""
    return jax.random.uniform(key, shape, dtype, -1.0, 1.0)


def _blank(tree: Any) -> Any:
    return jax.tree.map(jnp.zeros_like, tree)
