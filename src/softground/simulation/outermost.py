"""How deep bodies are: the few points of each that can be its deepest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.robots.shapes import RollingPoints, Shape

MOST = 32
"""Points of a body, at most."""


class Outermost(eqx.Module):
    """Points that say how deep bodies are (leading axis), corners apart from those that roll."""

    corner: Float[Array, "b c 3"]  # m
    centre: Float[Array, "b p 3"]  # m, of `RollingPoints`
    roundness: Float[Array, "b p 3 3"]  # m2
    reach: Float[Array, " b"]  # m, of the farthest point from the body's origin
    gap: Float[Array, " b"]  # m, by which a body may be deeper than they say

    @staticmethod
    def of(shapes: Sequence[Shape], at_points: bool) -> Outermost:
        """at_points: whether the ground meets bodies only where they can stand on it."""
        found = [_deciding(shape, at_points) for shape in shapes]
        points = [one for one, _ in found]
        round_ = [(one.roundness != 0).any((1, 2)) for one in points]
        corners, balls = max((~these).sum() for these in round_), max(these.sum() for these in round_)
        apart = list(zip(points, round_, strict=True))
        return Outermost(
            corner=np.stack([_filled(one.centre[~these], one, corners) for one, these in apart]),
            centre=np.stack([_filled(one.centre[these], one, balls) for one, these in apart]),
            roundness=np.stack([_padded(one.roundness[these], balls) for one, these in apart]),
            reach=np.array([_reach(one) for one in points]),
            gap=np.array([gap for _, gap in found]),
        )

    def lowest(self, up: Float[Array, "b 3"]) -> Float[Array, " b"]:
        """Height of the lowest point of each over the body's origin, m. up: the surface's normal in its frame."""
        heights = []
        if self.corner.shape[1]:
            heights.append((self.corner * up[:, None]).sum(-1).min(1))
        if self.centre.shape[1]:
            squared = ((self.roundness * up[:, None, None]).sum(-1) * up[:, None]).sum(-1)
            heights.append(((self.centre * up[:, None]).sum(-1) - jnp.sqrt(jnp.maximum(squared, 0.0))).min(1))
        return reduce(jnp.minimum, heights)


@cache
def _deciding(shape: Shape, at_points: bool) -> tuple[RollingPoints, float]:
    return (shape.rolling_points() if at_points else shape.points_with_walls()).deciding(MOST)


def _reach(points: RollingPoints) -> float:
    thick = np.sqrt(np.trace(points.roundness, axis1=1, axis2=2))
    return float((np.linalg.norm(points.centre, axis=1) + thick).max())


def _filled(centres: np.ndarray, points: RollingPoints, count: int) -> np.ndarray:
    """So many points: filled up with one that is never the lowest alone."""
    return np.concatenate([centres, np.repeat(points.centre[:1], count - len(centres), axis=0)])


def _padded(roundness: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([roundness, np.zeros((count - len(roundness), 3, 3))])
