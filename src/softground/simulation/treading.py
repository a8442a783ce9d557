"""Prints of a robot's feet, kept beside the step.

A step knows what each foot feels of the ground's memory (`State.memory`), not the ground itself: the window of cells
stays out of native code. After every few steps the ground is brought up to date with where the feet were, and what they
feel from there on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from softground.errors import MediumError
from softground.media.base import FootInGround, Medium
from softground.media.visco_elastic import Firm, ViscoElastic
from softground.terrain.footprints import Felt, Footprints, Prints
from softground.terrain.printed import Printed, PrintedMemory

if TYPE_CHECKING:
    from softground.simulation.simulator import Simulator, State


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


def trodden(simulator: Simulator, prints: Prints, state: State) -> State:
    """The state after a step, with the ground brought up to date if it is time and there is something to do."""
    footprints = simulator.ground.footprints
    assert footprints is not None
    age = prints.age + 1
    feet, felt = _stacked(state.memory)
    due = (age >= footprints.every) & footprints.matters(felt, feet)
    old = replace(prints, age=age), state.memory
    prints, memory = jax.lax.cond(due, lambda: _up_to_date(simulator, prints, state.memory), lambda: old)
    return replace(state, prints=prints, memory=memory)


def trodden_anyway(simulator: Simulator, prints: Prints, state: State) -> State:
    """The state with the ground brought up to date: for batches, which do all or none."""
    prints, memory = _up_to_date(simulator, prints, state.memory)
    return replace(state, prints=prints, memory=memory)


def _up_to_date(simulator: Simulator, prints: Prints, memory: tuple) -> tuple[Prints, tuple]:
    """The ground after the feet's last places, and what is remembered of the feet."""
    footprints = simulator.ground.footprints
    assert footprints is not None
    groups = [(number, group) for number, group in enumerate(simulator.groups) if _feels(memory[number])]
    shapes = [simulator.robot.feet[member].shape for _, group in groups for member in group.members]
    feet, felt = _stacked(memory)
    tiles, felt = footprints.trodden(prints.tiles, felt, feet, shapes)
    after, first = list(memory), 0
    for number, group in groups:
        here = slice(first, first := first + len(group.members))
        after[number] = replace(memory[number], felt=jax.tree.map(lambda x, here=here: x[here], felt))
    return Prints(tiles, jnp.zeros_like(prints.age)), tuple(after)


def _stacked(memory: tuple) -> tuple[FootInGround, Felt]:
    """Where the feet were and what they feel, in the order of their groups (leading axis)."""
    own = [(one.foot, one.felt) for one in memory if _feels(one)]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *own)


def _feels(memory: Any) -> bool:
    return isinstance(memory, PrintedMemory)
