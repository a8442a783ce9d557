"""A foot displaced a little from its pose: derivatives by the pose are few, those by all joints follow by a product."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import FootInGround
from softground.robots import Robot
from softground.robots.rotations import skew
from softground.surfaces import Surface


def pose_directions(robot: Robot) -> np.ndarray:
    """Components of a foot's motion (linear, angular; world) that change its pose: three in the plane, six in space."""
    return np.array([0, 2, 4]) if robot.planar else np.arange(6)


def displaced(
    surface: Surface,
    clearance: Float[Array, ""],
    place: Float[Array, "3"],
    turn: Float[Array, "3 3"],
    motion: Float[Array, "6"],
) -> FootInGround:
    """The foot at a pose (place, turn; world), displaced by a small motion, right to second order."""
    place = place + motion[:3]
    spin = skew(motion[3:])
    turn = turn + spin @ turn + spin @ (spin @ turn) / 2
    frame = surface.frame(place)
    return FootInGround(clearance - surface.signed_distance(place), place, frame.T @ turn, frame)
