"""What the grains are made of, and how long a time step their contacts allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.errors import ExperimentError


@dataclass(frozen=True)
class Grains:
    """Spheres with Hertz-Mindlin contacts. The defaults are the Beads of zhu2019 but for their modulus.

    The paper's modulus, 3e8 Pa, costs five times more steps than 1e7, at which the resistance is the same
    (docs/beads.md); at 1e6 it is halved. Radii are spread a little, because equal spheres crystallise along
    walls. The paper does not give the restitution.
    """

    radius: float = 0.01  # m
    spread: float = 0.05  # of the radius, to either side, uniform
    density: float = 1631.0  # kg/m3
    modulus: float = 1e7  # Pa, Young's
    poisson: float = 0.3
    friction: float = 0.577  # between grains, and between grains and walls or foot
    restitution: float = 0.3

    def __post_init__(self):
        for label in ("radius", "density", "modulus"):
            if not (np.isfinite(value := getattr(self, label)) and value > 0):
                raise ExperimentError(f"grain {label} must be positive, got {value}")
        for label, low, high in (("poisson", 0, 0.5), ("friction", 0, 5), ("restitution", 0, 1), ("spread", 0, 0.5)):
            if not low <= (value := getattr(self, label)) <= high:
                raise ExperimentError(f"grain {label} must lie between {low} and {high}, got {value}")

    @property
    def time_step(self) -> float:
        """A fifth of the time, s, that a Rayleigh wave takes across half the smallest grain's circumference."""
        shear = self.modulus / (2 * (1 + self.poisson))
        smallest = self.radius * (1 - self.spread)
        return 0.2 * np.pi * smallest * np.sqrt(self.density / shear) / (0.1631 * self.poisson + 0.8766)

    def contact_law(self) -> str:
        """The contact law in LAMMPS' words: Hertz, Mindlin with history, Tsuji's damping."""
        return (
            f"hertz/material {self.modulus:.9g} {self.restitution:.9g} {self.poisson:.9g} "
            f"tangential mindlin NULL 1.0 {self.friction:.9g} damping tsuji"
        )
