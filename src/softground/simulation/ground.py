"""Ground: where it is and what it is."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from softground.errors import MediumError
from softground.media.base import Medium
from softground.robots import Robot
from softground.surfaces import Plane, Surface


class Ground(eqx.Module):
    """A medium below a surface."""

    medium: Medium
    surface: Surface = eqx.field(default_factory=Plane)


def medium_under_feet(medium: Medium, robot: Robot) -> Medium:
    """One medium per foot (leading axis), each specialised to the foot's shape."""
    fitted = medium.under_feet([foot.shape for foot in robot.feet], robot.planar)
    kinds = {(one.kind, jax.tree.structure(one)) for one in fitted}
    if len(kinds) > 1:
        shapes = ", ".join(f"{foot.name}: {foot.shape}" for foot in robot.feet)
        raise MediumError(
            f"the feet of {robot.name} must have shapes of one type for {type(medium).__name__}, "
            f"got {shapes}; override them with Robot.load(..., feet={{name: shape}})"
        )
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *fitted)
