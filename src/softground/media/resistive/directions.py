"""Directions in which a foot is moved to find the vertices of its wrench set.

Each set holds twists at the foot's origin in the surface frame, of unit length once linear velocities are
divided by `speed` and angular ones by `spin`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np

from softground.errors import MediumError, unknown_name

SPEED = 0.02
"""Greatest linear speed, m/s, of zhu2019's physical experiments."""
SPIN = 0.3
"""Greatest angular speed, rad/s, of the same. Their ratio, 67 mm, sets rotation against translation."""
PLANAR_COUNTS = (26, 58)


def directions(count: int = 26, speed: float = SPEED, spin: float = SPIN) -> np.ndarray:
    """Planar twists (count, 3) = (vx, vz, pitch rate), m/s and rad/s, numbered as in zhu2019.

    The pole of pure rotation (positive pitch), rings of eight directions at equal steps from it, the other
    pole. A ring starts at pure -z and turns towards +x in steps of 45 degrees. 26 directions have rings at
    45, 90 and 135 degrees from the pole; 58 have them every 22.5 degrees.

    speed (m/s) and spin (rad/s) are the greatest of the experiment: zhu2019's DEM has 0.2 and 0.6.
    """
    if count not in PLANAR_COUNTS:
        raise MediumError(f"number of planar directions must be one of {PLANAR_COUNTS}, got {count}")
    rings = (count - 2) // 8
    polar = np.pi / (rings + 1) * np.arange(1, rings + 1)[:, None]
    turn = np.pi / 4 * np.arange(8)
    ring = np.stack(
        np.broadcast_arrays(np.sin(polar) * np.sin(turn), -np.sin(polar) * np.cos(turn), np.cos(polar)),
        axis=-1,
    )
    pole = np.array([[0.0, 0.0, 1.0]])
    return np.concatenate([pole, ring.reshape(-1, 3), -pole]) * np.array([speed, speed, spin])


def planar_twists(count: int = 26, speed: float = SPEED, spin: float = SPIN) -> np.ndarray:
    """`directions` as twists in space (count, 6)."""
    twists = np.zeros((count, 6))
    twists[:, [0, 2, 4]] = directions(count, speed, spin)
    return twists


def point_twists(speed: float = SPEED) -> np.ndarray:
    """Translations (34, 6): down, up, and eight headings at 22.5, 45, 67.5, 90 degrees from straight down.

    On a sphere the support function of the hull differs from that of 4000 directions by 1 to 2 % rms of its
    greatest value, against 2 to 3 % for 32 directions spread evenly: what goes up meets almost nothing.
    """
    polar = np.pi / 8 * np.arange(1, 5)[:, None]
    heading = np.pi / 4 * np.arange(8)
    ring = np.stack(
        np.broadcast_arrays(np.sin(polar) * np.cos(heading), np.sin(polar) * np.sin(heading), -np.cos(polar)),
        axis=-1,
    )
    pole = np.array([[0.0, 0.0, 1.0]])
    twists = np.zeros((34, 6))
    twists[:, :3] = speed * np.concatenate([-pole, ring.reshape(-1, 3), pole])
    return twists


def spatial_twists(speed: float = SPEED, spin: float = SPIN, mixed: int = 3) -> np.ndarray:
    """Twists in space (85, 6): every axis, and even mixtures of two or three of them; (61, 6) if `mixed` is two.

    Of the mixtures of three those with straight down and without yaw. None of the twists goes up, because a
    foot without a top meets nothing there.

    Symmetric under x -> -x, y -> -y and x <-> y. The support function of the hull differs from that of 12000
    directions by about 3 % rms of its greatest value (72 even mixtures of two including upward ones: 4 %).
    """
    mixtures = [_signed(axes) for count in range(1, mixed + 1) for axes in combinations(range(6), count)]
    twists = np.concatenate(mixtures)
    vertical, size = twists[:, 2], np.abs(twists).sum(axis=1)
    keep = (vertical <= 0) & ((size < 3) | ((vertical < 0) & (twists[:, 5] == 0)))
    twists = twists[keep] / np.sqrt(size[keep])[:, None]
    return twists * np.repeat([speed, spin], 3)


def ball_rims(headings: int) -> np.ndarray:
    """Translations (8, headings, 6) of a ball, each seen from every heading: down to level every 15 degrees, and up."""
    polar = np.append(np.pi / 12 * np.arange(7), np.pi)
    seeds = np.zeros((len(polar), 6))
    seeds[:, 0], seeds[:, 2] = np.sin(polar), -np.cos(polar)
    return SPEED * _around(seeds, headings)


def upright_rims(headings: int) -> np.ndarray:
    """Twists (21, headings, 6) of an upright round foot, each seen from every heading.

    Those of `spatial_twists`, one of each family that a turn about the normal makes of it: a level velocity and a level
    spin along, against or across it, straight down, and yaw, in even mixtures of up to three.
    """
    seeds = []
    for moves, spins, sinks, yaw in product((0, 1), (0, 1), (0, 1), (-1, 0, 1)):
        count = moves + spins + sinks + abs(yaw)
        if not 1 <= count <= 3 or (count == 3 and (yaw or not sinks)):
            continue
        for across in np.pi / 2 * np.arange(4 if moves and spins else 1):
            seeds.append([moves, 0, -sinks, spins * np.cos(across), spins * np.sin(across), yaw] / np.sqrt(count))
    return _around(np.array(seeds), headings) * np.repeat([SPEED, SPIN], 3)


def _around(twists: np.ndarray, headings: int) -> np.ndarray:
    """Twists (k, headings, 6), turned about z to evenly spread headings."""
    theta = 2 * np.pi * np.arange(headings) / headings
    cos, sin, zero = np.cos(theta), np.sin(theta), np.zeros(headings)
    turns = np.array([[cos, -sin, zero], [sin, cos, zero], [zero, zero, zero + 1]])
    return np.einsum("ijh,kpj->khpi", turns, twists.reshape(-1, 2, 3)).reshape(len(twists), headings, 6)


SETS: dict[str, Callable[[float, float], np.ndarray]] = {
    "26": lambda speed, spin: planar_twists(26, speed, spin),
    "58": lambda speed, spin: planar_twists(58, speed, spin),
    "point": lambda speed, spin: point_twists(speed),
    "spatial": spatial_twists,
    "spatial61": lambda speed, spin: spatial_twists(speed, spin, mixed=2),
}
"""Sets by the name under which an experiment asks for them; (speed, spin) -> twists (k, 6)."""


def named_twists(name: str, speed: float = SPEED, spin: float = SPIN) -> np.ndarray:
    """The set of this name (see `SETS`) as twists (k, 6), m/s and rad/s."""
    if name not in SETS:
        raise MediumError(unknown_name("set of directions", name, SETS))
    for label, value in {"speed": speed, "spin": spin}.items():
        if not (np.isfinite(value) and value > 0):
            raise MediumError(f"{label} of a set of directions must be positive and finite, got {value}")
    return SETS[name](speed, spin)


def _signed(axes: tuple[int, ...]) -> np.ndarray:
    """All vectors of +-1 along these axes and 0 along the others."""
    signs = np.array(list(product((1.0, -1.0), repeat=len(axes))))
    vectors = np.zeros((len(signs), 6))
    vectors[:, axes] = signs
    return vectors


def mirror_signs(axis: int) -> np.ndarray:
    """Signs (6,) that a mirror plane normal to `axis` gives a twist or wrench.

    Of the linear part the component along the axis changes sign, of the angular part the two others.
    """
    flip = np.ones(3)
    flip[axis] = -1.0
    return np.concatenate([flip, -flip])


def mirror_images(twists: np.ndarray, axis: int) -> np.ndarray:
    """Number, in the same set, of the mirror image of each twist: exact, so any speed and spin will do."""
    images = twists * mirror_signs(axis)
    distance = np.linalg.norm((images[:, None] - twists) / np.repeat([SPEED, SPIN], 3), axis=-1)
    return distance.argmin(axis=1)
