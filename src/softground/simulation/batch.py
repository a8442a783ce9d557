"""Many robots at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.native.errors import NotNative
from softground.native.parts import by_native_code, say_why_not
from softground.simulation.actuators import Control
from softground.simulation.controllers import Controller, Policy, as_controller
from softground.simulation.simulator import Simulator, State
from softground.simulation.treading import treads_natively, trodden_by_all, window_apart, with_window
from softground.terrain.window import Window

#: Steps of one call of native code: enough that starting it costs nothing, few enough that a GPU with a screen, which
#: stops kernels that run for seconds, does not mind.
STEPS_A_CALL = 50
#: Numbers that a controller may bring into the code of a step. One with more, a neural network, is a product of
#: matrices for the whole batch, which XLA does better.
MOST_NUMBERS = 20_000


def rollout_batch(
    simulator: Simulator, states: State, control: Controller | Control | Policy | None, steps: int
) -> State:
    """Final states of a batch (leading axis) after `steps` steps under one controller; records are not kept.

    On an accelerator the batch advances together: give the simulator the solver `BatchNewton`, or a single robot may
    hold up all others for 200 iterations. On a CPU one robot after another is several times faster, because every
    robot then stops iterating as soon as it can; native code does so anyway, and takes several steps with their
    controller in one call, in which no robot waits for the others.
    """
    simulator = simulator.for_steps(steps * states.q.shape[0])
    if jax.default_backend() == "cpu" and simulator.backend != "native":
        return jax.lax.map(lambda state: simulator.rollout(state, control, steps)[0], states)
    controller = as_controller(control)
    memories = jax.vmap(controller.init)(states)
    if simulator.backend == "native" and _is_small(controller, states, memories):
        try:
            return _in_calls(simulator, controller, states, memories, steps)
        except NotNative as reason:
            say_why_not("batches", str(reason))

    def advance(carry, _):
        return jax.vmap(lambda state, memory: _advance((simulator, controller), state, memory))(*carry), None

    return jax.lax.scan(advance, (states, memories), None, length=steps)[0][0]


def _in_calls(simulator: Simulator, controller: Any, states: State, memories: Any, steps: int) -> State:
    """Final states by native code, `STEPS_A_CALL` steps a call, or as many as an update between calls waits for."""
    footprints, parts = simulator.ground.footprints, (simulator, controller)
    between = footprints is not None and not treads_natively(simulator)
    each = min(footprints.every, STEPS_A_CALL) if footprints is not None and between else STEPS_A_CALL

    def call(carry, count):
        def one(state, memory):
            prints, (rest, window) = state.prints, window_apart(state)
            if between:
                rest, window = replace(state, prints=None), None
            after, memory, window = by_native_code(_several, parts, rest, memory, count, in_place=window)
            after = trodden_by_all(simulator, prints, after) if between else with_window(after, window)
            return after, memory

        return jax.vmap(one)(*carry), None

    whole, rest = divmod(steps, each)
    counts = np.array([each] * whole + [rest] * (rest > 0), np.int32)
    return jax.lax.scan(call, (states, memories), counts)[0][0]


def _several(
    parts: tuple[Simulator, Any], rest: State, memory: Any, count: Any, window: Window | None = None
) -> tuple[State, Any, Window | None]:
    """`count` steps, at most `STEPS_A_CALL`; a loop of known length, through which derivatives can go back."""
    simulator, controller = parts
    source = simulator.source_of_native()

    def advance(carry, k):
        return jax.lax.cond(k < count, lambda: _advance((source, controller), *carry), lambda: carry), None

    start = with_window(rest, window), memory
    state, memory = jax.lax.scan(advance, start, jnp.arange(STEPS_A_CALL, dtype=jnp.int32))[0]
    rest, window = window_apart(state)
    return rest, memory, window


def _advance(parts: tuple[Simulator, Any], state: State, memory: Any) -> tuple[State, Any]:
    simulator, controller = parts
    memory, control = controller(memory, state)
    return simulator.next_state(state, control), memory


def _is_small(controller: Any, states: State, memories: Any) -> bool:
    """Whether a controller brings few numbers."""
    one = jax.tree.map(lambda leaf: leaf[0], (memories, states))
    numbers = [*jax.make_jaxpr(controller)(*one).consts, *jax.tree.leaves(controller)]
    return sum(np.size(number) for number in numbers if eqx.is_array(number)) <= MOST_NUMBERS
