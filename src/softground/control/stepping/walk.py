"""A walk of a stepping biped, as one compiled loop."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from softground.control.stepping.stepper import Stepper
from softground.simulation.run_dataset import run_dataset
from softground.simulation.running import TorqueSequence, steps_in
from softground.simulation.simulator import Simulator, State


def starting_state(simulator: Simulator, stepper: Stepper, depth: float = 0.0) -> State:
    """The robot stands with its feet at a depth (m) and begins to sway towards its left foot, the first to carry.

    A pendulum that goes from foot to foot in equal times T has the speed omega W/2 tanh(omega T/2) half way.
    """
    gait = stepper.gait
    v = np.zeros(simulator.robot.nv)
    v[1] = gait.omega * gait.width / 2 * np.tanh(gait.omega * gait.stance / 2)
    return simulator.initial_state(v=v, height=-depth)


def rollout(simulator: Simulator, stepper: Stepper, state: State, steps: int):
    """(final state, records) of many steps; pure, for `jax.jit` and `jax.vmap`."""

    def tick(carry, _):
        state, memory = carry
        memory, torque = stepper.act(memory, state.time, state.q, state.v)
        state, record = simulator.step(state, torque)
        return (state, memory), record

    (state, _), records = jax.lax.scan(tick, (state, stepper.initial_memory()), None, length=steps)
    return state, records


def walk(simulator: Simulator, stepper: Stepper, state: State, seconds: float, *, title: str = "", command: str = ""):
    """The walk as a dataset (see `run_dataset`), cut at the first state that is not finite."""
    steps = steps_in(seconds, float(simulator.dt))
    began = time.perf_counter()
    program = jax.jit(lambda state, speed, turn: rollout(simulator, _at(stepper, speed, turn), state, steps))
    program = program.lower(state, stepper.speed, stepper.turn).compile()
    compiled = time.perf_counter()
    final, records = jax.tree.map(np.asarray, program(state, stepper.speed, stepper.turn))
    elapsed = time.perf_counter() - compiled
    sound = np.logical_and.accumulate(records.finite & np.isfinite(records.torque).all(axis=1))
    kept = max(1, int(sound.sum()))
    history = jax.tree.map(lambda x: x[:kept], records)
    return run_dataset(
        simulator,
        state,
        final,
        history,
        TorqueSequence(history.torque, np.asarray(simulator.dt), np.asarray(state.time)),
        tally={
            "steps": kept,
            "not_converged": int((~history.converged).sum()),
            "outside_data": int(history.outside_data.any(axis=1).sum()),
            "iterations": int(history.iterations.sum()),
        },
        options={
            "every": 1,
            "seed": None,
            "command": command,
            "ended": "finished" if kept == steps else "non-finite",
            "title": title,
        },
        timing={"compile_seconds": compiled - began, "steps_per_second": kept / max(elapsed, 1e-9)},
    )


def _at(stepper: Stepper, speed, turn) -> Stepper:
    import equinox as eqx

    return eqx.tree_at(lambda one: (one.speed, one.turn), stepper, (speed, turn))
