"""What the grains are made of, and how long a time step their contacts allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.errors import ExperimentError

#: What spheres bear.
RANGES = {
    "poisson": (0, 0.5),
    "friction": (0, 5),
    "damping": (0, 1),
    "spread": (0, 0.5),
    "rolling": (0, 2),
}


@dataclass(frozen=True)
class Grains:
    """Spheres with Hertz-Mindlin contacts. The defaults are the Beads of zhu2019 but for their modulus.

    The paper's modulus, 3e8 Pa, costs five times more steps than 1e7, at which a foot meets 6 % less resistance
    down and 15 % less aside (docs/beads.md); at 1e6 it meets a third of it down. Radii are spread a little, because
    equal spheres crystallise along walls. The paper does not tell how its contacts are damped; resistance to slow
    motion hardly depends on it.

    Grains that are not round, such as pebbles, do not roll as spheres do. `rolling` stands for their shape: a couple
    of at most rolling x reduced radius x normal force opposes the rolling of two grains over each other.
    """

    radius: float = 0.01  # m
    spread: float = 0.05  # of the radius, to either side, uniform
    density: float = 1631.0  # kg/m3
    modulus: float = 1e7  # Pa, Young's
    poisson: float = 0.3
    friction: float = 0.577  # between grains, and between grains and walls or foot
    damping: float = 0.3  # of critical, in a contact pressed together by 1 % of the radius
    rolling: float = 0.0  # friction of rolling; spheres have none

    def __post_init__(self):
        for label in ("radius", "density", "modulus"):
            if not (np.isfinite(value := getattr(self, label)) and value > 0):
                raise ExperimentError(f"grain {label} must be positive, got {value}")
        for label, (low, high) in RANGES.items():
            if not low <= (value := getattr(self, label)) <= high:
                raise ExperimentError(f"grain {label} must lie between {low} and {high}, got {value}")

    @property
    def shear_modulus(self) -> float:
        """Pa."""
        return self.modulus / (2 * (1 + self.poisson))

    @property
    def mass(self) -> float:
        """Mass of a grain of mean radius, kg."""
        return self.density * 4 / 3 * np.pi * self.radius**3

    @property
    def time_step(self) -> float:
        """A fifth of the time, s, that a Rayleigh wave takes across half the smallest grain's circumference."""
        smallest = self.radius * (1 - self.spread)
        speed_factor = 0.1631 * self.poisson + 0.8766
        return 0.2 * np.pi * smallest * np.sqrt(self.density / self.shear_modulus) / speed_factor

    def contact_law(self) -> str:
        """Hertz-Mindlin contacts with history in LAMMPS' words, as they stand behind `fix wall/gran`.

        Two grains of reduced radius R and mass m, pressed together by d, push each other apart with

            sqrt(R d) (K_n d + m gamma d'),     K_n = 4 G / (3 (1 - nu)),

        and resist slip with sqrt(R d) K_t times its elastic part, K_t = 4 G / (2 - nu). The damping ratio is
        m gamma sqrt(R d) / (2 sqrt(m k)) with the tangent stiffness k = 3/2 K_n sqrt(R d), which gives gamma.

        Without friction of rolling this is LAMMPS' gran/hertz/history; with it the same law in its style
        `granular`, slower, and a spring, dashpot and slider that oppose rolling: the spring as stiff as the
        contact is to slip when pressed together by 1 % of the radius, the dashpot critical times `damping`.
        """
        normal = 4 * self.shear_modulus / (3 * (1 - self.poisson))
        tangential = 4 * self.shear_modulus / (2 - self.poisson)
        pressed = np.sqrt(self.radius / 2 * 0.01 * self.radius)
        gamma = 2 * self.damping * np.sqrt(1.5 * normal / (self.mass / 2 * pressed))
        if not self.rolling:
            return f"hertz/history {normal:.9g} {tangential:.9g} {gamma:.9g} NULL {self.friction:.9g} 1"
        roll = tangential * pressed
        roll_damping = 2 * self.damping * np.sqrt(roll * self.mass / 2)
        return (
            f"granular hertz {normal:.9g} {gamma:.9g} tangential mindlin {tangential:.9g} 0.5 {self.friction:.9g} "
            f"rolling sds {roll:.9g} {roll_damping:.9g} {self.rolling:.9g} damping viscoelastic"
        )

    def pair_commands(self) -> str:
        """The same law between grains."""
        style, _, numbers = self.contact_law().partition(" ")
        if style == "granular":
            return f"pair_style granular\npair_coeff * * {numbers}"
        return f"pair_style gran/{style} {numbers}\npair_coeff * *"


#: What named media are made of: `acquire --rig dem --medium NAME`. Gravel is stone that rolls with difficulty.
GRAINS = {"beads": Grains(), "gravel": Grains(density=2600.0, friction=0.6, rolling=0.2)}
