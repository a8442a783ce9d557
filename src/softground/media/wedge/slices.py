"""A foot in space as slices parallel to its own x-z plane, each with a wedge of its own.

A foot is turned about the normal, tilted in its own plane, and leans sideways. In the plane one slice does. In space
two stand for the width W, left and right at +- W / sqrt 12, where they have its second moment: the torque that
resists a sideways lean is then that of a foot cut in thin slices, as long as both are in the ground.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import FootInGround
from softground.media.turn import turn_about_normal


class Slices(eqx.Module):
    """Where the slices of a foot are: surface frame, from the foot's reference point."""

    turn: Float[Array, "3 3"]  # columns: forwards, left, up
    tilt: Float[Array, ""]  # rad, about the foot's left
    across: Float[Array, "3"]  # the foot's own y axis
    depth: Float[Array, ""]  # m, of the reference point
    offset: Float[Array, " s"]  # m, of each slice along `across`

    @property
    def depths(self) -> Float[Array, " s"]:
        """Depths of the slices' reference points, m."""
        return self.depth_at(self.offset)

    def depth_at(self, offset: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Depth (m) so far along `across` from the reference point."""
        return self.depth - offset * self.across[2]

    def places(self, x: Float[Array, "*p"], depth: Float[Array, "*p"], offset: Float[Array, "*p"]):
        """Points (*p, 3) by x forwards, depth below the surface and offset along `across` (m)."""
        level = self.across * np.array([1, 1, 0], self.across.dtype)
        forwards, up = self.turn[:, 0], self.turn[:, 2]
        return x[..., None] * forwards + offset[..., None] * level + (self.depth - depth)[..., None] * up


def one_slice(foot: FootInGround) -> Slices:
    """The whole foot as one slice in the surface's x-z plane: planar robots, and balls."""
    identity = jnp.eye(3, dtype=foot.depth.dtype)
    return Slices(identity, foot.tilt, identity[1], foot.depth, jnp.zeros(1, foot.depth.dtype))


def two_slices(foot: FootInGround, width: Float[Array, ""], clearance: Float[Array, ""] | float) -> Slices:
    """Left and right half of a foot of this width, whose frame is so high over its sole (m)."""
    turn = turn_about_normal(foot.rotation)
    axis = (turn * foot.axis[:, None]).sum(0)
    across = foot.rotation[:, 1]
    # The lowest point of a round sole that leans is the radius times cos(lean) below its axis.
    cosine = jnp.sqrt(jnp.maximum(1 - across[2] ** 2, 0.0))
    depth = foot.depth - clearance * (1 - cosine)
    offset = width / math.sqrt(12) * np.array([1, -1], foot.depth.dtype)
    return Slices(turn, jnp.arctan2(axis[0], axis[2]), across, depth, offset)
