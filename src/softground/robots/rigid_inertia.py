"""Mass, first and second moments of rigid bodies about one point: there they add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.arrays import Array, is_known


@dataclass(frozen=True)
class RigidInertia:
    """Mass (kg), first moment (kg m) and inertia about the origin of a frame (kg m2)."""

    mass: float | Array
    moment: Array
    inertia: Array

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass + other.mass, self.moment + other.moment, self.inertia + other.inertia)

    def __sub__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass - other.mass, self.moment - other.moment, self.inertia - other.inertia)

    def moved(self, position: np.ndarray, rotation: np.ndarray) -> RigidInertia:
        """The same body seen from a frame in which its own frame stands at this pose."""
        com, about_com = self.about_com()
        com, about_com = position + rotation @ com, rotation @ about_com @ rotation.T
        return from_com(self.mass, com, about_com)

    def about_com(self) -> tuple[Array, Array]:
        """Centre of mass and inertia about it."""
        com = np.zeros(3) if is_known(self.mass) and self.mass <= 0 else self.moment / self.mass
        return com, self.inertia - self.mass * point_inertia(com)

    def is_physical(self) -> bool:
        """Whether mass and inertia are positive."""
        return bool(self.mass > 0) and bool(np.linalg.eigvalsh(self.about_com()[1]).min() > 0)


def from_com(mass: float | Array, com: Array, about_com: Array) -> RigidInertia:
    """Inertia about the frame's origin, from the inertia about the centre of mass."""
    return RigidInertia(mass, mass * com, about_com + mass * point_inertia(com))


def point_inertia(c: Array) -> Array:
    """Inertia about the origin of a unit mass at c: |c|^2 1 - c c'."""
    return (c @ c) * np.eye(3) - c[:, None] * c
