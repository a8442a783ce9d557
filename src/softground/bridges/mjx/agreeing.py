"""Rounds until the ground's end of the step and MJX's agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from mujoco import mjx

from softground.arrays import Array
from softground.bridges.mjx.answering import constraint_stiffness, dof_rows, others, quadratic, rates
from softground.bridges.mjx.memory import Memory
from softground.bridges.mjx.stepping import Reached, advanced, ended, pose_of
from softground.bridges.mujoco.agreeing import Apart, End, apart, is_careful, leap
from softground.bridges.mujoco.pushing import Beginning, Given, Push, Touching, beginning, push
from softground.native.errors import NotNative
from softground.native.parts import by_native_code, say_why_not


class Asked(eqx.Module):
    """What a step is asked for, beside the state."""

    touching: Touching
    backend: str = eqx.field(static=True)
    tolerance: float = eqx.field(static=True)
    rounds: int = eqx.field(static=True)

    @property
    def bodies(self) -> tuple[int, ...]:
        """On which the ground may push."""
        return self.touching.carrier.touched


class Answer(NamedTuple):
    """What the ground does, and the end of the step with that."""

    push: Push
    reached: Reached
    velocity: Float[Array, " nv"]
    apart: Apart
    rounds: Int[Array, ""]


class _Round(NamedTuple):
    """Where rounds are: the latest answer, the end of the step before it, and which constraints were counted."""

    answer: Answer
    before: End
    acting: Bool[Array, " nefc"]


def once(model: mjx.Model, start: mjx.Data, memory: Memory, asked: Asked) -> Answer:
    """Without constraints MJX's step answers to wrenches just as the ground's problem says."""
    rows, held = _beginning(start, memory, asked)
    free = ended(model, start, asked.bodies, rows)
    found = _push(model, free, memory, asked, rows, held, advanced(model, free).qvel, None)
    end = ended(model, start, asked.bodies, found.applied)
    off = jnp.zeros(len(found.jacobian), found.velocity.dtype)
    nothing = Apart(off, off[0], jnp.ones((), bool))
    return Answer(found, Reached.of(end), found.velocity, nothing, jnp.ones((), jnp.int32))


@eqx.filter_custom_jvp
def agreed(model: mjx.Model, start: mjx.Data, memory: Memory, asked: Asked) -> Answer:
    """Rounds until the ground's end of the step and MJX's agree."""

    def unfinished(state: _Round):
        answer = state.answer
        first = answer.rounds == 0
        return first | (~answer.apart.agreed & answer.push.finite & (answer.rounds < asked.rounds))

    def again(state: _Round) -> _Round:
        last, count = state.answer, state.answer.rounds
        end = last.reached.into(start)
        found = quadratic(model, end) & others(model, end)
        acting = jnp.where(is_careful(count), found & state.acting, found)
        now = End(last.push.pushed, last.velocity, last.apart.off)
        to = leap(now, state.before, last.push.applied)
        leaps = (count > 1) & (acting == state.acting).all()
        rows = jnp.where(leaps, to.applied, last.push.applied)
        pushed = jnp.where(leaps, to.pushed, last.push.pushed)
        velocity = jnp.where(leaps, to.velocity, last.velocity)
        return _Round(_round(model, start, memory, asked, end, rows, pushed, velocity, acting, count), now, acting)

    rows, held = _beginning(start, memory, asked)
    free = ended(model, start, asked.bodies, rows)
    velocity, acting = advanced(model, free).qvel, jnp.zeros(len(others(model, free)), bool)
    shapes = eqx.filter_eval_shape(_round, model, start, memory, asked, free, rows, held, velocity, acting, 0)
    blank = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    first = blank._replace(
        push=blank.push._replace(applied=rows, pushed=held), reached=Reached.of(free), velocity=velocity
    )
    before = End(held, velocity, blank.apart.off)
    return jax.lax.while_loop(unfinished, again, _Round(first, before, acting)).answer


@agreed.def_jvp
def _agreed_jvp(primals, tangents):
    """Where the rounds have led the wrenches no longer depend on where they began: two more rounds, differentiated.

    What is left out is the second power of how far A is from the way in which MJX answers (`pushing.py`).
    """
    answer = agreed(*primals)
    parts, static = eqx.partition(primals, eqx.is_inexact_array)
    moved = jax.tree.map(
        lambda part, tangent: None if part is None else jnp.zeros_like(part) if tangent is None else tangent,
        parts,
        tuple(tangents),
        is_leaf=lambda x: x is None,
    )

    def two_rounds(parts):
        model, start, memory, asked = eqx.combine(parts, static)
        rows, held = _beginning(start, memory, asked)
        user = rows - held
        pushed, found = answer.push.pushed, answer
        for _ in range(2):
            end = ended(model, start, asked.bodies, user + pushed)
            acting = quadratic(model, end) & others(model, end)
            velocity = advanced(model, end).qvel
            found = _round(model, start, memory, asked, end, user + pushed, pushed, velocity, acting, 0)
            pushed = found.push.pushed
        return eqx.filter(found, eqx.is_inexact_array)

    return answer, jax.jvp(two_rounds, (parts,), (moved,))[1]


def _round(
    model: mjx.Model,
    start: mjx.Data,
    memory: Memory,
    asked: Asked,
    end: mjx.Data,
    rows: Float[Array, "c 6"],
    pushed: Float[Array, "c 6"],
    velocity: Float[Array, " nv"],
    acting: Bool[Array, " nefc"],
    count: Any,
) -> Answer:
    """The ground's answer to an end of the step, and the end that it leads to."""
    found = _push(model, end, memory, asked, rows, pushed, velocity, acting)
    after = ended(model, start, asked.bodies, found.applied)
    reached = advanced(model, after).qvel
    off = apart(found.jacobian, reached, found.velocity, found.speed, asked.tolerance)
    return Answer(found, Reached.of(after), reached, off, jnp.asarray(count + 1, jnp.int32))


def _beginning(start: mjx.Data, memory: Memory, asked: Asked) -> Beginning:
    """Rows of `xfrc_applied` on what the ground touches, as they are expected, and what of them is the ground's."""
    rows = start.xfrc_applied[np.array(asked.bodies)]
    return beginning(rows, memory.applied, memory.pushed, memory.ground.expected)


def _push(
    model: mjx.Model,
    end: mjx.Data,
    memory: Memory,
    asked: Asked,
    rows: Float[Array, "c 6"],
    pushed: Float[Array, "c 6"],
    velocity: Float[Array, " nv"],
    acting: Bool[Array, " nefc"] | None,
) -> Push:
    """The ground's wrenches, seen from an end of the step with others of it (pushed, among rows)."""
    given = Given(
        pose=pose_of(end),
        dt=jnp.asarray(model.opt.timestep, velocity.dtype),
        mass=mjx.full_m(model, end),
        rates=rates(model, end),
        rows=None if acting is None else dof_rows(model, end),
        stiffness=None if acting is None else constraint_stiffness(end, acting),
        velocity=end.qvel,
        reference=velocity,
        applied=rows,
        pushed=pushed,
        memory=memory.ground,
    )
    if asked.backend == "native":
        try:
            return by_native_code(push, asked.touching, given)
        except NotNative as reason:
            say_why_not("steps in MJX", str(reason))
    return push(asked.touching, given)
