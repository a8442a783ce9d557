"""Whether the ground can carry a robot at all: known before a stride is searched for in vain for minutes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import OptionError
from softground.media.base import COMPONENTS, FootInGround
from softground.media.round_space import RoundWrenchSpace
from softground.media.wrench_space import WrenchSpace
from softground.planning.constraints import InsideData
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.problem import GaitProblem
from softground.robots.rotations import axis_angle_quaternion_numpy, quaternion_matrix_numpy

TILTS = 9
"""Tilts of a foot that are tried, up to the greatest that a problem allows."""


def check_carried(problem: GaitProblem) -> None:
    """OptionError where all feet together, as deep as they may be, are pushed by less than the robot weighs.

    A gait that ends as it began is carried by its weight on average, so there is none then. Forces count with their
    whole size, whichever way they point: on slopes they may do that.
    """
    limit = next((one for one in problem.constraints if isinstance(one, InsideData)), None)
    medium = medium_for_planning(problem.robot, problem.ground)
    if limit is None or not isinstance(medium, WrenchSpace) or isinstance(medium, RoundWrenchSpace):
        return
    depth = float(np.min(medium.max_depth)) if limit.depth is None else limit.depth
    tilt = float(np.min(medium.max_tilt)) if limit.tilt is None else limit.tilt
    pushed, weight = greatest_force(medium, depth, tilt), float(problem.robot.weight)
    if pushed < weight:
        raise OptionError(
            f"infeasible: the balance of the base and the depth of the feet clash. {problem.robot.name} weighs "
            f"{weight:.0f} N, and {1000 * depth:.0f} mm deep, where this ground's data end, all its feet together are "
            f"pushed by {pushed:.0f} N at most: stronger ground, larger feet or a lighter robot"
        )


def greatest_force(medium: WrenchSpace, depth: float, tilt: float) -> float:
    """Sum over the feet (leading axis of the medium) of the greatest force at a depth (m), leaning by up to `tilt`
    (rad), N."""
    linear = COMPONENTS[medium.kind] < 3

    @jax.jit
    def forces(medium, rotation):
        foot = FootInGround(jnp.asarray(depth), jnp.zeros(3), rotation, jnp.eye(3))
        vertices = jax.vmap(lambda one: one.vertices(foot))(medium)
        return jnp.linalg.norm(vertices[..., linear], axis=-1).max(axis=-1)

    leans = np.linspace(-tilt, tilt, TILTS) if np.isfinite(tilt) else [0.0]
    turned = [quaternion_matrix_numpy(axis_angle_quaternion_numpy((0.0, 1.0, 0.0), lean)) for lean in leans]
    return float(np.max([np.asarray(forces(medium, one)) for one in turned], axis=0).sum())
