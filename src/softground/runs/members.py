"""The same run on several media, such as the members of an ensemble: compiled once, one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import OptionError
from softground.media import Medium
from softground.runs.compiled_loop import steps_in
from softground.runs.dataset import RunInfo
from softground.runs.motion import Run
from softground.simulation.controllers import as_controller
from softground.simulation.simulator import Simulator, State


def runs_on(
    simulator: Simulator,
    media: Sequence[Medium],
    state: State,
    control: Any = None,
    seconds: float | None = None,
    *,
    every: int = 1,
) -> list[Run]:
    """The run from a state on each medium in place of the simulator's: alike in all but their numbers.

    One sample is kept per `every` steps, and counts are of all steps.
    """
    others = [_on(simulator, medium) for medium in media]
    if len({jax.tree.structure(one) for one in others}) > 1:
        raise OptionError(
            "the media of one batch must be alike in all but their numbers, as members of an ensemble are"
        )
    dt = float(simulator.dt)
    asked, steps = as_controller(control, dt, float(state.time)), steps_in(seconds, dt)
    start = state, jax.tree.map(jnp.asarray, asked.init(state))
    same, differing = _apart(others)

    @jax.jit
    def history(numbers):
        here = eqx.combine(numbers, same)

        def step(now, _):
            state, memory = now
            memory, control = asked(memory, state)
            after, record = here.step(state, control)
            return (after, memory), record

        return jax.lax.scan(step, start, None, length=steps)

    began = time.perf_counter()
    program = history.lower(differing[0]).compile()
    compiling, made = time.perf_counter() - began, []
    for other, numbers in zip(others, differing, strict=True):
        began = time.perf_counter()
        (final, _), record = jax.block_until_ready(program(numbers))
        record = jax.tree.map(np.asarray, record)
        lasted = steps if record.finite.all() else int(record.finite.argmin()) + 1
        record = jax.tree.map(lambda series, count=lasted: series[:count], record)
        info = RunInfo(
            steps=lasted,
            every=every,
            not_converged=int((~record.converged).sum()),
            outside_data=int(record.outside_data.any(axis=1).sum()),
            iterations=int(record.iterations.sum()),
            ended="finished" if record.finite.all() else "non-finite",
            compile_seconds=compiling / len(others),
            steps_per_second=steps / (time.perf_counter() - began),
        )
        samples = jax.tree.map(lambda series: series[::every], record)
        made.append(Run.of(other, state, final, samples, asked, info))
    return made


def _on(simulator: Simulator, medium: Medium) -> Simulator:
    return eqx.tree_at(lambda one: one.ground, simulator, replace(simulator.ground, medium=medium))


def _apart(trees: list[Any]) -> tuple[Any, list[Any]]:
    """What several trees of one structure have in common, and what each has for itself; None in place of the rest."""
    leaves = [jax.tree.leaves(tree) for tree in trees]
    differ = [any(not np.array_equal(one[0], other) for other in one[1:]) for one in zip(*leaves, strict=True)]
    mask = jax.tree.unflatten(jax.tree.structure(trees[0]), differ)
    return eqx.filter(trees[0], mask, inverse=True), [eqx.filter(tree, mask) for tree in trees]
