"""Where to put the next foot: proportional to the velocity with which the robot arrives there (Raibert's rule).

A pendulum of constant height over a foot at p moves by x'' = omega^2 (x - p). What grows of its motion is the
capture point xi = x + x'/omega; it leaves the foot as exp(omega t). Steps of length L and duration T repeat if every
stance begins with xi ahead of its foot by

    b = L / (exp(omega T) - 1),

so the foot goes to xi - b: to x + x'/omega - b, the offset that sustains the wanted speed plus 1/omega times the error
of velocity. Sideways, left and right alternate: xi begins W / (exp(omega T) + 1) inside the foot, W apart.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.stepping.gait import SteppingGait


def next_foot(
    gait: SteppingGait,
    omega: float | Array,
    com: Float[Array, "2"],
    velocity: Float[Array, "2"],
    foot: Float[Array, "2"],
    left: float | Array,
    time_left: float | Array,
    wanted: Float[Array, "2"],
) -> Float[Array, "2"]:
    """Where (forwards, left; m) the swinging foot should land for a robot over `foot`.

    omega: 1/s, of the gait under the robot's gravity. left: 1 for a left foot that swings, -1 for a right one.
    time_left: s, until it lands. wanted: velocity, m/s.
    """
    duration = gait.stance
    capture = com + velocity / omega
    at_landing = foot + (capture - foot) * jnp.exp(omega * time_left)
    growth = jnp.exp(omega * duration)
    inside = jnp.stack([jnp.zeros(()), -left * gait.width / (growth + 1)])
    return at_landing - wanted * duration / (growth - 1) - inside
