"""Feedback laws that turn errors into desired accelerations."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.robots.rotations import matmul3, skew


def rotation_part(matrix: Float[Array, "3 3"]) -> Float[Array, "3"]:
    """Vector of the skew part of a matrix; of a rotation by an angle about an axis, sin(angle) axis."""
    twice = matrix - matrix.T
    return jnp.stack([twice[2, 1], twice[0, 2], twice[1, 0]]) / 2


def angular_acceleration(
    rotation: Float[Array, "3 3"],
    velocity: Float[Array, "3"],
    wanted_rotation: Float[Array, "3 3"],
    wanted_velocity: Float[Array, "3"],
    wanted_acceleration: Float[Array, "3"],
    c0,
    c1,
    c2,
) -> Float[Array, "3"]:
    """Angular acceleration that brings R to R_ref from almost everywhere on SO(3) (romualdi2021, eq. 16).

    With Q = R R_ref', all angular velocities in world axes:

        dw* = dw_ref - c0 (w^ Q - Q w_ref^)v - c1 (w - w_ref) - c2 (Q)v.

    (.)v takes the skew part, so (Q)v = sin(angle) axis, and the bracket behind c0 is dQ/dt: c0 damps the rate of that
    sine, c1 the difference of velocities. Near Q = 1 both are w - w_ref, and the error angle e obeys
    e'' + (c0 + c1) e' + c2 e = 0.
    """
    error = matmul3(rotation, wanted_rotation.T)
    rate = matmul3(skew(velocity), error) - matmul3(error, skew(wanted_velocity))
    return (
        wanted_acceleration - c0 * rotation_part(rate) - c1 * (velocity - wanted_velocity) - c2 * rotation_part(error)
    )
