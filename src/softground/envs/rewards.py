"""What is rewarded, by name: functions of the moment that return a number. Tasks give them weights."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.envs.moment import TOUCH, Moment

#: Squared errors of speed ((m/s)^2, (rad/s)^2) at which tracking is worth 1/e.
TRACKING = 0.25
#: s, that a swing should last at least.
SWING = 0.25
#: m, to which swinging feet should be lifted above the surface.
CLEARANCE = 0.06


def _squares(x: Array) -> Array:
    return (x * x).sum()


def _tracking(error: Array) -> Array:
    return jnp.exp(-_squares(error) / TRACKING)


def _swings(m: Moment) -> Array:
    """Time in the air beyond `SWING`, of feet that have come down, while the robot is to move."""
    return ((jnp.minimum(m.air_time, 2 * SWING) - SWING) * m.landed).sum() * m.told


def _clearance(m: Moment) -> Array:
    """How far feet that move along the surface are below the height of a swing."""
    return (jnp.maximum(CLEARANCE + m.depth, 0.0) ** 2 * m.slip).sum()


REWARDS: dict[str, Callable[[Moment], Float[Array, ""]]] = {
    "linear_tracking": lambda m: _tracking(m.command[:2] - m.linear[:2]),  # 0 to 1
    "turn_tracking": lambda m: _tracking(m.command[2] - m.angular[2]),  # 0 to 1
    "bobbing": lambda m: m.linear[2] ** 2,  # (m/s)^2
    "rocking": lambda m: _squares(m.angular[:2]),  # (rad/s)^2
    "leaning": lambda m: _squares(m.up[:2]),  # sin^2 of the inclination
    "torque": lambda m: _squares(m.torque),  # (N m)^2
    "power": lambda m: jnp.abs(m.torque * m.speeds).sum(),  # W
    "acceleration": lambda m: _squares(m.accelerations),  # (rad/s2)^2
    "action_rate": lambda m: _squares(m.action - m.last_action),
    "swings": _swings,  # s
    "clearance": _clearance,  # m2 m/s
    "slip": lambda m: (m.slip**2 * (m.load > TOUCH)).sum(),  # (m/s)^2
    "near_posture": lambda m: jnp.exp(-_squares(m.joints)),  # 0 to 1
    "stillness": lambda m: jnp.abs(m.joints).sum() * ~m.told,  # rad
    "alive": lambda m: jnp.ones_like(m.height),
    "ended": lambda m: m.ended.astype(m.height.dtype),
    "speed_error": lambda m: (m.forward - m.command[0]) ** 2,  # (m/s)^2, of the base along the world's x
    "pitch": lambda m: m.pitch**2,  # rad2
    "foot_angles": lambda m: _squares(m.tilt),  # rad2
}
"""To add one, write a line here and name it in a task."""
