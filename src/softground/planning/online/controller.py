"""Model-predictive control of a planned gait: at every knot of the plan the next steps are planned anew.

The horizon (`horizon`) begins in the measured state, on ground of the strength that is being identified (`strength`),
and is compared with the plan (`reference`). It starts from its last answer, one step on. Between answers the torque is

    plan + PD control about the plan + u_k - K_k (x - x_k),

with the torques u_k, states x_k and gains K_k of the last answer: feedback as along the plan (`planning.feedback`), but
along what was planned last, with the gains of the motion that is really under way. Where nothing is amiss both are the
same.

An answer takes time. It is used from `WAIT` after the question; until then the answer before it goes on with its second
step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.control.posture import pd_gains
from softground.errors import MediumError, OptionError
from softground.media.wrench_space import WrenchSpace
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.feedback import Tolerances, costs_of, linearised, riccati
from softground.planning.online.horizon import Guess, Horizon
from softground.planning.online.reference import Reference
from softground.planning.online.strength import Seen, StrengthWatch
from softground.planning.size import walking_eps
from softground.planning.tracking import TrackJoints
from softground.robots.dynamics_derivatives import has_scalar_joints
from softground.simulation.simulator import Control, State

if TYPE_CHECKING:
    from softground.planning.plan import Plan

STEPS = 15
"""Of a plan, in a horizon: 0.75 s for RoboSimian, half a stride."""
MOST_ITERATIONS = 20
WAIT = 0.7
"""Share of a plan's step for which an answer is waited for: 36 ms for RoboSimian."""


class Memory(NamedTuple):
    """What is carried from call to call."""

    last: Guess  # begins a step before ...
    newest: Guess
    strength: Float[Array, ""]  # of the ground, in the plan's
    iterations: Int[Array, ""]  # of the newest answer
    seen: Seen | None


class Replanning(eqx.Module):
    """Controller: plans the next steps anew at every knot of a plan.

    controller = Replanning.of(plan, 0.002)  # s, of the simulator's step
    run = simulator.run(controller, seconds=9.0, state=start)
    """

    joints: TrackJoints
    reference: Reference
    horizon: Horizon
    watch: StrengthWatch | None  # None: the ground is taken to be as planned
    limit: Float[Array, " nu"]  # N m
    dt: Float[Array, ""]  # s, of the simulator
    every: int = eqx.field(static=True)  # rows to a step of the plan
    wait: int = eqx.field(static=True)  # rows
    steps: int = eqx.field(static=True)
    most: int = eqx.field(static=True)  # iterations

    @classmethod
    def of(
        cls,
        plan: Plan,
        time_step: float,
        *,
        identify: bool = True,
        tolerances: Tolerances | None = None,
        steps: int = STEPS,
        most: int = MOST_ITERATIONS,
        wait: float = WAIT,
        **gains,
    ) -> Replanning:
        """For a plan, in steps of `time_step` (s) of the simulator.

        identify: the strength of the ground; otherwise it is taken to be the plan's. steps, most: of a horizon, and
        iterations of an answer. wait: share of a plan's step until an answer is used. gains: of the PD control.
        """
        problem, robot, trajectory = plan.problem, plan.problem.robot, plan.trajectory
        if not has_scalar_joints(robot):
            raise OptionError(f"re-planning needs a robot of slides and hinges, as planar ones are, got {robot.name}")
        dynamics = ClosedForm(robot, problem.ground, problem.dt, problem.collocation)  # pyright: ignore[reportCallIssue]
        if not isinstance(dynamics.feet_medium, WrenchSpace):
            raise MediumError(
                f"re-planning is for granular ground, which has a strength, not {type(problem.ground.medium).__name__}"
            )
        every, eps = round(trajectory.dt / time_step), walking_eps(robot)
        kp, kd = pd_gains(robot, trajectory.q[0], **gains)
        costs = costs_of(robot, tolerances or Tolerances())
        _, value = riccati(*linearised(problem, trajectory, eps, kp, kd), *costs)
        return cls(
            TrackJoints.of(robot, trajectory.refined(every), time_step, **gains),
            Reference.of(trajectory, every, dynamics, eps, value),
            Horizon(dynamics, kp, kd, *costs, np.asarray(eps)),
            StrengthWatch.on(robot, problem.ground, time_step) if identify else None,
            np.asarray(robot.torque_limit, dtype=float),
            np.asarray(time_step, dtype=float),
            every,
            round(wait * every),
            steps,
            most,
        )

    def init(self, state: State) -> Memory:
        row = self._row(state)
        row = row - row % self.every
        last, newest = (self.reference.guess(row - back, self.every, self.steps) for back in (self.every, 0))
        seen = None if self.watch is None else self.watch.start(state, self._held(state))
        return Memory(last, newest, jnp.ones(()), jnp.zeros((), int), seen)

    def __call__(self, memory: Memory, state: State) -> tuple[Memory, Control]:
        memory = self.sensed(memory, state)
        asked = self._row(state) % self.every == 0
        memory = jax.lax.cond(asked, lambda: self.replanned(memory, state), lambda: memory)
        return self.answered(memory, state)

    def sensed(self, memory: Memory, state: State) -> Memory:
        """With what the step that ends in this state says of the ground."""
        if self.watch is None or memory.seen is None:
            return memory
        seen = self.watch.after(memory.seen, state)
        return memory._replace(seen=seen, strength=self.watch.strength(seen))

    def replanned(self, memory: Memory, state: State) -> Memory:
        """With a new answer, from this state on."""
        row, newest = self._row(state), memory.newest
        goal = self.reference.goal(row, self.every, self.steps)
        plan = self.reference.guess(row, self.every, self.steps)
        guess = Guess(*(jnp.concatenate([old[1:], end[-1:]]) for old, end in zip(newest, plan, strict=True)))
        start = goal.state[0] + self.reference.away(row, state.q, state.v)
        found, count = self.horizon.solved(memory.strength, goal, guess, start, self.most)
        return memory._replace(last=newest, newest=found, iterations=count)

    def answered(self, memory: Memory, state: State) -> tuple[Memory, Control]:
        """The control that follows from the answer in force; it is remembered, too."""
        control = self._held(state)
        torque = jnp.clip(jnp.asarray(control.torque) + self._push(memory, state), -self.limit, self.limit)
        control = eqx.tree_at(lambda one: one.torque, control, torque)
        if self.watch is not None and memory.seen is not None:
            memory = memory._replace(seen=self.watch.told(memory.seen, state, control))
        return memory, control

    def _push(self, memory: Memory, state: State) -> Float[Array, " nu"]:
        """u_k - K_k (x - x_k), N m."""
        row = self._row(state)
        within = row % self.every

        def step(guess: Guess, k: int):
            return guess.state[k], guess.state[k + 1], guess.push[k], guess.gain[k]

        late = within < self.wait
        both = step(memory.last, 1), step(memory.newest, 0)
        here, there, push, gain = (jnp.where(late, old, new) for old, new in zip(*both, strict=True))
        here, there = (
            one - self.reference.state(row - within + rows) for one, rows in ((here, 0), (there, self.every))
        )
        planned = here + within / self.every * (there - here)
        return push - gain @ (self.reference.away(row, state.q, state.v) - planned)

    def _held(self, state: State) -> Control:
        """The plan's torque, and PD control of its joints."""
        return jax.tree.map(jnp.asarray, self.joints(state))

    def _row(self, state: State) -> Int[Array, ""]:
        return jnp.round(state.time / self.dt).astype(int)
