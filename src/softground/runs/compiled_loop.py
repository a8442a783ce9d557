"""Running a simulation: compiled once, in chunks, with a progress bar, interruptible, troubles counted."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from softground.arrays import Array
from softground.errors import OptionError
from softground.lazy import imported_meanwhile
from softground.simulation.actuators import Control
from softground.simulation.controllers import (
    Controller,
    Held,
    Policy,
    Reacting,
    as_controller,
    steps_in_period,
)
from softground.simulation.simulator import Record, Simulator, State

if TYPE_CHECKING:
    from softground.runs.motion import Run

#: Samples a compiled call can hold, and the time it should take (s): how often the progress bar moves.
BUFFER, CHUNK_SECONDS = 512, 0.2


class Tally(NamedTuple):
    """Counts over all steps, also those between samples."""

    steps: Int[Array, ""]
    not_converged: Int[Array, ""]  # steps
    outside_data: Int[Array, ""]  # steps in which a foot left the medium's data
    iterations: Int[Array, ""]  # sum over steps
    finite: Bool[Array, ""]


def run(
    simulator: Simulator,
    state: State,
    control: Controller | Control | Policy | Float[Array, "steps nu"] | None = None,
    seconds: float | None = None,
    *,
    period: float | None = None,
    every: int = 1,
    progress: bool = True,
    label: str = "simulating",
    seed: int | None = None,
    command: str = "",
    title: str = "",
) -> Run:
    """Simulate for `seconds`; the `Run`, with one sample per `every` steps.

    `control` is a controller, or what stands for one (`softground.simulation.controllers`): a `Control` held
    throughout, a function state -> Control, or torques (steps, nu), which also set the duration. period: between two
    calls of it (s), a whole number of steps; by default one.

    Ctrl-C ends the run early and keeps what was simulated; so does the first non-finite state. The attribute `ended`
    says which. With `progress` a bar and what went wrong are shown on standard error. `seed`, `command` and `title` are
    only written down.
    """
    if getattr(control, "on_host", False):
        raise OptionError("this controller lives on the host: give it to run_closed_loop, or to Simulator.run")
    if every < 1:
        raise OptionError(f"every must be at least 1 step, got {every}")
    dt = float(simulator.dt)
    held = steps_in_period(dt, period)
    asked = as_controller(control, dt, float(state.time), held)
    rows = len(control) if isinstance(control, jax.Array | np.ndarray) else None
    steps = steps_in(seconds, dt) if rows is None else rows * held
    console = Console(stderr=True, quiet=not progress)
    with progress_bar(console) as bar:
        task = bar.add_task(label, total=steps, note="compiling")
        began = time.perf_counter()
        start = state, jax.tree.map(jnp.asarray, asked.init(state))
        lowered = _kept_chunk(simulator.for_steps(steps), asked, start, every)
        with imported_meanwhile("softground.runs.motion", "h5netcdf"):  # from here on Python has little to do
            chunk = lowered()
            compiled = time.perf_counter()
            pieces, tally, final, ended = _loop(chunk, start, steps, every, bar, task)
            elapsed = time.perf_counter() - compiled
    history = jax.tree.map(lambda *parts: np.concatenate(parts), *pieces) if pieces else None
    if history is None:
        raise KeyboardInterrupt  # nothing was simulated yet: nothing to keep
    from softground.runs.dataset import RunInfo
    from softground.runs.motion import Run

    info = RunInfo(
        **{name: int(value) for name, value in tally._asdict().items() if name != "finite"},
        every=every,
        ended=ended,
        compile_seconds=compiled - began,
        steps_per_second=int(tally.steps) / max(elapsed, 1e-9),
        seed=seed,
        command=command,
        title=title,
    )
    kept = control if isinstance(asked, Held | Reacting) else asked
    made = Run.of(simulator, state, final, history, kept, info)
    for line in made.troubles():
        console.print(f"[yellow]{line}", soft_wrap=True)
    return made


def steps_in(seconds: float | None, dt: float) -> int:
    """Number of time steps in a duration, at least one."""
    if seconds is None or not (np.isfinite(seconds) and seconds > 0):
        raise OptionError(f"seconds must be a positive duration, got {seconds}")
    return max(1, round(seconds / dt))


def progress_bar(console: Console) -> Progress:
    """A bar with the time left and a note (a field of its tasks)."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        transient=False,
        disable=console.quiet,
    )


#: Programs of the last runs, by what simulator, policy and state are made of.
_PROGRAMS: OrderedDict[tuple, Any] = OrderedDict()
MOST_PROGRAMS = 8


def kept_program(key: tuple, make: Callable[[], Any]) -> Any:
    """The program of a key, made if it is not among the last ones.

    A program holds numbers of simulator and policy as constants. So keys are these numbers (`contents`) and not the
    objects, whose arrays may have been written to.
    """
    if key not in _PROGRAMS:
        _PROGRAMS[key] = make()
        if len(_PROGRAMS) > MOST_PROGRAMS:
            _PROGRAMS.popitem(last=False)
    _PROGRAMS.move_to_end(key)
    return _PROGRAMS[key]


def contents(tree: Any) -> tuple:
    """What a pytree of numbers is made of, for comparison."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    return structure, tuple((array.shape, array.dtype.str, array.tobytes()) for array in arrays)


def shapes(tree: Any) -> tuple:
    """Structure, shapes and dtypes of a pytree of arrays."""
    return jax.tree.structure(tree), tuple(jax.typeof(leaf) for leaf in jax.tree.leaves(tree))


def _kept_chunk(simulator: Simulator, controller: Controller, start: tuple[State, Any], every: int):
    """The lowered chunk of a run like this one. A controller that is code may have changed: it is never kept."""
    make = partial(_lowered_chunk, simulator, controller, start, every)
    leaves = jax.tree.leaves(controller)
    if not all(isinstance(leaf, jax.Array | np.ndarray | np.generic | float | int) for leaf in leaves):
        return make()
    return kept_program((contents(simulator), contents(controller), shapes(start), every), make)


def _lowered_chunk(simulator: Simulator, controller: Controller, start: tuple[State, Any], every: int):
    """What compiles, when first called: ((state, memory), steps) -> ((state, memory), samples in a buffer, tally).

    The simulator is closed over, so that its parameters are constants of the program. The number of steps
    is an argument: one compilation serves every chunk, also the last.
    """

    @partial(jax.jit, inline=True)  # traced once, for the shapes and for the loop
    def advance(state: State, memory: Any):
        memory, control = controller(memory, state)
        after, record = simulator.step(state, control)
        return (after, memory), record

    shapes = jax.eval_shape(advance, *start)[1]

    def step(carry: tuple[Any, Record, Tally, Any, Any]):
        now, first, tally, done, left = carry
        after, record = advance(*now)
        kept = jax.tree.map(lambda old, new: jnp.where(done == 0, new, old), first, record)
        # Flags of a sample speak for all its steps.
        kept = eqx.tree_at(
            lambda r: (r.iterations, r.converged, r.finite, r.outside_data),
            kept,
            (
                jnp.maximum(jnp.where(done == 0, 0, first.iterations), record.iterations),
                ((done == 0) | first.converged) & record.converged,
                record.finite,
                ((done != 0) & first.outside_data) | record.outside_data,
            ),
        )
        tally = Tally(
            tally.steps + 1,
            tally.not_converged + ~record.converged,
            tally.outside_data + record.outside_data.any(),
            tally.iterations + record.iterations,
            record.finite,
        )
        return after, kept, tally, done + 1, left - 1

    def sample(carry):
        now, buffers, tally, row, left = carry
        blank = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
        going = lambda c: (c[3] < every) & (c[4] > 0) & c[2].finite  # noqa: E731
        now, record, tally, _, left = jax.lax.while_loop(going, step, (now, blank, tally, 0, left))
        buffers = jax.tree.map(lambda buffer, entry: buffer.at[row].set(entry), buffers, record)
        return now, buffers, tally, row + 1, left

    def chunk(now: tuple[State, Any], steps: Int[Array, ""]):
        buffers = jax.tree.map(lambda shape: jnp.zeros((BUFFER, *shape.shape), shape.dtype), shapes)
        none = jnp.zeros((), int)
        tally = Tally(none, none, none, none, jnp.ones((), bool))
        going = lambda c: (c[4] > 0) & c[2].finite  # noqa: E731
        now, buffers, tally, *_ = jax.lax.while_loop(going, sample, (now, buffers, tally, 0, steps))
        return now, buffers, tally

    lowered = jax.jit(chunk).lower(start, jnp.asarray(1))

    @cache
    def compiled():
        program = lowered.compile()
        return lambda now, steps: jax.block_until_ready(program(now, jnp.asarray(steps)))

    return compiled


def _loop(chunk, now: tuple[State, Any], steps: int, every: int, bar: Progress, task):
    """Call the chunk until all steps are done; how it ended is "finished", "interrupted" or "non-finite"."""
    pieces: list[Record] = []
    none = np.zeros((), int)
    total = Tally(none, none, none, none, np.asarray(True))
    ended, samples = "finished", 8
    try:
        while total.steps < steps and total.finite:
            began = time.perf_counter()
            wanted = min(samples * every, steps - int(total.steps))
            after, buffers, tally = chunk(now, wanted)
            filled = -(-int(tally.steps) // every)
            piece = jax.tree.map(lambda buffer, n=filled: np.asarray(buffer)[:n].copy(), buffers)
            now = after
            pieces.append(piece)
            counts = {field: total[k] + np.asarray(tally[k]) for k, field in enumerate(Tally._fields[:-1])}
            total = Tally(**counts, finite=np.asarray(tally.finite))
            rate = filled / (time.perf_counter() - began)
            samples = int(np.clip(rate * CHUNK_SECONDS, 1, min(BUFFER, 4 * samples)))
            bar.update(task, completed=int(total.steps), note=f"{rate * every:,.0f} steps/s")
    except KeyboardInterrupt:
        ended = "interrupted"
    return pieces, total, now[0], ended if total.finite else "non-finite"
