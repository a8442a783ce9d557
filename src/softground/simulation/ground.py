"""Ground: where it is and what it is."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import MediumError, OptionError
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

    def smoothed(self, eps: float) -> Ground:
        """The ground with the temperature of its wrench space set to `eps` (W).

        >>> soft = sg.Ground(sg.sand()).smoothed(1.0)
        """
        if not (np.isfinite(eps) and eps > 0):
            raise OptionError(f"eps must be a positive power in watts, got {eps}")
        if not hasattr(self.medium, "eps"):
            raise MediumError(f"{type(self.medium).__name__} has no temperature eps: plan on granular ground")
        return eqx.tree_at(lambda one: one.medium.eps, self, np.asarray(eps, dtype=float))


def medium_under_feet(medium: Medium, robot: Robot) -> FootMedium:
    """What each foot meets (leading axis).

    Shapes may differ from foot to foot as far as the medium makes the same of them, up to numbers.
    """
    fitted = medium.under_feet([foot.shape for foot in robot.feet], robot.planar)
    kinds = {(one.kind, jax.tree.structure(one), tuple(map(np.shape, jax.tree.leaves(one)))) for one in fitted}
    if len(kinds) > 1:
        shapes = ", ".join(f"{foot.name}: {foot.shape}" for foot in robot.feet)
        raise MediumError(
            f"the feet of {robot.name} may differ in size but not in kind on {type(medium).__name__}, which treats "
            f"flat, round and rolling soles in different ways: got {shapes}; give all feet shapes of one type with "
            "Robot.load(..., feet={name: shape})"
        )
    return jax.tree.map(_stacked, *fitted)


def _stacked(*leaves):
    """Leaves stacked: NumPy arrays while nothing is traced, so that they are constants of the program that steps."""
    return (jnp if any(isinstance(leaf, jax.Array) for leaf in leaves) else np).stack(leaves)
