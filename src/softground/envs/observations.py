"""What a policy may see, by name: functions of the moment that return arrays."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.envs.moment import TOUCH, Moment

OBSERVATIONS: dict[str, Callable[[Moment], Float[Array, " n"]]] = {
    "linear_velocity": lambda m: m.linear,  # m/s, of the base in its own frame
    "angular_velocity": lambda m: m.angular,  # rad/s, likewise
    "vertical": lambda m: m.up,  # the vertical in the base's frame
    "joints": lambda m: m.joints,  # rad, less the posture
    "speeds": lambda m: m.speeds,  # rad/s
    "action": lambda m: m.action,  # the last one
    "command": lambda m: m.command,  # m/s, m/s, rad/s
    "height": lambda m: m.height[None],  # m, of the base above the surface
    "load": lambda m: m.load,  # of the feet, in weights of the robot
    "contact": lambda m: (m.load > TOUCH).astype(m.load.dtype),
    "depth": lambda m: 10 * m.depth,  # dm, of the feet below the surface
    "torque": lambda m: m.torque,  # N m, of the PD controllers
    "air_time": lambda m: m.air_time,  # s
    "ground": lambda m: m.ground,  # parameters that vary, 0 to 1
    "planar_base": lambda m: jnp.stack(
        [m.height, m.pitch, m.linear[0], m.linear[2], m.angular[1]]
    ),  # m, rad, m/s, rad/s
    "feet": lambda m: m.feet,  # m, rad: of the feet from the base
}
"""To add one, write a line here and name it in a task."""
