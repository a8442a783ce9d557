"""Random trajectories, at which patterns of derivatives are found and derivatives are tested."""

from __future__ import annotations

import numpy as np

from softground.planning.feet import feet_along
from softground.planning.layout import Layout, Unknowns
from softground.planning.problem import GaitProblem
from softground.robots.base import base_motion

SUNK = 0.03  # m, of the feet on average: most are in the ground, some above it


def random_unknowns(problem: GaitProblem, layout: Layout, seed: int) -> np.ndarray:
    """A random trajectory about the robot's posture with its feet in the ground."""
    rng, robot = np.random.default_rng(seed), problem.robot
    base = base_motion(robot)
    knots = layout.knots
    q = np.asarray(robot.posture) + 0.1 * rng.normal(size=(knots, layout.nq))
    q[:, base.forward_q] = rng.uniform(0.0, 1.0, knots)
    depth = np.asarray(feet_along(robot, problem.ground.surface, q).depth).mean(axis=1)
    q[:, base.up_q] += depth - SUNK
    return layout.put_together(
        Unknowns(
            q,
            rng.normal(size=(knots, layout.nv)),
            rng.normal(size=(knots - 1, layout.lifted)),
            100 * rng.normal(size=(knots - 1, layout.nu)),
            rng.normal(size=layout.points),
        )
    )
