"""Running a simulation: compiled once, in chunks, with a progress bar, interruptible, troubles counted."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from softground.arrays import Array
from softground.errors import OptionError
from softground.runs.dataset import RunInfo
from softground.runs.run import Run
from softground.simulation.simulator import Control, Policy, Record, Simulator, State

#: Samples a compiled call can hold, and the time it should take (s): how often the progress bar moves.
BUFFER, CHUNK_SECONDS = 512, 0.2


class TorqueSequence(eqx.Module):
    """Policy that plays torques, one row (N m) for every step or for `every` of them, and holds the last."""

    torques: Float[Array, "rows nu"]
    dt: Float[Array, ""]  # s, of a step
    start: Float[Array, ""]  # s, time of the first row
    every: int = eqx.field(static=True, default=1, metadata={"absent_from_old_files": True})

    def __call__(self, state: State) -> Control:
        row = jnp.round((state.time - self.start) / self.dt).astype(jnp.int32) // self.every
        torques = jnp.asarray(self.torques, state.q.dtype)
        return Control(torques[jnp.clip(row, 0, len(torques) - 1)])


class Held(eqx.Module):
    """Policy that gives one control throughout; None: no torques."""

    control: Control | None

    def __call__(self, state: State) -> Control | None:
        return self.control


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
    control: Control | Policy | Float[Array, "steps nu"] | None = None,
    seconds: float | None = None,
    *,
    every: int = 1,
    progress: bool = True,
    label: str = "simulating",
    seed: int | None = None,
    command: str = "",
    title: str = "",
) -> Run:
    """Simulate for `seconds`; the `Run`, with one sample per `every` steps.

    `control` is a `Control` held throughout, a policy state -> Control, or torques (steps, nu), which
    also set the duration. Ctrl-C ends the run early and keeps what was simulated; so does the first non-
    finite state. The attribute `ended` says which. With `progress` a bar and what went wrong are shown on
    standard error. `seed`, `command` and `title` are only written down.
    """
    dt = float(simulator.dt)
    policy, steps = _policy(control, seconds, dt, float(state.time))
    if every < 1:
        raise OptionError(f"every must be at least 1 step, got {every}")
    console = Console(stderr=True, quiet=not progress)
    with progress_bar(console) as bar:
        task = bar.add_task(label, total=steps, note="compiling")
        began = time.perf_counter()
        chunk = _kept_chunk(simulator, policy, state, every)
        compiled = time.perf_counter()
        pieces, tally, final, ended = _loop(chunk, state, steps, every, bar, task)
    elapsed = time.perf_counter() - compiled
    history = jax.tree.map(lambda *parts: np.concatenate(parts), *pieces) if pieces else None
    if history is None:
        raise KeyboardInterrupt  # nothing was simulated yet: nothing to keep
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
    kept = policy if isinstance(policy, TorqueSequence) else control
    made = Run.of(simulator, state, final, history, kept, info)
    for line in made.troubles():
        console.print(f"[yellow]{line}", soft_wrap=True)
    return made


def _policy(control, seconds, dt: float, start: float) -> tuple[Policy, int]:
    """The control as a policy, and the number of steps."""
    if isinstance(control, jax.Array | np.ndarray):
        if not len(control):
            raise OptionError("torques must have at least one row, (steps, nu), got none")
        return TorqueSequence(control, np.asarray(dt), np.asarray(start)), len(control)
    policy: Any = control if callable(control) else Held(control)
    return policy, steps_in(seconds, dt)


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


def _kept_chunk(simulator: Simulator, policy: Policy, state: State, every: int):
    """The compiled chunk of a run like this one. A policy that is code may have changed: it is never kept."""
    make = partial(_compiled_chunk, simulator, policy, state, every)
    if not all(isinstance(leaf, jax.Array | np.ndarray | np.generic | float | int) for leaf in jax.tree.leaves(policy)):
        return make()
    return kept_program((contents(simulator), contents(policy), shapes(state), every), make)


def _compiled_chunk(simulator: Simulator, policy: Policy, state: State, every: int):
    """Compiled (state, steps) -> (state, samples in a buffer, tally).

    The simulator is closed over, so that its parameters are constants of the program. The number of steps
    is an argument: one compilation serves every chunk, also the last.
    """
    shapes = jax.eval_shape(lambda s: simulator.step(s, policy(s))[1], state)

    def step(carry: tuple[State, Record, Tally, Any, Any]):
        state, first, tally, done, left = carry
        after, record = simulator.step(state, policy(state))
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
        state, buffers, tally, row, left = carry
        blank = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
        going = lambda c: (c[3] < every) & (c[4] > 0) & c[2].finite  # noqa: E731
        state, record, tally, _, left = jax.lax.while_loop(going, step, (state, blank, tally, 0, left))
        buffers = jax.tree.map(lambda buffer, entry: buffer.at[row].set(entry), buffers, record)
        return state, buffers, tally, row + 1, left

    def chunk(state: State, steps: Int[Array, ""]):
        buffers = jax.tree.map(lambda shape: jnp.zeros((BUFFER, *shape.shape), shape.dtype), shapes)
        none = jnp.zeros((), int)
        tally = Tally(none, none, none, none, jnp.ones((), bool))
        going = lambda c: (c[4] > 0) & c[2].finite  # noqa: E731
        state, buffers, tally, *_ = jax.lax.while_loop(going, sample, (state, buffers, tally, 0, steps))
        return state, buffers, tally

    program = jax.jit(chunk).lower(state, jnp.asarray(1)).compile()
    return lambda state, steps: jax.block_until_ready(program(state, jnp.asarray(steps)))


def _loop(chunk, state: State, steps: int, every: int, bar: Progress, task):
    """Call the chunk until all steps are done; how it ended is "finished", "interrupted" or "non-finite"."""
    pieces: list[Record] = []
    none = np.zeros((), int)
    total = Tally(none, none, none, none, np.asarray(True))
    ended, samples = "finished", 8
    try:
        while total.steps < steps and total.finite:
            began = time.perf_counter()
            wanted = min(samples * every, steps - int(total.steps))
            after, buffers, tally = chunk(state, wanted)
            filled = -(-int(tally.steps) // every)
            piece = jax.tree.map(lambda buffer, n=filled: np.asarray(buffer)[:n].copy(), buffers)
            state = after
            pieces.append(piece)
            counts = {field: total[k] + np.asarray(tally[k]) for k, field in enumerate(Tally._fields[:-1])}
            total = Tally(**counts, finite=np.asarray(tally.finite))
            rate = filled / (time.perf_counter() - began)
            samples = int(np.clip(rate * CHUNK_SECONDS, 1, min(BUFFER, 4 * samples)))
            bar.update(task, completed=int(total.steps), note=f"{rate * every:,.0f} steps/s")
    except KeyboardInterrupt:
        ended = "interrupted"
    return pieces, total, state, ended if total.finite else "non-finite"
