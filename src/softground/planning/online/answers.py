"""What answering cost in a run that is over: its questions asked again, one by one, and timed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.planning.online.controller import Memory, Replanning
from softground.runs import Run
from softground.simulation.simulator import State


@dataclass(frozen=True)
class Answers:
    """Of all re-plans of a run; processor time on the machine that asks."""

    milliseconds: np.ndarray
    iterations: np.ndarray
    strength: np.ndarray
    """That each assumed of the ground, in the plan's."""

    def as_dict(self) -> dict:
        """Numbers for a table."""
        return {
            "replans": len(self.milliseconds),
            "replan_ms_median": float(np.median(self.milliseconds)),
            "replan_ms_worst": float(self.milliseconds.max()),
            "iterations_mean": float(self.iterations.mean()),
            "strength_assumed_at_end": float(self.strength[-1]),
        }


def answers(controller: Replanning, run: Run) -> Answers:
    """Ask again what was asked in a run of this controller that was sampled at every step."""
    rows = controller.every
    states = _states(run)
    first = jax.tree.map(lambda leaf: leaf[0], states)
    memory = jax.jit(lambda state: controller.init(state))(first)
    asked = jax.jit(lambda memory, state: controller.replanned(memory, state)).lower(memory, first).compile()
    followed = jax.jit(lambda memory, states: _followed(controller, memory, states))
    milliseconds, iterations, strength = [], [], []
    for row in range(0, len(states.q), rows):
        state, period = (jax.tree.map(lambda leaf, at=at: leaf[at], states) for at in (row, slice(row, row + rows + 1)))
        jax.block_until_ready((memory, state))
        began = time.process_time()
        memory = jax.block_until_ready(asked(memory, state))
        milliseconds.append(1e3 * (time.process_time() - began))
        iterations.append(int(memory.iterations))
        strength.append(float(memory.strength))
        if row + rows < len(states.q):
            memory = followed(memory, period)
    return Answers(np.array(milliseconds), np.array(iterations), np.array(strength))


def _states(run: Run) -> State:
    """Of all steps (leading axis); of ground that remembers nothing."""
    q, v, time = (jnp.asarray(run[name].values) for name in ("configuration", "velocity", "time"))
    same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(q), *np.shape(leaf))), run.state("start"))
    return eqx.tree_at(lambda state: (state.time, state.q, state.v), same, (time, q, v))


def _followed(controller: Replanning, memory: Memory, states: State) -> Memory:
    """The memory a period after an answer: at the state that the next question is about."""

    def step(memory: Memory, states: tuple[State, State]):
        here, there = states
        memory, _ = controller.answered(memory, here)
        return controller.sensed(memory, there), None

    here, there = (jax.tree.map(lambda leaf, part=part: leaf[part], states) for part in (slice(-1), slice(1, None)))
    return jax.lax.scan(step, memory, (here, there))[0]
