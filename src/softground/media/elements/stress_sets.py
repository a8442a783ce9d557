"""The stresses that grains can put on an element of a surface: an ellipsoid joined with the origin.

Resistive force theory says what stress an element feels that moves in a direction (`resistive.stress`). What it can
feel at most is a convex set, and by maximum dissipation the support function of that set is a potential. The set is
taken as the hull of the origin and an ellipsoid, which makes a cone of friction with a round end. By symmetry its
centre -c lies in the plane of the element's normal n and the vertical z, and so do two of its axes:

    c = a n + b z,      Q = B'B,      B = b0 I + b1 n n' + b2 z z' + b3 n z'

with six numbers that are polynomials of n.z and of the surface friction, fitted to the plain stresses of Agarwal et al.
2023 (`fit`). All of it is smooth in n, also where n is vertical.
"""

from __future__ import annotations

from types import ModuleType

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array

FRICTIONS = (0.1, 0.25, 0.4, 0.55, 0.75, 1.0)
"""Surface frictions that were fitted; beyond the last nothing changes."""
UP_DEGREE, FRICTION_DEGREE = 5, 2
# fmt: off
COEFFICIENTS = np.array([
    [0.1262, 0.0645, -0.0406, -0.1282, -0.1217, 0.0647, 0.1862, -0.0146, 0.0832,
     -0.1840, 0.8444, -0.3388, -0.0707, -0.2353, 0.0909, 0.1525, -0.6256, 0.2519],
    [-0.0053, -0.0488, 0.0261, 0.0114, 0.0756, 0.0207, 0.0017, -0.3604, 0.1249,
     -0.0502, 0.4023, -0.4627, -0.0203, 0.2408, -0.0556, 0.0597, -0.2910, 0.3305],
    [0.0175, 0.2032, -0.1261, -0.0175, -0.3869, 0.2041, 0.0148, 0.4605, -0.2585,
     -0.0178, 0.1933, -0.0614, 0.0194, -0.4458, 0.2313, -0.0237, 0.0205, -0.0191],
    [0.1160, -0.1973, 0.1182, -0.1823, 0.4471, -0.2211, 0.2333, -0.6800, 0.2881,
     0.0720, -0.0253, -0.1851, -0.1664, 0.4323, -0.0577, -0.0583, 0.1258, -0.0228],
    [0.0010, -0.0162, 0.0069, 0.0075, 0.0960, -0.0781, 0.0171, -0.4315, 0.4267,
     -0.1194, -0.2773, 0.1437, -0.0115, 0.3636, -0.3309, 0.1612, 0.3120, -0.2513],
    [-0.0138, -0.0863, 0.0572, -0.0210, 0.3149, -0.2005, 0.0748, -0.4650, 0.2891,
     0.0653, 0.2310, -0.2658, -0.1121, 0.0682, 0.1095, -0.0243, -0.1441, 0.0816],
])
# fmt: on
"""Of a, b, b0 .. b3 (rows) on the monomials of n.z (powers 0 to 5) times those of friction (0 to 2)."""


def monomials(up, friction, xp: ModuleType = np):
    """Monomials of the vertical component of the normal and of the surface friction (b, ...)."""
    return xp.stack([up**i * friction**j for i in range(UP_DEGREE + 1) for j in range(FRICTION_DEGREE + 1)])


def ellipsoid(shape, normal):
    """c (3,) and B (3, 3) of one element, from the six numbers a, b, b0 .. b3."""
    up = np.array([0.0, 0.0, 1.0])
    centre = shape[0] * normal + shape[1] * up
    root = shape[2] * np.eye(3) + shape[3] * normal[:, None] * normal + shape[4] * up[:, None] * up
    return centre, root + shape[5] * normal[:, None] * up


def ellipsoids(normal: Float[Array, "e 3"], friction: Float[Array, ""]) -> tuple[Array, Array]:
    """c (e, 3) and Q (e, 3, 3) of elements in units of the stress on a level plate pushed down."""
    table = COEFFICIENTS.astype(normal.dtype).reshape(6, UP_DEGREE + 1, FRICTION_DEGREE + 1)
    friction = jnp.clip(friction, FRICTIONS[0], FRICTIONS[-1])
    by_up = table[..., 0] + friction * (table[..., 1] + friction * table[..., 2])
    by_up = by_up / _flat_plate(by_up)
    up = normal[:, 2]
    shape = by_up[:, UP_DEGREE, None]
    for i in reversed(range(UP_DEGREE)):
        shape = by_up[:, i, None] + up * shape
    a, b, b0, b1, b2, b3 = shape
    vertical = np.array([0.0, 0.0, 1.0], normal.dtype)
    centre = a[:, None] * normal + b[:, None] * vertical
    # B'B = b0^2 I + alpha n n' + beta (n z' + z n') + gamma z z', as n'n = 1
    alpha = b1 * (b1 + 2 * b0)
    beta = b1 * (b3 + b2 * up) + b3 * b0
    gamma = b3 * (b3 + 2 * b2 * up) + b2 * (b2 + 2 * b0)
    half = (0.5 * alpha)[:, None] * normal + beta[:, None] * vertical  # n half' + half n' = alpha n n' + beta (...)
    crossed = normal[:, :, None] * half[:, None, :]
    level = np.eye(3, dtype=normal.dtype)
    square = crossed + crossed.swapaxes(1, 2) + (b0 * b0)[:, None, None] * level
    return centre, square + gamma[:, None, None] * (vertical[:, None] * vertical)


def _flat_plate(by_up):
    """What the ellipsoid of a level plate gives when it is pushed down: 1 but for the error of the fit."""
    downwards = ((-1.0) ** np.arange(UP_DEGREE + 1)).astype(by_up.dtype)
    a, b, b0, b1, b2, b3 = (by_up * downwards).sum(-1)
    return a - b + jnp.abs(b0 + b1 + b2 - b3)


PRANDTL = 2 + np.pi
"""Pressure that a level strip bears at the surface over the cohesion of the ground."""


def cohesive(normal: Float[Array, "e 3"], area: Float[Array, " e"], cohesion, suction) -> tuple[Array, Array, Array]:
    """c (e, 3), Q (e, 3, 3) and size (e,) of the forces with which ground sticks to elements, N.

    An ellipsoid about the normal: shear up to the cohesion (Pa), tension up to the suction (Pa), and at the other end
    the pressure that ground with cohesion bears more. It holds the origin, whatever the depth.
    """
    bearing = PRANDTL * cohesion
    across, along = area * cohesion, area * (bearing + suction) / 2
    outer = normal[:, :, None] * normal[:, None, :]
    flat = np.eye(3, dtype=normal.dtype) - outer
    square = (across**2)[:, None, None] * flat + (along**2)[:, None, None] * outer
    return (area * (bearing - suction) / 2)[:, None] * normal, square, area * bearing
