"""Prints of a robot's feet, kept beside the step.

A step knows what each foot feels of the ground's memory (`State.memory`), not the ground itself. After every few steps
the ground is brought up to date with where the feet were, and what they feel from there on. Native code does so too,
and changes the window of cells in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from softground.errors import MediumError
from softground.media.base import FootInGround, Medium
from softground.media.visco_elastic import Firm, ViscoElastic
from softground.terrain.footprints import Felt, Footprints, Prints
from softground.terrain.printed import Printed, PrintedMemory
from softground.terrain.window import Window

if TYPE_CHECKING:
    from softground.simulation.simulator import Simulator, State

#: Cells of a patch up to which native code brings the ground up to date: each is a hundred statements of it.
MOST_CELLS = 300


def printed(medium: Medium, footprints: Footprints | None) -> Medium:
    """The medium as feet meet it."""
    if footprints is None:
        return medium
    if isinstance(medium, ViscoElastic) and not isinstance(medium, Firm):
        raise MediumError("footprints are for grains: springs (foam) come back and leave none")
    return Printed(medium, footprints)


def fresh_prints(simulator: Simulator, dtype) -> Prints | None:
    """Ground that nobody has been on."""
    footprints = simulator.ground.footprints
    return None if footprints is None else footprints.fresh([foot.shape for foot in simulator.robot.feet], dtype)


def treads_natively(simulator: Simulator) -> bool:
    """Whether native code brings the ground up to date; else it is done between its calls."""
    footprints = simulator.ground.footprints
    if footprints is None:
        return True
    return footprints.patch_side([foot.shape for foot in simulator.robot.feet]) ** 2 <= MOST_CELLS


def treading(step: Callable[..., tuple]) -> Callable[..., tuple]:
    """A step (simulator, state, control) -> (next state, ...) after which the ground is brought up to date."""

    def whole(simulator: Simulator, state: State, control):
        if state.prints is None:
            return step(simulator, state, control)
        after, *rest = step(simulator, replace(state, prints=None), control)
        return trodden(simulator, state.prints, after), *rest

    return whole


def window_apart(state: State) -> tuple[State, Window | None]:
    """A state without the window of cells, which native code changes in place, and the window."""
    if state.prints is None:
        return state, None
    return replace(state, prints=replace(state.prints, window=None)), state.prints.window


def with_window(state: State, window: Window | None) -> State:
    """The state put together again."""
    return state if state.prints is None else replace(state, prints=replace(state.prints, window=window))


def trodden(simulator: Simulator, prints: Prints, state: State) -> State:
    """The state after a step, with the ground brought up to date if it is time, by feet that do something to it."""
    footprints = simulator.ground.footprints
    assert footprints is not None
    age = prints.age + 1
    due = age >= footprints.every
    old = prints.window, state.memory
    window, memory = jax.lax.cond(due, lambda: _up_to_date(simulator, *old, all_feet=False), lambda: old)
    return replace(state, prints=Prints(window, jnp.where(due, 0.0, age)), memory=memory)


def trodden_by_all(simulator: Simulator, prints: Prints, state: State) -> State:
    """The state with the ground brought up to date: for batches of XLA, in which a choice is as dear as both."""
    window, memory = _up_to_date(simulator, prints.window, state.memory, all_feet=True)
    return replace(state, prints=Prints(window, jnp.zeros_like(prints.age)), memory=memory)


def _up_to_date(simulator: Simulator, window: Window, memory: tuple, all_feet: bool) -> tuple[Window, tuple]:
    """The ground after the feet's last places, and what is remembered of the feet."""
    footprints = simulator.ground.footprints
    assert footprints is not None
    groups = [(number, group) for number, group in enumerate(simulator.groups) if _feels(memory[number])]
    shapes = [simulator.robot.feet[member].shape for _, group in groups for member in group.members]
    feet, felt = _stacked(memory)
    window, felt = footprints.trodden(window, felt, feet, shapes, all_feet)
    after, first = list(memory), 0
    for number, group in groups:
        here = slice(first, first := first + len(group.members))
        after[number] = replace(memory[number], felt=jax.tree.map(lambda x, here=here: x[here], felt))
    return window, tuple(after)


def _stacked(memory: tuple) -> tuple[FootInGround, Felt]:
    """Where the feet were and what they feel, in the order of their groups (leading axis)."""
    own = [(one.foot, one.felt) for one in memory if _feels(one)]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *own)


def _feels(memory: Any) -> bool:
    return isinstance(memory, PrintedMemory)
