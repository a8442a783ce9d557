"""Ground: where it is and what it is."""

from __future__ import annotations

import equinox as eqx
import numpy as np

from softground.errors import MediumError, OptionError, SurfaceError
from softground.media.base import Medium, check_is_medium
from softground.media.named import stronger
from softground.surfaces import Plane, Surface
from softground.terrain.footprints import Footprints


class Ground(eqx.Module):
    """A medium below a surface, by default a level one at z = 0.

    >>> import softground as sg
    >>> slope = sg.Ground(sg.sand(), sg.Plane(slope=0.1))  # rad
    >>> simulator = sg.Simulator(sg.Robot.load("foot"), slope)
    """

    medium: Medium
    surface: Surface = eqx.field(default_factory=Plane)
    footprints: Footprints | None = None  # how it takes prints; None: it remembers none
    bodies: Medium | None = None  # what bodies beside the feet meet; None: `medium`, as feet do, without prints

    def __check_init__(self):
        check_is_medium("the ground", self.medium)
        if self.bodies is not None:
            check_is_medium("what bodies meet", self.bodies)
        if not isinstance(self.surface, Surface):
            raise SurfaceError(f"surface of the ground must be one of softground.surfaces, got {self.surface!r}")
        if not isinstance(self.footprints, Footprints | None):
            raise OptionError(f"footprints must be terrain.Footprints(...) or None, got {self.footprints!r}")

    def smoothed(self, eps: float) -> Ground:
        """The ground with the temperature of its wrench space set to `eps` (W).

        >>> soft = sg.Ground(sg.sand()).smoothed(1.0)
        """
        if not (np.isfinite(eps) and eps > 0):
            raise OptionError(f"eps must be a positive power in watts, got {eps}")
        if not hasattr(self.medium, "eps"):
            raise MediumError(f"{type(self.medium).__name__} has no temperature eps: plan on granular ground")
        return eqx.tree_at(lambda one: one.medium.eps, self, np.asarray(eps, dtype=float))

    def sharpened(self, eps: float) -> Ground:
        """The ground with a temperature of `eps` (W), if it has any: foam has none."""
        return self.smoothed(eps) if hasattr(self.medium, "eps") else self

    def stronger(self, factor: float) -> Ground:
        """Ground of which all forces are larger by a factor; friction's share of them stays.

        >>> float(sg.Ground(sg.sand(strength=2)).stronger(0.7).medium.strength)
        1.4
        """
        return eqx.tree_at(lambda one: one.medium, self, stronger(self.medium, factor))
