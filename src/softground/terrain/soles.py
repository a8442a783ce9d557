"""What soles press into the ground: how far below it each point under a foot is taken.

A flat sole is a plane within its outline. One that rolls is round: a ball, or a cylinder that lies along the foot's y.
Feet of all kinds are described by the same numbers, so that they can be treated at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import FootInGround
from softground.robots import outline as plane
from softground.robots.shapes import Shape

FAR = 1e3  # m: beyond every edge
CONTACT = 0.7
"""Share of a ball's radius within which the ground under it is felt."""


class Soles(eqx.Module):
    """Soles of several feet (leading axis); lengths in m, foot frame."""

    normals: Float[Array, "f e 2"]  # of the edges of flat soles that are not round, outward, unit
    offsets: Float[Array, "f e"]  # of these edges from the origin
    radius: Float[Array, " f"]  # of flat soles that are round, and of balls
    curvature: Float[Array, " f"]  # radius with which a sole rolls; 0: flat
    half_width: Float[Array, " f"]
    lies: Float[Array, " f"]  # 1 where it is a cylinder that lies, else 0

    @staticmethod
    def of(shapes: Sequence[Shape]) -> Soles:
        edges = [_edges(shape) for shape in shapes]
        most = max(len(offsets) for _, offsets in edges)
        padded = [(np.r_[n, np.zeros((most - len(o), 2))], np.r_[o, np.full(most - len(o), FAR)]) for n, o in edges]
        return Soles(
            normals=np.array([n for n, _ in padded]),
            offsets=np.array([o for _, o in padded]),
            radius=np.array([shape.extent[0] / 2 if shape.is_round or shape.is_ball else FAR for shape in shapes]),
            curvature=np.array([shape.clearance if shape.rolls else 0.0 for shape in shapes]),
            half_width=np.array([shape.half_width for shape in shapes]),
            lies=np.array([float(shape.rolls and not shape.is_ball) for shape in shapes]),
        )

    def under(self, foot: FootInGround, x: Float[Array, "p p"], y: Float[Array, "p p"]):
        """For one of these soles: distance (p, p) of points outside its outline (negative inside), and depth (p, p) to
        which it reaches there, m. x, y: from the foot, along the surface's axes."""
        axis = foot.axis
        slope = axis[:2] / jnp.maximum(axis[2], 0.5)  # a toppled foot has no sole to speak of
        sink = slope[0] * x + slope[1] * y
        turn = foot.rotation
        along, across = (x * turn[0, i] + y * turn[1, i] - sink * turn[2, i] for i in (0, 1))
        edges = self.normals[:, 0, None, None] * along + self.normals[:, 1, None, None] * across
        flat = jnp.maximum((edges - self.offsets[:, None, None]).max(0), _length(along, across) - self.radius)
        side = turn[:2, 1] / jnp.maximum(jnp.sqrt((turn[:2, 1] ** 2).sum()), 1e-6)
        over = self.lies * (x * side[0] + y * side[1])  # along the axis of a cylinder that lies
        away = jnp.sqrt(jnp.maximum(x**2 + y**2 - over**2, 0.0) + 1e-12)
        ends = jnp.where(self.lies > 0, jnp.abs(over) - self.offsets[1], -FAR)
        rolling = jnp.maximum(away - self.curvature, ends)
        bowl = self.curvature - jnp.sqrt(jnp.maximum(self.curvature**2 - away**2, 0.0))
        rolls = self.curvature > 0
        return jnp.where(rolls, rolling, flat), foot.depth + jnp.where(rolls, -bowl, sink)

    def felt(self, outside: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """Distance outside of where a sole feels the ground: a ball does with its lowest part."""
        return outside + (1 - CONTACT) * self.curvature


def _edges(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    if shape.rolls and not shape.is_ball:  # a cylinder that lies: half of its width is the second offset
        return np.zeros((2, 2)), np.array([FAR, shape.extent[1] / 2])
    if shape.is_round or shape.is_ball:
        return np.zeros((1, 2)), np.array([FAR])
    normals, offsets = plane.half_planes(shape.outline)
    return np.asarray(normals), np.asarray(offsets)


def _length(x, y):
    return jnp.sqrt(x**2 + y**2 + 1e-12)
