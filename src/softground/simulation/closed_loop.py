"""A controller on the host in a loop with the simulator: one compiled step, then ordinary Python, and again.

`run` keeps policies inside one compiled loop. A controller that calls a solver written in C, as whole-body control
does, cannot live there: here it is asked once a step, and gets and gives plain NumPy. A step hands over one vector, so
that crossing between the host and the compiled program costs microseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from rich.console import Console

from softground.errors import OptionError
from softground.simulation.run_dataset import run_dataset, troubles
from softground.simulation.running import TorqueSequence, progress_bar, steps_in
from softground.simulation.simulator import Simulator, State

#: Steps between two movements of the progress bar.
SHOWN_EVERY = 100


class Measurement(NamedTuple):
    """What the sensors say before a step."""

    time: float  # s
    q: Float[np.ndarray, " nq"]
    v: Float[np.ndarray, " nv"]
    wrench_world: Float[np.ndarray, "f 6"]
    """On each foot about its origin, over the step before (N, N m)."""


Controller = Callable[[Measurement], Float[np.ndarray, " nu"]]
"""Torques of the motors (N m) over the next step."""


class Stop(Exception):
    """Raised by a controller to end the run; its text is kept as the reason."""


def run_closed_loop(
    simulator: Simulator,
    state: State,
    controller: Controller,
    seconds: float,
    *,
    progress: bool = True,
    label: str = "simulating",
    title: str = "",
    command: str = "",
) -> xr.Dataset:
    """Simulate with a controller on the host; the run as a dataset, one sample a step (see `run_dataset`).

    The torques are kept as the run's control, so `repeat` gives the same run without the controller. The run ends
    early at Ctrl-C, at a non-finite state, or when the controller raises `Stop`; the attribute `ended` says which.
    """
    steps = steps_in(seconds, float(simulator.dt))
    console = Console(stderr=True, quiet=not progress)
    with progress_bar(console) as bar:
        task = bar.add_task(label, total=steps, note="compiling")
        began = time.perf_counter()
        step, unpack = _compiled_step(simulator, state)
        compiled = time.perf_counter()
        rows, torques, after, ended = _loop(simulator, step, state, controller, steps, bar, task)
    elapsed = time.perf_counter() - compiled
    if not rows:
        raise KeyboardInterrupt if ended == "interrupted" else OptionError(f"the controller would not start: {ended}")
    history = jax.tree.map(np.asarray, jax.jit(jax.vmap(unpack))(np.array(rows)))[1]
    dataset = run_dataset(
        simulator,
        state,
        after,
        history,
        TorqueSequence(np.array(torques), np.asarray(simulator.dt), np.asarray(state.time)),
        tally={
            "steps": len(rows),
            "not_converged": int((~history.converged).sum()),
            "outside_data": int(history.outside_data.any(axis=1).sum()),
            "iterations": int(history.iterations.sum()),
        },
        options={"every": 1, "seed": None, "command": command, "ended": ended, "title": title},
        timing={"compile_seconds": compiled - began, "steps_per_second": len(rows) / max(elapsed, 1e-9)},
    )
    for line in troubles(dataset):
        console.print(f"[yellow]{line}", soft_wrap=True)
    return dataset


def _compiled_step(simulator: Simulator, state: State):
    """Compiled (state, torque) -> (state, flat vector), and the function from the vector to (sensed, Record).

    The robot is made of constants, which makes for a faster program; the ground's parameters are inputs, so that JAX's
    compilation cache holds one program for a robot on all grounds of a kind.
    """
    parameters, rest = eqx.partition(simulator.ground.medium, eqx.is_array)
    numbers, restore = ravel_pytree(parameters)

    def step(numbers, state: State, torque):
        medium = eqx.combine(restore(numbers), rest)
        here = eqx.tree_at(lambda sim: sim.ground.medium, simulator, medium)
        after, record = here.step(state, torque)
        return after, ((after.q, after.v, record.wrench_world), record)

    def flat_step(numbers, state: State, torque):
        after, seen = step(numbers, state, torque)
        return after, ravel_pytree(seen)[0]

    torque = np.zeros(simulator.robot.nu)
    shapes = jax.eval_shape(step, numbers, state, torque)[1]
    _, unpack = ravel_pytree(jax.tree.map(lambda part: np.zeros(part.shape, part.dtype), shapes))
    return partial(jax.jit(flat_step).lower(numbers, state, torque).compile(), numbers), unpack


def _loop(simulator: Simulator, step, state: State, controller: Controller, steps: int, bar, task):
    """Rows and torques of the steps taken, the state after them, and how it ended."""
    start, dt = float(state.time), float(simulator.dt)
    rows: list[np.ndarray] = []
    torques: list[np.ndarray] = []
    sensed = (np.asarray(state.q), np.asarray(state.v), np.zeros((len(simulator.robot.feet), 6)))
    ended = "finished"
    try:
        for number in range(steps):
            torque = np.asarray(controller(Measurement(start + number * dt, *sensed)))
            state, vector = step(state, torque)
            rows.append(np.asarray(vector))
            torques.append(torque)
            sensed = _sensed(simulator, rows[-1])
            if not (np.isfinite(sensed[0]).all() and np.isfinite(sensed[1]).all()):
                ended = "non-finite"
                break
            if number % SHOWN_EVERY == 0:
                bar.update(task, completed=number + 1, note=f"t = {start + (number + 1) * dt:.2f} s")
        bar.update(task, completed=len(rows), note="")
    except KeyboardInterrupt:
        ended = "interrupted"
    except Stop as reason:
        ended = str(reason)
    return rows, torques, state, ended


def _sensed(simulator: Simulator, row: np.ndarray):
    """q, v and the wrenches of the feet: the first entries of a step's vector."""
    robot = simulator.robot
    moving, feet = robot.nq + robot.nv, len(robot.feet)
    return row[: robot.nq], row[robot.nq : moving], row[moving : moving + 6 * feet].reshape(feet, 6)
