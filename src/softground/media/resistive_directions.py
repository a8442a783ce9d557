"""Directions in which a foot is moved to find the extreme wrenches of the ground."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from softground.errors import MediumError

SPEED = 0.02  # m/s, and
SPIN = 0.3  # rad/s: speeds of zhu2019's physical experiments; together they set 1 rad/s against 1 m/s
PLANAR_COUNTS = (26, 58)


def directions(count: int = 26) -> np.ndarray:
    """Planar twists (count, 3) = (vx, vz, pitch rate) in m/s and rad/s, numbered as in zhu2019.

    Points of the unit sphere, scaled by (SPEED, SPEED, SPIN): the pole of pure rotation (positive pitch), rings
    of eight directions at equal steps from it, the other pole. A ring starts at pure -z and turns towards +x in
    steps of 45 degrees. 26 directions have rings at 45, 90, 135 degrees; 58 have them every 22.5 degrees.
    """
    if count not in PLANAR_COUNTS:
        raise MediumError(f"number of planar directions must be one of {PLANAR_COUNTS}, got {count}")
    rings = (count - 2) // 8
    polar, turn = np.meshgrid(
        np.pi * np.arange(1, rings + 1) / (rings + 1), np.pi / 4 * np.arange(8), indexing="ij"
    )
    middle = np.stack(
        [np.sin(polar) * np.sin(turn), -np.sin(polar) * np.cos(turn), np.cos(polar)], axis=-1
    ).reshape(-1, 3)
    pole = np.array([[0.0, 0.0, 1.0]])
    return np.concatenate([pole, middle, -pole]) * np.array([SPEED, SPEED, SPIN])


def planar_twists(planar: np.ndarray) -> np.ndarray:
    """Planar twists (k, 3) as twists in space (k, 6)."""
    twists = np.zeros((len(planar), 6))
    twists[:, [0, 2, 4]] = planar
    return twists


def mirrored(count: int = 26) -> np.ndarray:
    """For each direction, the number of its mirror image in the plane x = 0 (vx and pitch rate change sign)."""
    planar = directions(count)
    image = planar * np.array([-1.0, 1.0, -1.0])
    distance = np.linalg.norm((image[:, None] - planar) / np.array([SPEED, SPEED, SPIN]), axis=-1)
    return distance.argmin(axis=1)
