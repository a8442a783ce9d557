"""Which unknowns are the motion of the robot's base: forward, up, and its attitude."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softground.errors import OptionError
from softground.robots import Robot
from softground.robots.tree import FREE, HINGE, SLIDE


class BaseMotion(NamedTuple):
    """Entries of q and v that carry the whole robot."""

    forward_q: int  # x of the base, m
    up_q: int  # z of the base, m
    attitude_q: tuple[int, ...]  # zero when level: the pitch; in space the vector part of the quaternion
    attitude_factor: float  # from those entries to angles, rad
    forward_v: int  # m/s


def base_motion(robot: Robot) -> BaseMotion:
    """The base of a robot with a free joint, or of a planar one with two slides and a hinge at its root."""
    kinds, address = robot.tree.joint_type, robot.tree.q_address
    if kinds[0] == FREE:
        return BaseMotion(address[0], address[0] + 2, (address[0] + 4, address[0] + 5, address[0] + 6), 2.0, 0)
    found: dict[str, int] = {}
    for link, kind in enumerate(kinds[:3]):
        axis = np.asarray(robot.parameters.axis)[link]
        if kind == SLIDE:
            found["forward" if abs(axis[0]) > 0.999 else "up" if abs(axis[2]) > 0.999 else "other"] = link
        if kind == HINGE and abs(axis[1]) > 0.999:
            found["attitude"] = link
    if not {"forward", "up", "attitude"} <= set(found):
        raise OptionError(
            f"{robot.name} has no base to plan for: its first joints must be a free joint, or in the plane slides "
            "along x and z and a hinge about y (Robot.load(..., planar=True) makes them)"
        )
    forward, up, attitude = (address[found[name]] for name in ("forward", "up", "attitude"))
    return BaseMotion(forward, up, (attitude,), 1.0, found["forward"])
