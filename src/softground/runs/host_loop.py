"""A controller on the host in a loop with the simulator: one compiled step, then ordinary Python, and again.

`run` keeps policies inside one compiled loop. A controller that calls a solver written in C, as whole-body control
does, cannot live there: here it is asked once a period, of one step or several, and gets and gives plain NumPy. A
period hands over one vector, so that crossing between the host and the compiled program costs microseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int
from rich.console import Console

from softground.arrays import Array
from softground.errors import OptionError
from softground.runs.compiled_loop import contents, kept_program, progress_bar, shapes, steps_in
from softground.runs.dataset import RunInfo
from softground.runs.motion import Run
from softground.runs.verdict import FALLEN, FallWatch
from softground.simulation.controllers import TorqueSequence, steps_in_period
from softground.simulation.simulator import Simulator, State

#: Periods between two movements of the progress bar, and between two looks whether the robot has fallen.
SHOWN_EVERY, LOOK_EVERY = 100, 10


class Measurement(NamedTuple):
    """What the sensors say at the start of a period."""

    time: float  # s
    q: Float[np.ndarray, " nq"]
    v: Float[np.ndarray, " nv"]
    wrench_world: Float[np.ndarray, "f 6"]
    """On each foot about its origin, over the step before (N, N m)."""


@runtime_checkable
class HostController(Protocol):
    """As `softground.simulation.controllers.Controller`, but of measurements and torques in NumPy."""

    def init(self, seen: Measurement) -> Any:
        """Memory before the first period."""
        ...

    def __call__(self, memory: Any, seen: Measurement) -> tuple[Any, Float[np.ndarray, " nu"]]:
        """Memory, and torques of the actuators (N m) over the period that begins."""
        ...


class Answering:
    """A function Measurement -> torques as a controller."""

    def __init__(self, answer: Callable[[Measurement], Float[np.ndarray, " nu"]]):
        self.answer = answer

    def init(self, seen: Measurement) -> None:
        return None

    def __call__(self, memory: None, seen: Measurement) -> tuple[None, Float[np.ndarray, " nu"]]:
        return memory, self.answer(seen)


class Stop(Exception):
    """Raised by a controller to end the run; its text is kept as the reason."""


def run_closed_loop(
    simulator: Simulator,
    state: State,
    controller: HostController | Callable[[Measurement], Float[np.ndarray, " nu"]],
    seconds: float,
    *,
    period: float | None = None,
    stop_at_fall: bool = False,
    progress: bool = True,
    label: str = "simulating",
    title: str = "",
    command: str = "",
) -> Run:
    """Simulate with a controller on the host, or a function Measurement -> torques; one sample a period.

    period: between two calls of the controller (s), a whole number of the simulator's steps; by default one. The
    torques are kept as the run's control, so `repeat` gives the same run without the controller. The run ends
    early at Ctrl-C, at a non-finite state, when the controller raises `Stop`, or, with `stop_at_fall`, when the robot
    has fallen; the attribute `ended` says which.
    """
    dt = float(simulator.dt)
    every = steps_in_period(dt, period)
    ticks = steps_in(seconds, every * dt)
    console = Console(stderr=True, quiet=not progress)
    with progress_bar(console) as bar:
        task = bar.add_task(label, total=ticks, note="compiling")
        began = time.perf_counter()
        tick, unpack = _kept_tick(simulator, state, every)
        compiled = time.perf_counter()
        fallen = FallWatch(simulator, np.asarray(state.q)) if stop_at_fall else None
        asked: Any = controller if isinstance(controller, HostController) else Answering(controller)
        rows, torques, after, ended = _loop(simulator, tick, every * dt, state, asked, fallen, ticks, bar, task)
    elapsed = time.perf_counter() - compiled
    if not rows:
        raise KeyboardInterrupt if ended == "interrupted" else OptionError(f"the controller would not start: {ended}")
    _, history, counts = jax.tree.map(np.asarray, jax.jit(jax.vmap(unpack))(np.array(rows)))
    info = RunInfo(
        steps=every * len(rows),
        **{name: int(count.sum()) for name, count in counts._asdict().items()},
        every=every,
        ended=ended,
        compile_seconds=compiled - began,
        steps_per_second=every * len(rows) / max(elapsed, 1e-9),
        command=command,
        title=title,
    )
    control = TorqueSequence(np.array(torques), np.asarray(dt), np.asarray(state.time), every)
    made = Run.of(simulator, state, after, history, control, info)
    for line in made.troubles():
        console.print(f"[yellow]{line}", soft_wrap=True)
    return made


class Counts(NamedTuple):
    """Over the steps of a period."""

    not_converged: Int[Array, ""]
    outside_data: Int[Array, ""]
    iterations: Int[Array, ""]


def _kept_tick(simulator: Simulator, state: State, every: int):
    """(state, torque) -> (state, flat vector), and the function from it to (sensed, Record, Counts).

    The robot is made of constants, which makes for a faster program; the ground's parameters are inputs, so that one
    program serves a robot on all grounds of a kind.
    """
    parameters, rest = eqx.partition(simulator.ground.medium, eqx.is_inexact_array_like)
    numbers, restore = ravel_pytree(parameters)
    bare = eqx.tree_at(lambda sim: sim.ground.medium, simulator, rest)
    key = "tick", contents(bare), shapes(parameters), shapes(state), every
    program, unpack = kept_program(key, lambda: _compiled_tick(bare, restore, numbers, state, every))
    return partial(program, numbers), unpack


def _compiled_tick(bare: Simulator, restore: Callable, numbers: Float[Array, " n"], state: State, every: int):
    """Compiled (numbers of the medium, state, torque) -> (state, flat vector), and what unpacks the vector.

    The record is that of the first step of a period, but for its flags, which speak for all of them.
    """

    def tick(numbers, state: State, torque):
        medium = eqx.combine(restore(numbers), bare.ground.medium)
        here = eqx.tree_at(lambda sim: sim.ground.medium, bare, medium)
        after, records = jax.lax.scan(lambda s, _: here.step(s, torque), state, None, length=every)
        counts = Counts((~records.converged).sum(), records.outside_data.any(1).sum(), records.iterations.sum())
        first = eqx.tree_at(
            lambda r: (r.iterations, r.converged, r.finite, r.outside_data),
            jax.tree.map(lambda x: x[0], records),
            (records.iterations.max(), records.converged.all(), records.finite.all(), records.outside_data.any(0)),
        )
        return after, ((after.q, after.v, records.wrench_world[-1]), first, counts)

    def flat_tick(numbers, state: State, torque):
        after, seen = tick(numbers, state, torque)
        return after, ravel_pytree(seen)[0]

    torque = np.zeros(bare.robot.nu)
    seen = jax.eval_shape(tick, numbers, state, torque)[1]
    _, unpack = ravel_pytree(jax.tree.map(lambda part: np.zeros(part.shape, part.dtype), seen))
    return jax.jit(flat_tick).lower(numbers, state, torque).compile(), unpack


def _loop(simulator: Simulator, tick, period, state: State, controller: HostController, fallen, ticks, bar, task):
    """Rows and torques of the periods run, the state after them, and how it ended."""
    start = float(state.time)
    rows: list[np.ndarray] = []
    torques: list[np.ndarray] = []
    sensed = (np.asarray(state.q), np.asarray(state.v), np.zeros((len(simulator.robot.feet), 6)))
    ended = "finished"
    try:
        memory = controller.init(Measurement(start, *sensed))
        for number in range(ticks):
            memory, torque = controller(memory, Measurement(start + number * period, *sensed))
            torque = np.asarray(torque)
            state, vector = tick(state, torque)
            rows.append(np.asarray(vector))
            torques.append(torque)
            sensed = _sensed(simulator, rows[-1])
            if not (np.isfinite(sensed[0]).all() and np.isfinite(sensed[1]).all()):
                ended = "non-finite"
                break
            if fallen is not None and number % LOOK_EVERY == 0 and (reason := fallen(sensed[0])):
                ended = FALLEN + reason
                break
            if number % SHOWN_EVERY == 0:
                bar.update(task, completed=number + 1, note=f"t = {start + (number + 1) * period:.2f} s")
        bar.update(task, completed=len(rows), note="")
    except KeyboardInterrupt:
        ended = "interrupted"
    except Stop as reason:
        ended = str(reason)
    return rows, torques, state, ended


def _sensed(simulator: Simulator, row: np.ndarray):
    """q, v and the wrenches of the feet: the first entries of a period's vector."""
    robot = simulator.robot
    moving, feet = robot.nq + robot.nv, len(robot.feet)
    return row[: robot.nq], row[robot.nq : moving], row[moving : moving + 6 * feet].reshape(feet, 6)
