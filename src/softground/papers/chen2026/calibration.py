"""III.B: zeta and lambda from penetration tests, once, before any walk.

The paper pushes a small plate into its sand, and drags it. Our sand is 3D resistive force theory, and the plate is the
foot itself: pushed down, and dragged sideways at the depths at which a robot stands. zeta is the factor of (8) that
meets the push best; lambda makes the drag of (9), once its pile has grown, what the sand resists.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from softground.media import Resistive, Wedge
from softground.media.resistive import surface_of, wrenches
from softground.media.wedge import lateral_force, sagittal_force
from softground.media.wedge.resistance import wall_stress
from softground.papers.chen2026.law import solids
from softground.robots.feet import HalfCylinder

SAND = Resistive(1.36)
"""The sand of the experiments: 3D-RFT, which is not the law under test, with the paper's zeta as its scale."""
DEPTHS = np.linspace(0.005, 0.035, 13)  # m


def calibrated(shape: HalfCylinder, sand: Resistive = SAND) -> Wedge:
    """The law of the paper with zeta and lambda of this sand."""
    unit = Wedge(zeta=1.0)
    push, pushed = _forces(shape, sand, [0.0, 0.0, -1.0])[:, 2], _push_on_wedge(shape, unit)
    zeta = float(push @ pushed / (pushed @ pushed))
    drag = -_forces(shape, sand, [0.0, 1.0, 0.0])[:, 1]
    per_length = zeta * np.asarray(
        lateral_force(jnp.asarray(DEPTHS), jnp.asarray(jnp.inf), jnp.ones(()), wall_stress())
    )
    return Wedge(zeta=zeta, saturation_length=float(drag @ per_length / (per_length @ per_length)))


def _forces(shape: HalfCylinder, sand: Resistive, direction: list[float]) -> np.ndarray:
    """(depth, 3), N: of the sand on a level foot that moves along a direction."""
    twist = np.array([[*direction, 0.0, 0.0, 0.0]])
    generic = wrenches(surface_of(shape), "3d", np.eye(3)[None], DEPTHS, twist, shape.radius)
    return float(sand.scale * sand.strength) * generic[0, :, 0, :3]


def _push_on_wedge(shape: HalfCylinder, law: Wedge) -> np.ndarray:
    """N, at `DEPTHS`: the closed form (8) of a level foot pushed down."""
    down = np.array([0.0, 0.0, -1.0])
    scale, angle = float(law.zeta), law.friction_angle
    return np.array([sagittal_force(one.faces, down, angle, scale, shape.width)[2] for one in solids(shape, DEPTHS)])
