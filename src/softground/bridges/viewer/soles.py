"""Soles of a robot in the ground, from its configurations: what footprints are made of."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from softground.bridges.viewer.footprints import Sole
from softground.contact.feet import feet_in_ground
from softground.media.base import FootInGround
from softground.robots import Robot
from softground.surfaces import Surface


def feet_function(robot: Robot, surface: Surface) -> Callable[[np.ndarray], FootInGround]:
    """Compiled configurations (frame, nq) -> every foot in each; leading axes frame, foot."""
    place = jax.jit(jax.vmap(lambda q: feet_in_ground(robot, q, surface)))
    return lambda configurations: jax.tree.map(np.asarray, place(configurations))


def sole(robot: Robot, feet: FootInGround, frame: int, foot: int) -> Sole:
    """One foot at one frame."""
    surface = np.asarray(feet.surface[frame, foot])
    return Sole(
        shape=robot.feet[foot].shape,
        origin=np.asarray(feet.position[frame, foot]),
        axes=surface @ np.asarray(feet.rotation[frame, foot]),
        normal=surface[:, 2],
        depth=float(feet.depth[frame, foot]),
    )


def smallest_half_width(robot: Robot) -> float:
    """Radius, or half the lesser side, of the smallest foot (m)."""
    return min(foot.shape.half_width for foot in robot.feet)
