"""Wrench on a moving foot in resistive force theory: the sum of plate stresses over the foot's surface."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softground.media.resistive_stress import plane_stress, spatial_stress
from softground.media.resistive_surface import Surface

#: Stress law (normal, velocity) -> stress per depth, by name.
LAWS: dict[str, Callable] = {"plane": plane_stress, "3d": spatial_stress}

#: An element leads where n.v / |v| exceeds this; a sole that slides along itself must not, despite rounding.
LEADING = 1e-9


def wrenches(
    surface: Surface, law: str, rotations: np.ndarray, depths: np.ndarray, twists: np.ndarray, clearance: float
) -> np.ndarray:
    """Wrenches (rotation, depth, twist, 6) at the foot's origin, surface frame, N and N m, in the generic medium.

    rotations (r, 3, 3): foot frame in the surface frame. depths (d,): m, of the sole's centre (of the lowest
    point of a sphere, `clearance` below its centre). twists (k, 6): of the foot at its origin, surface frame.

        force = sum over elements below the surface with n.v > 0 of  alpha(n, v/|v|) * depth * area

    alpha does not depend on depth, so it is evaluated once per rotation and twist.
    """
    result = [_at_rotation(surface, law, turn, depths, twists, clearance) for turn in rotations]
    return np.stack(result)


def _at_rotation(surface, law, turn, depths, twists, clearance) -> np.ndarray:
    arm = surface.centre @ turn.T
    normal = surface.normal @ turn.T
    velocity = twists[:, None, :3] + np.cross(twists[:, None, 3:], arm)
    stress = _stress_on_leading(law, normal, velocity)  # (k, e, 3)
    per_depth = np.concatenate([stress, np.cross(arm, stress)], axis=-1)
    half_height = np.abs(surface.edges @ turn[2]).sum(-1)
    load = surface.area * mean_depth(depths[:, None] - clearance - arm[:, 2], half_height)  # (d, e)
    elements = len(arm)
    table = np.moveaxis(per_depth, 1, 0).reshape(elements, -1)
    return (load @ table).reshape(len(depths), len(twists), 6)


def _stress_on_leading(law: str, normal: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Generic stress per depth (k, e, 3) of elements that lead, zero on the others."""
    speed = np.linalg.norm(velocity, axis=-1, keepdims=True)
    velocity = velocity / np.where(speed > 0, speed, 1.0)
    facing = np.sum(normal * velocity, axis=-1, keepdims=True)
    share = np.ones(len(normal))
    if law == "plane":
        # A foot is a pile of slices in the x-z plane: a slice sees the silhouette of an oblique element.
        normal, share = _in_plane(normal)
    stress = LAWS[law](normal, velocity) * share[:, None]
    return np.where((speed > 0) & (facing > LEADING), stress, 0.0)


def _in_plane(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normals of the slices through the elements, and the slices' area over that of the elements."""
    flat = normal * np.array([1.0, 0.0, 1.0])
    share = np.linalg.norm(flat, axis=-1)
    return flat / np.maximum(share, 1e-12)[:, None], share


def mean_depth(depth: np.ndarray, half_height: np.ndarray) -> np.ndarray:
    """Mean of max(depth, 0) over an element whose depth spreads evenly by +-half_height (m): exact on upright
    walls, and it keeps the wrench continuous as elements go under."""
    half = np.maximum(half_height, 1e-12)
    cut = np.clip(depth + half, 0.0, 2 * half)
    return np.where(depth >= half, depth, cut**2 / (4 * half))
