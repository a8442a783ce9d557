"""What resists the wedge: chen2026 (8) along and down, (9) sideways, and the sets of forces they span.

The stress per depth on a face with normal n that moves with direction v is zeta alpha(n, v), alpha the plane law of
resistive force theory (`media.resistive.stress`). Times the integral of depth over the face (`geometry.Solid`) it is
the force on it, in closed form; faces that trail (n.v <= 0) feel nothing.

Shear, which the paper leaves out: (9) is the push of the grains beside the foot; those below it rub as well. The same
plane law says how much. Cut by the frontal plane every face of the wedge is a level line, beta = 0, that moves along
v_f = (v_y, v_z), at an angle gamma_f below the horizontal. Per *horizontal* area, dA cos(slope), it feels
zeta alpha_y(0, gamma_f) z with

    alpha_y(0, gamma_f) = -(C01 + C11 + C_11) v_y / |v_f|,

against its motion. As in the paper the two planes know of each other by the depth only: F_x and F_z are (8). Sand may
rub more or less than the generic medium does; a factor, `shear`, says so, and is 1 where nothing is known.

For the convex step every face gets the convex hull of its forces over all directions in which it leads, and of none:
its potential is the support function of that set. How far the force of greatest dissipation is from (8) itself is in
docs/chen2026.md.

The shear joins by its *power*, s v_y^2 / |v_f|. A hull of its forces would not do: F_z is (8) whatever v_y is, so the
greatest shear would dissipate most as soon as a foot yields sideways at all, and hold a sinking one as if it stood. The
greatest convex function below that power, for v_z < 0, has with c = cos gamma_f the gradient

    s (2c - c^3) along y,   s c^2 sqrt(1 - c^2) less lift,        c up to C = (sqrt(5) - 1) / 2,

and that of C beyond, where 2C - C^3 = 1: up to 52 degrees below the horizontal the shear is the closed form's greatest.
The lift it costs makes a foot that sinks give way sideways. These are the vertices that the shear adds.
"""

from __future__ import annotations

import math
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.media.resistive.stress import plane_stress
from softground.media.wedge.geometry import Faces
from softground.robots.outline import convex_hull

DIRECTIONS = 9
"""In which a face is moved to span its set of forces: every 22.5 degrees, from one end of those that lead to the other.

The support function then falls short of that of all directions by 1.5 % of its greatest value at most (tested).
"""

SHEARED = (math.sqrt(5) - 1) / 2 * np.linspace(-1.0, 1.0, 7)
"""cos gamma_f of the directions whose shears span the sets, left and right."""


def face_normals(friction_angle: float, flat: bool) -> np.ndarray:
    """Outward normals (f, 3) of the wedge's faces, in the order of `geometry.Solid`."""
    sine, cosine = np.sin(friction_angle), np.cos(friction_angle)
    flanks = [[sine, 0.0, -cosine], [-sine, 0.0, -cosine]]
    return np.array(flanks + 2 * flat * [[0.0, 0.0, -1.0]])


@lru_cache(maxsize=16)
def stress_sets(friction_angle: float, flat: bool, directions: int = DIRECTIONS) -> np.ndarray:
    """Stresses per depth (f, k, 3), N/m3, on the faces in the generic medium (zeta = 1); the last of each is zero."""
    normals, velocity = face_normals(friction_angle, flat), _leading(friction_angle, flat, directions)
    stresses = plane_stress(np.broadcast_to(normals[:, None], velocity.shape), velocity)
    return np.concatenate([stresses, np.zeros_like(stresses[:, :1])], axis=1)


@lru_cache(maxsize=16)
def round_profile(friction_angle: float) -> np.ndarray:
    """Stresses per depth (j, 2), N/m3, away from the motion and up, whose turns about the normal span a ball's forces.

    A ball has no front: every way is ahead, so (8) holds in the plane of its motion. Both flanks carry the same load,
    and a ball's force has no torque about its lowest point, so the sum of their sets stands for them. It is its own
    mirror image: one half is enough. Its convex potential is even in the speed ahead, hence grows with it, hence stays
    convex where the size of the level velocity is put in its place.
    """
    front, rear = stress_sets(friction_angle, flat=False)[..., [0, 2]]
    sums = (front[:, None] + rear[None]).reshape(-1, 2)
    corners = convex_hull(sums)
    half = corners[corners[:, 0] >= -1e-9 * np.abs(corners).max()]
    return np.concatenate([np.maximum(half, [0.0, -np.inf]), np.zeros((1, 2))])


def sheared_sets(friction_angle: float, flat: bool, shear: Float[Array, ""]) -> Float[Array, "f m 3"]:
    """`stress_sets`, each with all the shear that may go with it: none where the wedge goes up. Grains do not pull."""
    stresses = stress_sets(friction_angle, flat)[:, None]
    offsets = shear * _shears(friction_angle, flat)
    lift = jnp.maximum(stresses[..., 2:] + offsets[..., 2:], np.minimum(stresses[..., 2:], 0.0))
    joined = jnp.concatenate([stresses[..., :2] + offsets[..., :2], lift], axis=-1)
    return joined.reshape(len(stresses), -1, 3)


@lru_cache(maxsize=16)
def _shears(friction_angle: float, flat: bool) -> np.ndarray:
    """What `SHEARED` adds to each of `stress_sets` (f, m, k, 3), N/m3, at shear = 1."""
    normals, velocity = face_normals(friction_angle, flat), _leading(friction_angle, flat, DIRECTIONS)
    goes_down = velocity[..., 2] < 1e-12  # to rounding: a level bottom's first and last direction are level
    sizes = np.pad(goes_down * -normals[:, 2:] * level_shear(), ((0, 0), (0, 1)))
    along, lost = 2 * SHEARED - SHEARED**3, SHEARED**2 * np.sqrt(1 - SHEARED**2)
    gradients = np.stack([0 * along, along, -lost], axis=-1)
    return sizes[:, None, :, None] * gradients[:, None]


def _leading(friction_angle: float, flat: bool, directions: int) -> np.ndarray:
    """Directions (f, k, 3) in which each face leads."""
    normals = face_normals(friction_angle, flat)
    turn = np.linspace(-np.pi / 2, np.pi / 2, directions)
    along = np.stack([-normals[:, 2], np.zeros(len(normals)), normals[:, 0]], axis=-1)  # a quarter turn from n
    return np.cos(turn)[:, None] * normals[:, None] + np.sin(turn)[:, None] * along[:, None]


def sagittal_force(
    faces: Faces, velocity: np.ndarray, friction_angle: float, zeta: float = 1.0, width: float = 1.0
) -> np.ndarray:
    """chen2026 (8): force (3,), N, on the wedge's faces that moves with this velocity (3,) in the x-z plane."""
    speed = np.linalg.norm(velocity)
    if speed == 0:
        raise MediumError("the closed form (8) needs a direction of motion, got zero velocity")
    direction = np.asarray(velocity) / speed
    normals = face_normals(friction_angle, flat=len(np.asarray(faces.load)) > 2)
    leads = normals @ direction > 0
    stresses = plane_stress(normals, np.broadcast_to(direction, normals.shape))
    return zeta * width * (np.asarray(faces.load) * leads) @ stresses


def shear_force(
    faces: Faces, velocity: np.ndarray, friction_angle: float, zeta: float = 1.0, width: float = 1.0
) -> float:
    """Force along y, N, of the grains that rub below a wedge that moves with this velocity (3,) in the y-z plane.

        F_y = zeta alpha_y(0, gamma_f) W * integral of z dx

    over the faces, dx their horizontal length; nothing on a wedge that does not go down.
    """
    _, along, up = velocity
    if up >= 0:
        return 0.0
    normals = face_normals(friction_angle, flat=len(np.asarray(faces.load)) > 2)
    horizontal = np.asarray(faces.load) @ -normals[:, 2]
    return -zeta * width * horizontal * level_shear() * along / float(np.hypot(along, up))


def level_shear() -> float:
    """Size of alpha_y(0, 0), N/m3 (zeta = 1): shear stress per depth below a level plate that moves along itself."""
    return -float(plane_stress(np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0]))[0])


def lateral_force(
    depth: Float[Array, "..."], slip: Float[Array, "..."], saturation_length: Float[Array, ""], stress: float
) -> Float[Array, "..."]:
    """chen2026 (9): size, N, of the force on a side that has slipped this way (m) towards the grains it pushes.

        F_y = lambda (1 - exp(-y/lambda)) alpha_y g_z,      g_z = z^2 / 2:

    resistive force theory on an upright wall as deep as the foot and lambda (1 - exp(-y/lambda)) long. What is pushed
    together ahead of the side grows with its way and saturates; back in its own trench the side meets nothing.
    stress: alpha_y, N/m3.
    """
    pushed = saturation_length * -jnp.expm1(-jnp.maximum(slip, 0.0) / saturation_length)
    return pushed * stress * jnp.maximum(depth, 0.0) ** 2 / 2


def wall_stress(gamma: float = 0.0) -> float:
    """alpha_y(n, v) of (9), N/m3 (zeta = 1): on a side that moves ahead and, by gamma (rad), down."""
    velocity = np.array([np.cos(gamma), 0.0, -np.sin(gamma)])
    return -float(plane_stress(np.array([1.0, 0.0, 0.0]), velocity)[0])
