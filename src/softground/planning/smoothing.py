"""The ground at another temperature."""

from __future__ import annotations

import equinox as eqx
import numpy as np

from softground.errors import MediumError, OptionError
from softground.simulation.ground import Ground


def smoothed(ground: Ground, eps: float) -> Ground:
    """The ground with the temperature of its wrench space set to `eps` (W)."""
    if not (np.isfinite(eps) and eps > 0):
        raise OptionError(f"eps must be a positive power in watts, got {eps}")
    if not hasattr(ground.medium, "eps"):
        raise MediumError(f"{type(ground.medium).__name__} has no temperature eps: plan on granular ground")
    return eqx.tree_at(lambda one: one.medium.eps, ground, np.asarray(eps, dtype=float))
