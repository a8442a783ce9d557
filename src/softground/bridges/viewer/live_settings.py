"""What one can change in a live simulation, and the simulator that it makes."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import numpy as np

from softground.errors import OptionError
from softground.media import medium_of
from softground.robots import Robot
from softground.robots.base import carrying_dof
from softground.simulation.ground import Ground
from softground.simulation.simulator import Simulator
from softground.surfaces import Plane

GAITS = ("stand", "trot")


@dataclass(frozen=True)
class LiveSettings:
    """Settings of a live simulation."""

    medium: str = "sand"  # of the named media, or the file of a learned one (.json)
    strength: float = 1.0  # factor on the forces of the ground
    slope: float = 0.0  # degrees, rising towards +x
    payload: float = 0.0  # kg, at the torso's centre of mass
    gait: str = "stand"

    def __post_init__(self):
        if not (np.isfinite(self.strength) and self.strength > 0):
            raise OptionError(f"strength must be positive, got {self.strength}")
        if not -60 <= self.slope <= 60:
            raise OptionError(f"slope must lie between -60 and 60 degrees, got {self.slope}")
        if not (np.isfinite(self.payload) and self.payload >= 0):
            raise OptionError(f"payload must be at least 0 kg, got {self.payload}")
        if self.gait not in GAITS:
            raise OptionError(f"gait must be one of {', '.join(GAITS)}, got {self.gait!r}")


def live_simulator(robot: Robot, settings: LiveSettings, dt: float) -> Simulator:
    """The simulator of these settings."""
    medium = medium_of(settings.medium, robot, strength=settings.strength)
    surface = Plane(slope=np.deg2rad(settings.slope))
    return Simulator(with_payload(robot, settings.payload), Ground(medium, surface), dt)


def with_payload(robot: Robot, payload: float) -> Robot:
    """The robot with a point mass (kg) at the centre of mass of its first body, the torso."""
    mass = np.array(robot.parameters.mass, dtype=float)
    mass[0] += payload
    return eqx.tree_at(lambda r: r.parameters.mass, robot, mass)


def push_direction(robot: Robot) -> np.ndarray | None:
    """Generalised velocity (nv,) that moves the whole robot at 1 m/s along +x; None if it cannot move so."""
    dof = carrying_dof(robot, (1.0, 0.0, 0.0))
    return None if dof is None else np.eye(robot.nv)[dof]
