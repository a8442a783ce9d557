"""Controllers: what the actuators are told, from what is seen and what is remembered.

A controller is two functions,

    init(state) -> memory
    __call__(memory, state) -> (memory, control)

with a memory of any pytree of arrays (None where nothing is remembered). Written as an `equinox.Module` of pure
functions it lives inside compiled loops, batches and derivatives:

    class Integrator(eqx.Module):
        gain: float  # N m/(rad s)

        def init(self, state):
            return jnp.zeros(3)

        def __call__(self, memory, state):
            memory = memory - 0.002 * state.q[3:]
            return memory, Control(self.gain * memory)

Wherever a controller is asked for, a `Control`, None, torques (steps, nu) or a function state -> Control will do as
well (`as_controller`). A controller that has `on_host = True` runs outside, in Python: see `softground.runs.host_loop`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float
from softground.errors import OptionError
from softground.simulation.actuators import Control

if TYPE_CHECKING:
    from softground.simulation.simulator import State

Policy = Callable[["State"], Control]
"""A controller that remembers nothing, as a function."""


@runtime_checkable
class Controller(Protocol):
    """What the actuators are told; see this module."""

    def init(self, state: State) -> Any:
        """Memory before the first period."""
        ...

    def __call__(self, memory: Any, state: State, /) -> tuple[Any, Control | None]:
        """Memory and control for the period that begins in this state."""
        ...


class Held(eqx.Module):
    """One control throughout; None: no torques."""

    control: Control | None

    def init(self, state: State) -> None:
        return None

    def __call__(self, memory: None, state: State) -> tuple[None, Control | None]:
        return memory, self.control


class TorqueSequence(eqx.Module):
    """Torques, one row (N m) for every step or for `every` of them, the last one held."""

    torques: Float[Array, "rows nu"]
    dt: Float[Array, ""]  # s, of a step
    start: Float[Array, ""]  # s, time of the first row
    every: int = eqx.field(static=True, default=1, metadata={"absent_from_old_files": True})

    def init(self, state: State) -> None:
        return None

    def __call__(self, memory: None, state: State) -> tuple[None, Control]:
        row = jnp.round((state.time - self.start) / self.dt).astype(jnp.int32) // self.every
        torques = jnp.asarray(self.torques, state.q.dtype)
        return memory, Control(torques[jnp.clip(row, 0, len(torques) - 1)])


class Reacting(eqx.Module):
    """A function state -> Control as a controller."""

    policy: Policy

    def init(self, state: State) -> None:
        return None

    def __call__(self, memory: None, state: State) -> tuple[None, Control]:
        return memory, self.policy(state)


class Clocked(eqx.Module):
    """A controller that is asked once in several steps; its control is held in between."""

    controller: Controller
    every: int = eqx.field(static=True)

    def init(self, state: State) -> tuple:
        memory = _arrays(self.controller.init(state))
        blank = jax.eval_shape(lambda: _arrays(self.controller(memory, state)[1]))
        return memory, jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), blank), jnp.zeros((), int)

    def __call__(self, memory: tuple, state: State) -> tuple[tuple, Control]:
        inner, held, step = memory
        asked = lambda: _arrays(self.controller(inner, state))  # noqa: E731
        inner, held = jax.lax.cond(step % self.every == 0, asked, lambda: (inner, held))
        return (inner, held, step + 1), held


def as_controller(control: Any, dt: Any = None, start: Any = 0.0, every: int = 1) -> Any:
    """The controller that a `Control`, None, torques, a function or a controller stands for.

    dt, start: step and time (s) of the first of torques (rows, nu). every: steps from one call, or row, to the next.
    """
    controller = _controller(control, dt, start)
    if every == 1 or isinstance(controller, Held):
        return controller
    if isinstance(controller, TorqueSequence):  # which is a clock of its own
        return replace(controller, every=every)
    return Clocked(controller, every)


def _controller(control: Any, dt: Any, start: Any) -> Any:
    if isinstance(control, Controller):
        return control
    if isinstance(control, jax.Array | np.ndarray):
        if not len(control):
            raise OptionError("torques must have at least one row, (steps, nu), got none")
        return TorqueSequence(control, as_float(dt), as_float(start))
    if control is None or isinstance(control, Control):
        return Held(control)
    if not callable(control):
        raise OptionError(
            f"{control!r} controls nothing: give a Control, torques (steps, nu), a function state -> Control, or an "
            "object with init(state) and __call__(memory, state)"
        )
    policy: Any = control
    return Reacting(policy)


def steps_in_period(dt: float, period: float | None) -> int:
    """Steps of dt (s) in a controller's period (s); OptionError unless it is a whole number of them."""
    every = 1 if period is None else round(period / dt)
    if every < 1 or (period is not None and abs(every * dt - period) > 1e-9 * period):
        raise OptionError(f"a controller's period must be a whole number of steps of {dt:g} s, got {period:g} s")
    return every


def _arrays(tree: Any) -> Any:
    """Numbers as arrays of no weak type, as loops carry them."""
    return jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, jnp.result_type(leaf)), tree)
