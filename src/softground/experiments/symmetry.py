"""What symmetry adds to a wrench database: mirror images, turned ones, and the zero wrench at the surface.

Feet and sets of directions are symmetric, so a mirrored foot moved in the mirrored direction meets the mirrored
wrench: data for negative tilt follow from positive tilt, and an upright foot is its own image.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.database import DECIMALS, MIRRORED, ZERO, WrenchDatabase
from softground.media.base import COMPONENTS
from softground.media.resistive.directions import mirror_signs
from softground.robots.shapes import Shape

#: Axes normal to the mirror planes, by kind.
MIRRORS = {"planar": (0,), "spatial": (0, 1)}


def mirror_signs_of(kind: str, axis: int) -> np.ndarray:
    """Signs (n,) that the mirror plane normal to `axis` gives twists and wrenches of this kind."""
    return mirror_signs(axis)[COMPONENTS[kind]]


def mirrored_poses(kind: str, poses: np.ndarray, axis: int) -> np.ndarray:
    """Poses (c, 3) = (depth, tilt, heading) of the mirrored feet; an upright foot has heading zero."""
    depth, tilt, heading = poses.T
    if kind == "planar":
        return np.stack([depth, -tilt, heading], axis=1) + 0.0
    turned = np.pi - heading if axis == 0 else -heading
    apart = np.abs(np.angle(np.exp(1j * (turned - heading))))
    turned = np.where(apart < 3 * 10.0**-DECIMALS, heading, np.angle(np.exp(1j * turned)))  # its own image stays so
    turned = np.where(tilt == 0, 0.0, turned)
    return np.stack([depth, tilt, turned], axis=1).round(DECIMALS) + 0.0


def mirrored_directions(kind: str, twists: np.ndarray, axis: int) -> np.ndarray:
    """For each of twists (k, n) which of them is its mirror image."""
    nearest, alike = _nearest(twists * mirror_signs_of(kind, axis), twists)
    lonely = np.flatnonzero(~alike)
    if len(lonely):
        raise ExperimentError(
            f"the mirror image of direction number {lonely[0]}, twist {twists[lonely[0]].tolist()}, is not among the "
            "directions: measure in a set that is its own mirror image, such as resistive.directions.directions(26)"
        )
    return nearest


def _nearest(images: np.ndarray, twists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of images (k, n) which of twists (k, n) is the nearest, and whether it is the same."""
    away = np.linalg.norm((images[:, None] - twists) / twist_sizes(twists), axis=-1)
    return away.argmin(axis=1), away.min(axis=1) <= 1e-3


class Symmetry(NamedTuple):
    """What leaves a foot in its ground as it is: what it makes of poses, directions and wrenches."""

    poses: Callable[[np.ndarray], np.ndarray]  # of poses (c, 3)
    direction: np.ndarray  # (k,) number of the image of each
    components: np.ndarray  # (n, n) that wrenches are multiplied by

    def wrenches(self, wrenches: np.ndarray) -> np.ndarray:
        """Images of wrenches (..., k, n) in all directions."""
        images = np.empty_like(wrenches)
        images[..., self.direction, :] = wrenches @ self.components.T
        return images


def symmetries(kind: str, foot: Shape, twists: np.ndarray) -> list[Symmetry]:
    """Mirrors, and for a round foot in space a quarter turn about the normal: in turn they give all images."""
    found = [
        Symmetry(
            partial(mirrored_poses, kind, axis=axis),
            mirrored_directions(kind, twists, axis),
            np.diag(mirror_signs_of(kind, axis)),
        )
        for axis in MIRRORS[kind]
    ]
    if kind == "spatial" and foot.is_round:
        quarter = np.kron(np.eye(2), [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        direction, alike = _nearest(twists @ quarter.T, twists)
        if alike.all():
            found.append(Symmetry(_quarter_turned, direction, quarter))
    return found


def _quarter_turned(poses: np.ndarray) -> np.ndarray:
    depth, tilt, heading = poses.T
    turned = np.where(tilt == 0, 0.0, np.angle(1j * np.exp(1j * heading)))
    return np.stack([depth, tilt, turned], axis=1).round(DECIMALS) + 0.0


def twist_sizes(twists: np.ndarray) -> np.ndarray:
    """Greatest linear speed (m/s) and turning rate (rad/s) of twists (k, n), for each component (n,)."""
    linear = 2 if twists.shape[1] == 3 else 3
    speed, spin = (np.linalg.norm(part, axis=1).max() for part in np.split(twists, [linear], axis=1))
    return np.where(np.arange(twists.shape[1]) < linear, speed or 1.0, spin or 1.0)


def completed(database: WrenchDatabase) -> WrenchDatabase:
    """With the mirror images of all rows, where they are not there already (source "mirrored")."""
    for axis in MIRRORS[database.kind]:
        database = _with_images(database, axis)
    return database


def _with_images(database: WrenchDatabase, axis: int) -> WrenchDatabase:
    numbers = database.directions()
    image = numbers[mirrored_directions(database.kind, database.twists(), axis)]
    direction = image[np.searchsorted(numbers, database.direction)]
    poses = mirrored_poses(database.kind, database.poses(), axis)
    known = set(map(tuple, np.column_stack([database.poses(), database.direction]).tolist()))
    new = np.array([key not in known for key in map(tuple, np.column_stack([poses, direction]).tolist())])
    signs = mirror_signs_of(database.kind, axis)
    return database.extended(
        MIRRORED,
        depth=poses[new, 0],
        tilt=poses[new, 1],
        heading=poses[new, 2],
        direction=direction[new],
        twist=(database.twist * signs)[new],
        wrench=(database.wrench * signs)[new] + 0.0,
    )


def with_zero_depth(database: WrenchDatabase) -> WrenchDatabase:
    """With zero wrenches at zero depth for every tilt and heading (source "zero"), where they are missing."""
    poses = database.configurations()
    leans = np.unique(poses[:, 1:], axis=0)
    at_surface = {tuple(lean) for lean in poses[poses[:, 0] == 0, 1:].tolist()}
    leans = np.array([lean for lean in leans.tolist() if tuple(lean) not in at_surface]).reshape(-1, 2)
    numbers, twists = database.directions(), database.twists()
    return database.extended(
        ZERO,
        depth=np.zeros(len(leans) * len(numbers)),
        tilt=np.repeat(leans[:, 0], len(numbers)),
        heading=np.repeat(leans[:, 1], len(numbers)),
        direction=np.tile(numbers, len(leans)),
        twist=np.tile(twists, (len(leans), 1)),
        wrench=np.zeros((len(leans) * len(numbers), twists.shape[1])),
    )
