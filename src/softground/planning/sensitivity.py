"""How the cost of the best gait changes with something physical, without planning again.

A plan is a solution z of

    J(p) = min f(z; p)   subject to   lower <= c(z; p) <= upper   and bounds on z,

p being a mass, the strength of the ground, the size of the feet. The Lagrangian f + multipliers . c is stationary at z
(where bounds leave it free to move), and constraints that are active stay so. When p changes, z moves, but that
changes the cost to second order only: the envelope theorem,

    dJ/dp = d/dp [ f(z; p) + multipliers . c(z; p) ]   with z and multipliers held.

The rows are those that were solved, differentiated by JAX, so this is exact but for the tolerance of the solve.
Limits and boundaries of a problem are not part of p.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, require_double
from softground.errors import OptionError
from softground.media.wrench_space import WrenchSpace
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.plan import Plan
from softground.planning.transcription import Transcription
from softground.robots import Robot

P = TypeVar("P")


class Physics(NamedTuple):
    """What of a problem may depend on parameters."""

    robot: Robot
    feet_medium: WrenchSpace  # one per foot (leading axis)


def slope_of_optimum(
    plan: Plan,
    physics: Callable[[P], Physics],
    at: P,
    dynamics: type[Dynamics] = ClosedForm,
) -> P:
    """Derivative of the least cost of a plan's problem by parameters (an array or a pytree of them).

    physics: what the parameters mean; at `at` it must be the physics of the problem itself.
    """
    require_double("the derivative of an optimum")
    if plan.solution is None:
        raise OptionError(
            "the plan holds no solution of its whole problem, as one of repeated strides does not: solve it from "
            "there, solve(plan.problem, plan.trajectory, stages=near_stages(plan.eps))"
        )
    solution, transcription = plan.solution, Transcription(plan.problem, dynamics)

    @eqx.filter_jit
    def slope(z, multipliers, eps, at):
        return jax.jacfwd(lambda p: lagrangian(transcription, physics(p), z, multipliers, eps))(at)

    at = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=float), at)
    found = slope(solution.unknowns, solution.multipliers, jnp.asarray(solution.eps), at)
    return jax.tree.map(np.asarray, found)


def lagrangian(transcription: Transcription, physics: Physics, z, multipliers, eps) -> Float[Array, ""]:
    """f + multipliers . c of a transcription in which robot and ground are others."""
    blocks = (transcription.costs, [part.block for part in transcription.constraints])
    costs, constraints = _with_physics(blocks, physics)
    cost = sum(jnp.sum(block.all_rows(z, eps) ** 2) for block in costs)
    rows = jnp.concatenate([block.all_rows(z, eps).reshape(-1) for block in constraints])
    return cost + multipliers @ rows


def _with_physics(tree: Any, physics: Physics) -> Any:
    """A pytree with every robot and every wrench space in it replaced."""
    kinds = {Robot: physics.robot, WrenchSpace: physics.feet_medium}
    swapped = lambda node: next((new for kind, new in kinds.items() if isinstance(node, kind)), None)  # noqa: E731
    return jax.tree.map(
        lambda node: node if swapped(node) is None else swapped(node),
        tree,
        is_leaf=lambda node: swapped(node) is not None,
    )
