"""Many robots at once."""

from __future__ import annotations

import jax

from softground.simulation.actuators import Control
from softground.simulation.controllers import Controller, Policy, as_controller
from softground.simulation.simulator import Simulator, State


def rollout_batch(
    simulator: Simulator, states: State, control: Controller | Control | Policy | None, steps: int
) -> State:
    """Final states of a batch (leading axis) after `steps` steps under one controller; records are not kept.

    On an accelerator the batch advances together: give the simulator the solver `BatchNewton`, or a single robot may
    hold up all others for 200 iterations. On a CPU one robot after another is several times faster, because every
    robot then stops iterating as soon as it can; native code does so anyway.
    """
    simulator = simulator.for_steps(steps * states.q.shape[0])
    if jax.default_backend() == "cpu" and simulator.backend != "native":
        return jax.lax.map(lambda state: simulator.rollout(state, control, steps)[0], states)

    controller = as_controller(control)

    def one(state, memory):
        memory, now = controller(memory, state)
        return simulator.next_state(state, now), memory

    def advance(carry, _):
        return jax.vmap(one)(*carry), None

    return jax.lax.scan(advance, (states, jax.vmap(controller.init)(states)), None, length=steps)[0][0]
