"""Ground: where it is and what it is."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import MediumError
from softground.media.base import FootMedium, Medium
from softground.robots import Robot
from softground.surfaces import Plane, Surface


class Ground(eqx.Module):
    """A medium below a surface, by default a level one at z = 0.

    >>> import softground as sg
    >>> slope = sg.Ground(sg.sand(), sg.Plane(slope=0.1))  # rad
    >>> simulator = sg.Simulator(sg.Robot.load("foot"), slope)
    """

    medium: Medium
    surface: Surface = eqx.field(default_factory=Plane)


def medium_under_feet(medium: Medium, robot: Robot) -> FootMedium:
    """What each foot meets (leading axis)."""
    fitted = medium.under_feet([foot.shape for foot in robot.feet], robot.planar)
    kinds = {(one.kind, jax.tree.structure(one)) for one in fitted}
    if len(kinds) > 1:
        shapes = ", ".join(f"{foot.name}: {foot.shape}" for foot in robot.feet)
        raise MediumError(
            f"the feet of {robot.name} must have shapes of one type for {type(medium).__name__}, "
            f"got {shapes}; override them with Robot.load(..., feet={{name: shape}})"
        )
    return jax.tree.map(_stacked, *fitted)


def _stacked(*leaves):
    """Of NumPy while nothing is traced: constants of the program that steps."""
    return (jnp if any(isinstance(leaf, jax.Array) for leaf in leaves) else np).stack(leaves)
