"""When two ends of a step agree, and where the next round begins if they do not.

In a round the ground answers to an end of MuJoCo's step, and MuJoCo takes the step again with that answer. Ends are
compared at the feet: the velocity with which the ground thought that the step would end, and MuJoCo's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.contact.problem import product

RELATIVE = 1e-3
"""Share of the feet's greatest speed by which two ends of a step may be apart, beside a tolerance."""


class Apart(NamedTuple):
    """How far two ends of a step are apart at the feet and bodies."""

    off: Float[Array, " r"]  # m/s, rad/s, of all twists
    greatest: Float[Array, ""]
    agreed: Bool[Array, ""]


def apart(jacobian, velocity, other, speed, tolerance) -> Apart:
    """Between one velocity and another, with which twists have components up to `speed`."""
    off = product(jacobian, velocity - other)
    greatest = jnp.abs(off).max()
    return Apart(off, greatest, greatest <= tolerance + RELATIVE * speed)


SHARES = (-10.0, 0.9)
"""Least and greatest weight of the last round but one in where the next begins."""


class End(NamedTuple):
    """An end of the step: the ground's wrenches, MuJoCo's velocity with them, and how far that is from the ground's."""

    pushed: Float[Array, "c 6"]
    velocity: Float[Array, " nv"]
    off: Float[Array, " r"]


class Leap(NamedTuple):
    """Where the next round begins."""

    pushed: Float[Array, "c 6"]
    velocity: Float[Array, " nv"]
    applied: Float[Array, "c 6"]


def leap(now: End, before: End, applied: Float[Array, "c 6"]) -> Leap:
    """Go from where the last two ends of the step say that the ground and MuJoCo would agree.

    As long as the same constraints act, MuJoCo's answer is linear: between (and beyond) two pairs of wrenches and ends
    of the step all are pairs. The one that is least apart takes the place of the last (Anderson 1965).
    """
    change = now.off - before.off
    size = (change * change).sum()
    share = jnp.clip((now.off * change).sum() / jnp.where(size > 0, size, 1.0), *SHARES)
    pushed = now.pushed + share * (before.pushed - now.pushed)
    velocity = now.velocity + share * (before.velocity - now.velocity)
    return Leap(pushed, velocity, applied + pushed - now.pushed)


HASTY = 10
"""Rounds from which on no constraint is believed that did not act all the time."""


def is_careful(rounds: Any) -> Any:
    """Whether, after so many rounds, a constraint counts only if it has acted in the rounds before.

    Constraints that take turns to act could do so for ever. So in two rounds of three those count that go on acting,
    and after `HASTY` in all: what is held for too soft makes the rounds converge, if slowly. Near the end those that
    act are the right ones, and to count them all is fast.
    """
    return (rounds > 1) & ((rounds % 3 != 1) | (rounds > HASTY))
