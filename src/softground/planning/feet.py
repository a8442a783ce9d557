"""The feet along a trajectory."""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.feet import feet_in_ground
from softground.media.base import FootInGround
from softground.robots import Robot
from softground.surfaces import Surface


@eqx.filter_jit
def feet_along(robot: Robot, surface: Surface, q: Float[Array, "N nq"]) -> FootInGround:
    """Feet in the ground at configurations: leading axes knot, foot. Compiled once for surfaces of one kind."""
    return jax.vmap(lambda q: feet_in_ground(robot, q, surface))(q)
