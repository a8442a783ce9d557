"""Steps that take many iterations, by way of softer ground.

At a low temperature the ground's potentials have corners that are a hundred thousand times sharper than a foot's motion
in a step. Newton with an exact line search finds one corner at a time. Where a step ends in several of them, of one
foot or of more, the iterate may go round among them, each time landing in one and losing the others. On ground softened
by s,

    Phi_s(u) = s Phi(u / s),     wrench_s(u) = wrench(u / s),     d2 Phi_s(u) = d2 Phi(u / s) / s,

it does not. That is convex whatever the law (the perspective of Phi): a support function of wrenches smoothed with the
temperature s eps instead of eps, a damper that is weaker by s, and Phi itself for s = 1. So a step that has not
converged after `PATIENCE` iterations goes on, from where it is, on ground softened by `DECADES`, which hardens from
iteration to iteration: Newton follows the minimum, as interior-point methods follow their path.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from softground.arrays import Array

#: Iterations on the ground as it is, which suffice in 999 of 1,000 steps of a quadruped.
PATIENCE = 25
#: By how many decades the ground is softened then: the default temperature of 1 mW becomes 1 W.
DECADES = 3
#: Iterations on the softest ground, and on the way down a decade.
LINGERING, A_DECADE = 3, 3
#: Iterations on softened ground.
SOFTENED = LINGERING + A_DECADE * DECADES - 1


def softness(iteration: Int[Array, "*n"], dtype) -> Float[Array, "*n"]:
    """What the ground is softened by in an iteration: 1, the ground as it is, but where patience has come to an end."""
    late = iteration % (PATIENCE + SOFTENED) - PATIENCE
    hardened = jnp.maximum(late - LINGERING + 1, 0).astype(dtype)
    soft = jnp.exp(math.log(10.0) * (DECADES - hardened / A_DECADE))
    return jnp.where(late < 0, 1.0, soft).astype(dtype)


def is_softened(iteration: Int[Array, "*n"]) -> Bool[Array, "*n"]:
    """Whether the ground of an iteration is softened."""
    return iteration % (PATIENCE + SOFTENED) >= PATIENCE
