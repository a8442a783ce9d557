"""Resistive force theory: the stress that flowing grains put on a small plate, per metre of depth.

A plate with outward normal n that moves with unit velocity v through dry grains, both in a frame with z up,
feels the stress `scale * depth * alpha(n, v)`. It does not depend on the speed. Two published fits of alpha:

`plane_stress`    Li, Zhang, Goldman, "A terradynamics of legged locomotion on granular media",
                  Science 339, 2013
`spatial_stress`  Agarwal, Goldman, Kamrin, "Mechanistic framework for reduced-order models in soft materials:
                  application to three-dimensional granular intrusion", PNAS 120, 2023

Both are returned for the *generic* medium: a horizontal plate pushed straight down is pushed back with
exactly 1 N/cm3 = 1e6 N/m3. One factor per medium, `scale`, multiplies that (Li et al. call it zeta).

Both fits were made on thin plates, which lead with one face and trail with the other, so the polynomials do
not ask which one is meant. Which elements of a body lead is asked in
`softground.media.resistive.wrench`.
"""

from __future__ import annotations

import numpy as np

GENERIC = 1e6
"""Stress per depth on a horizontal plate pushed down into the generic medium, N/m3."""

SURFACE_FRICTION = 0.4
"""Friction coefficient between grains and foot (tangential over normal stress) where none is given."""

# Li et al. 2013, generic coefficients, N/cm3. Index (m, n) of cos or sin 2 pi (m beta/pi + n gamma/2pi).
A00, A10, B11, B01, B_11 = 0.206, 0.169, 0.212, 0.358, 0.055
C11, C01, C_11, D10 = -0.124, 0.253, 0.007, 0.088


def plane_stress(normal: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Generic stress per depth (..., 3) on plates in the x-z plane, N/m3; n and v are unit vectors.

    With attack angle beta and intrusion angle gamma in the mirror image of Li's figure,

        n = -(sin beta, 0, cos beta),   v = -(cos gamma, 0, sin gamma),
        alpha_z = A00 + A10 cos 2b + B01 sin g + B11 sin(2b + g) + B_11 sin(g - 2b),
        alpha_x = C01 cos g + C11 cos(2b + g) + C_11 cos(g - 2b) + D10 sin 2b.

    Signs: beta = 0, gamma = pi/2 is a horizontal plate pushed down, alpha_z = +1; gamma = -pi/2 is the same
    plate pulled up, alpha_z = -0.25; beta = pi/2, gamma = 0 is a wall dragged towards -x, alpha_x = +0.37.
    Written with the components of n and v the formula needs no angles, and its mirror symmetry in x is
    plain.
    """
    nx, nz = normal[..., 0], normal[..., 2]
    cos_g, sin_g = -velocity[..., 0], -velocity[..., 2]
    cos_2b, sin_2b = nz**2 - nx**2, 2 * nx * nz
    sin_sum, sin_diff = sin_g * cos_2b + cos_g * sin_2b, sin_g * cos_2b - cos_g * sin_2b
    cos_sum, cos_diff = cos_g * cos_2b - sin_g * sin_2b, cos_g * cos_2b + sin_g * sin_2b
    along_x = C01 * cos_g + C11 * cos_sum + C_11 * cos_diff + D10 * sin_2b
    along_z = A00 + A10 * cos_2b + B01 * sin_g + B11 * sin_sum + B_11 * sin_diff
    return GENERIC * np.stack([along_x, np.zeros_like(along_x), along_z], axis=-1)


# Agarwal et al. 2023, supplement: coefficients of n, v and g on the monomials of `_monomials`.
ON_NORMAL = np.array(
    [
        [0.00212, -0.02320, -0.20890, -0.43083, -0.00259, 0.48872, -0.00415, 0.07204, -0.02750, -0.08772],
        [0.01992, -0.45961, 0.40799, -0.10107, -0.06576, 0.05664, -0.09269, 0.01892, 0.01033, 0.15120],
    ]
).ravel()
ON_VELOCITY = np.array(
    [
        [-0.06796, -0.10941, 0.04725, -0.06914, -0.05835, -0.65880, -0.11985, -0.25739, -0.26834, 0.02692],
        [-0.00736, 0.63758, 0.08997, 0.21069, 0.04748, 0.20406, 0.18589, 0.04934, 0.13527, -0.33207],
    ]
).ravel()
ON_GRAVITY = np.array(
    [
        [-0.02634, -0.03436, 0.45256, 0.00835, 0.02553, -1.31290, -0.05532, 0.06790, -0.16404, 0.02287],
        [0.02927, 0.95406, -0.00131, -0.11028, 0.01487, -0.02730, 0.10911, -0.04097, 0.07881, -0.27519],
    ]
).ravel()
# On a horizontal plate pushed down n = v = g and every monomial is 1: the sum is what such a plate feels.
FLAT_PLATE = -float((ON_NORMAL + ON_VELOCITY + ON_GRAVITY).sum())
"""Stress of the published polynomial on a horizontal plate pushed down, in units of xi_n (0.875)."""


def spatial_stress(normal: np.ndarray, velocity: np.ndarray, friction: float = SURFACE_FRICTION) -> np.ndarray:
    """Generic stress per depth (..., 3) on plates of any orientation, N/m3; n and v are unit vectors.

    alpha = (f1 n + f2 v + f3 g) / 0.875, with g = (0, 0, -1) and f_i cubic in x1 = g.v, x2 = g.n, x3 = n.v.
    The published fit takes the normal that points down (x2 >= 0); for a face that looks up, n is replaced
    by -n. Checked on plates: pushed down +1, pulled up -0.09, and a correlation of 0.94 with the plane law
    over all angles; with n as it is, a plate pulled up would be *lifted*.

    The normal part cannot pull, and the tangential part is at most `friction` times the normal part. The
    cubic exceeds zero power in 0.4 % of the directions (by 0.6 % of the greatest): there the power is set
    to zero.
    """
    facing_down = np.where(normal[..., 2:] > 0, -normal, normal)
    on_n, on_v, on_g = np.moveaxis(
        _monomials(facing_down, velocity) @ np.stack([ON_NORMAL, ON_VELOCITY, ON_GRAVITY], axis=-1), -1, 0
    )
    stress = on_n[..., None] * facing_down + on_v[..., None] * velocity
    stress[..., 2] -= on_g
    stress = _capped(stress, normal, friction)
    power = np.sum(stress * velocity, axis=-1, keepdims=True)
    return GENERIC / FLAT_PLATE * (stress - np.maximum(power, 0.0) * velocity)


def _monomials(normal: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """The 20 monomials of x1 = g.v, x2 = g.n, x3 = n.v up to the third degree, in the published order."""
    a, b, c = np.broadcast_arrays(-velocity[..., 2], -normal[..., 2], np.sum(normal * velocity, axis=-1))
    linear = [np.ones_like(a), a, b, c]
    square = [a * a, b * b, c * c, a * b, b * c, c * a]
    cubic = [a**3, b**3, c**3, a * b**2, b * a**2, b * c**2, c * b**2, c * a**2, a * c**2, a * b * c]
    return np.stack(linear + square + cubic, axis=-1)


def _capped(stress: np.ndarray, normal: np.ndarray, friction: float) -> np.ndarray:
    """Stress without suction and with its tangential part limited by surface friction."""
    along = np.sum(stress * normal, axis=-1, keepdims=True)  # negative where the ground pushes on the face
    tangential = stress - along * normal
    pressure = np.maximum(-along, 0.0)
    slip = np.maximum(np.linalg.norm(tangential, axis=-1, keepdims=True), 1e-300)
    return tangential * np.minimum(1.0, friction * pressure / slip) - pressure * normal


def scale_of_grains(bulk_density: float, internal_friction: float, gravity: float = 9.81) -> float:
    """Scale of a medium from its bulk density (kg/m3) and internal friction coefficient, Agarwal et al. 2023:
    xi_n = rho g (894 mu^3 - 386 mu^2 + 89 mu), made from simulations with mu in 0.3 .. 0.9."""
    mu = internal_friction
    return bulk_density * gravity * (894 * mu**3 - 386 * mu**2 + 89 * mu) * FLAT_PLATE / GENERIC
