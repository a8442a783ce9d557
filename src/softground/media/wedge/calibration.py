"""chen2026 III.B: zeta and lambda from penetration tests, once, before any walk; and the shear below the wedge.

The paper pushes a small plate into its sand, and drags it. Our sand is 3D resistive force theory, and the plate is the
foot itself, at the depths at which a robot stands:

- pushed down: zeta is the factor of (8) that meets this best;
- dragged sideways: lambda makes the force of (9), once its pile has grown, what the sand resists;
- pushed down and sideways at once, by 45 degrees: what (9) leaves is the greatest shear.

All three are linear least squares over depths. The third asks for the *greatest* shear, alpha_y(0, 0), because the law
is calibrated as it is stepped: at 45 degrees the convex law has its greatest shear (`media.wedge.resistance`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from softground.media.resistive import Resistive, surface_of, wrenches
from softground.media.wedge.geometry import Solid, solid_under
from softground.media.wedge.medium import FRICTION_ANGLE, Wedge
from softground.media.wedge.resistance import lateral_force, sagittal_force, shear_force, wall_stress
from softground.media.wedge.sole import sole_of
from softground.robots.shapes import Shape

SAND = Resistive(1.36)
"""The sand that stands for the paper's: 3D-RFT, which is not the law of the wedge, scaled by the paper's zeta."""
DEPTHS = np.linspace(0.005, 0.035, 13)  # m
OBLIQUE = np.pi / 4  # rad, below the horizontal
ALL_BUT_LEVEL = np.array([0.0, 1.0, -1e-12])
"""Direction sideways in which the shear is greatest; on a wedge that does not go down there is none."""


def calibrated(shape: Shape, sand: Resistive = SAND, *, shear: bool = True) -> Wedge:
    """The law of the paper with zeta (N/cm3) and lambda (m) of this sand; with its shear, or as printed.

    shape: foot that is pushed and dragged, by default in `SAND`. For another strength scale zeta.
    """
    zeta = _factor(_push_on_wedge(shape), _forces(shape, sand, [0.0, 0.0, -1.0])[:, 2])
    length = _factor(zeta * _on_wall(0.0), -_forces(shape, sand, [0.0, 1.0, 0.0])[:, 1])
    if not shear:
        return Wedge(zeta=zeta, saturation_length=length)
    sideways = -_forces(shape, sand, [0.0, np.cos(OBLIQUE), -np.sin(OBLIQUE)])[:, 1]
    below = sideways - zeta * length * _on_wall(OBLIQUE)
    return Wedge(zeta=zeta, saturation_length=length, shear=_factor(zeta * _shear_on_wedge(shape), below))


def _factor(unit: np.ndarray, wanted: np.ndarray) -> float:
    """By which the one comes closest to the other."""
    return float(unit @ wanted / (unit @ unit))


def _forces(shape: Shape, sand: Resistive, direction: list[float]) -> np.ndarray:
    """(depth, 3), N: of the sand on a level foot that moves along a direction."""
    twist = np.array([[*direction, 0.0, 0.0, 0.0]])
    generic = wrenches(surface_of(shape), "3d", np.eye(3)[None], DEPTHS, twist, shape.clearance)
    return float(sand.scale * sand.strength) * generic[0, :, 0, :3]


def solids(shape: Shape, depths: np.ndarray) -> list[Solid]:
    """The wedge under a level foot at each depth (m), grown as by default."""
    growth = Wedge().growth
    under = lambda depth: solid_under(sole_of(shape), depth, jnp.zeros(()), FRICTION_ANGLE, growth)  # noqa: E731
    found = jax.tree.map(np.asarray, jax.jit(jax.vmap(under))(depths))
    return [jax.tree.map(lambda leaf, i=i: leaf[i], found) for i in range(len(depths))]


def _push_on_wedge(shape: Shape) -> np.ndarray:
    """N, at `DEPTHS`: the closed form (8) of a level foot pushed down, zeta = 1."""
    down = np.array([0.0, 0.0, -1.0])
    return np.array(
        [sagittal_force(one.faces, down, FRICTION_ANGLE, 1.0, shape.extent[1])[2] for one in solids(shape, DEPTHS)]
    )


def _shear_on_wedge(shape: Shape) -> np.ndarray:
    """N, at `DEPTHS`: greatest shear below a level foot, zeta = 1."""
    return np.array(
        [-shear_force(one.faces, ALL_BUT_LEVEL, FRICTION_ANGLE, 1.0, shape.extent[1]) for one in solids(shape, DEPTHS)]
    )


def _on_wall(gamma: float) -> np.ndarray:
    """N/m, at `DEPTHS`: (9) per saturation length on a side that moves ahead and, by gamma, down; zeta = 1."""
    return np.asarray(lateral_force(jnp.asarray(DEPTHS), jnp.asarray(jnp.inf), jnp.ones(()), wall_stress(gamma)))
