"""Feet of one shape in many sizes: how the ground meets a foot that is larger, exactly and with derivatives.

In resistive force theory the stress on an element grows in proportion to its depth and knows no other length. A foot
`size` times as large, `size` times as deep, with its elements moving in the same directions, therefore meets on every
element `size` times the stress, on `size`^2 times the area:

    force(depth) = size^3 force_1(depth / size),      torque(depth) = size^4 torque_1(depth / size),

force_1 and torque_1 being those of the foot of size 1. The set of all wrenches scales like this, so the hull does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.media.base import COMPONENTS, FootInGround, Medium
from softground.media.resistive import Resistive
from softground.media.wrench_space import WrenchSpace
from softground.robots.shapes import Shape


class SimilarFeet(Medium):
    """Resistive ground for feet similar to `reference`: that of the reference foot, scaled.

    The wrenches of `Resistive` are fitted to each foot separately, and what is left of the fit (2 %) changes a little
    from size to size. Here all sizes share one fit, so that forces are a smooth function of size.
    """

    name: ClassVar[str] = "similar_feet"

    medium: Resistive
    reference_foot: Shape = eqx.field(static=True)

    @property
    def eps(self) -> Array:
        """Temperature of the wrench space, W."""
        return self.medium.eps

    def for_foot(self, shape: Shape, planar: bool) -> WrenchSpace:
        return scaled_foot(self.medium.for_foot(self.reference_foot, planar), _size(shape, self.reference_foot))


def scaled_foot(space: WrenchSpace, size: float | Float[Array, ""]) -> WrenchSpace:
    """Wrench space of a foot `size` times as large as that of `space`, about its own origin. `size` may be traced."""
    if space.reference_height:
        raise MediumError("a wrench space with a reference point above the sole cannot be scaled with the foot")
    powers = np.where(COMPONENTS[space.kind] < 3, 3, 4)
    size = jnp.asarray(size, dtype=float)
    return eqx.tree_at(
        lambda one: (one.coefficients, one.features, one.max_depth),
        space,
        (space.coefficients * size**powers, AtScale(space.features, size), size * space.max_depth),
    )


class AtScale(eqx.Module):
    """Features of a foot of size 1, in the pose that is similar to that of a foot of another size."""

    features: Callable[[FootInGround], Float[Array, " b"]]
    size: Float[Array, ""]

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        return self.features(replace(foot, depth=foot.depth / self.size.astype(foot.depth.dtype)))


def _size(shape: Shape, reference: Shape) -> float:
    """How many times as large a shape is as one that is similar to it."""
    if type(shape) is not type(reference) or not shape.size_names():
        raise MediumError(f"the feet must be similar to {reference}, got {shape}")
    ratios = np.divide(shape.sizes(), reference.sizes())
    if not np.allclose(ratios, ratios[0], rtol=1e-9):
        raise MediumError(f"the feet must be similar to {reference}, all lengths by one factor, got {shape}")
    return float(ratios[0])
