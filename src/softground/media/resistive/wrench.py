"""Wrench on a moving foot in resistive force theory: the sum of plate stresses over the foot's surface."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from softground.errors import MediumError
from softground.media.resistive.stress import plane_stress, spatial_stress
from softground.robots.shapes import Panels, Shape, checked_shape

#: Stress laws (normal, velocity) -> stress per depth, by name.
LAWS: dict[str, Callable] = {"plane": plane_stress, "3d": spatial_stress}

#: An element leads where n.v exceeds this share of the foot's greatest speed: a sole that slides along
#: itself, or an element at the centre of rotation, must not for rounding's sake.
LEADING = 1e-9


def surface_of(shape: Shape, refine: int = 1) -> Panels:
    """Elements of the sole and the sides of a foot; `refine` multiplies their number along each edge.

    At refine = 1 the wrenches on a box, a cylinder, a half-cylinder or a ball are within 1 % (rms, of the greatest) of
    those at refine = 3.
    """
    return checked_shape(shape, MediumError).panels(refine)


def wrenches(
    surface: Panels,
    law: str,
    rotations: np.ndarray,
    depths: np.ndarray,
    twists: np.ndarray,
    clearance: float = 0.0,
    friction: float | None = None,
) -> np.ndarray:
    """Wrenches (rotation, depth, twist, 6) on a foot in the generic medium, N and N m.

    rotations (r, 3, 3): foot frame in the surface frame (z up). depths (d,): m, positive below the surface,
    of the foot's origin lowered by `clearance` (the radius of a sphere). twists (k, 6): m/s and rad/s.
    Twists and wrenches are at the foot's origin, in the surface frame. friction: of the
    foot's surface, for the law "3d".

        force = sum over elements below the surface with n.v > 0 of  alpha(n, v/|v|) * depth * area

    alpha does not depend on depth, so it is evaluated once for a rotation and all its depths.
    """
    depths, stress = depths - clearance, LAWS[law]
    if friction is not None:
        stress = partial(spatial_stress, friction=friction)
    return np.stack([_at_rotation(surface, stress, turn, depths, twists) for turn in rotations])


def _at_rotation(surface: Panels, law, turn, depths, twists) -> np.ndarray:
    """Wrenches (depth, twist, 6) of one rotation."""
    arm = surface.centre @ turn.T
    normal, share = surface.normal @ turn.T, 1.0
    if law is plane_stress:
        normal, share = _sliced(normal)
    cross = _cross_matrices(arm)
    velocity = twists[:, None, :3] - np.einsum("eij,kj->kei", cross, twists[:, 3:])
    stress = _stress_on_leading(law, normal, velocity)
    half_height = np.abs(surface.edges @ turn[2]).sum(-1)
    load = share * surface.area * mean_depth(depths[:, None] - arm[:, 2], half_height)
    # Force and torque are linear in the stresses: one matrix product for all depths and twists.
    lever = np.concatenate([np.broadcast_to(np.eye(3), cross.shape), cross], axis=1)
    sums = load[:, None, :, None] * np.moveaxis(lever, 0, 1)
    table = stress.reshape(len(twists), -1)
    return (sums.reshape(-1, table.shape[1]) @ table.T).reshape(len(depths), 6, -1).swapaxes(1, 2)


def _stress_on_leading(law, normal: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Generic stress per depth (k, e, 3), N/m3, on the elements that lead; zero on the others."""
    speed = np.linalg.norm(velocity, axis=-1)
    facing = np.einsum("ei,kei->ke", normal, velocity)
    leads = facing > LEADING * speed.max(axis=1, keepdims=True)
    stress = np.zeros(velocity.shape)
    element = np.nonzero(leads)[1]
    stress[leads] = law(normal[element], velocity[leads] / speed[leads][:, None])
    return stress


def _sliced(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normals and relative areas of the elements as slices parallel to the x-z plane see them.

    The plane law knows no third direction: a foot is a pile of thin slices, and what an oblique element
    shows a slice is its silhouette.
    """
    flat = normal * np.array([1.0, 0.0, 1.0])
    share = np.linalg.norm(flat, axis=-1)
    return flat / np.maximum(share, 1e-12)[:, None], share


def _cross_matrices(arm: np.ndarray) -> np.ndarray:
    """Matrices (e, 3, 3) that turn a vector a into arm x a."""
    return np.swapaxes(np.cross(arm[:, None, :], np.eye(3)), 1, 2)


def mean_depth(depth: np.ndarray, half_height: np.ndarray) -> np.ndarray:
    """Mean of max(depth, 0) over an element whose depth spreads evenly over +-half_height (m).

    Exact for upright walls, and it keeps the wrench smooth while elements go under.
    """
    half = np.maximum(half_height, 1e-12)
    submerged = np.clip(depth + half, 0.0, 2 * half)
    return np.where(depth >= half, depth, submerged**2 / (4 * half))
