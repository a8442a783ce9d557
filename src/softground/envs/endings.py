"""What ends an episode beside time, by name: functions of the moment and of a limit that say whether it is over."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Bool

from softground.arrays import Array
from softground.envs.moment import Moment

ENDINGS: dict[str, Callable[[Moment, float], Bool[Array, ""]]] = {
    "lower_than": lambda m, limit: m.height < limit,  # m, of the base above the surface
    "higher_than": lambda m, limit: m.height > limit,  # m
    "inclined_beyond": lambda m, limit: m.up[2] < jnp.cos(limit),  # rad, of the base from the vertical
    "pitch_beyond": lambda m, limit: jnp.abs(m.pitch) > limit,  # rad
    "foot_angles_beyond": lambda m, limit: jnp.abs(m.tilt).sum() > limit,  # rad, sum over the feet
}
"""To add one, write a line here and name it in a task."""
