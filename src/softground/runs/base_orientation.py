"""How the base of a robot turned in a run: since the start, about the ground's normal, and away from upright.

A base frame may point anywhere: iCub's x points backwards, others have z along the spine. So only turns since the start
of the run are looked at. They are rotations of the world's vectors, in which the base's own axes do not occur.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.ndimage import uniform_filter1d
from scipy.spatial.transform import Rotation

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion

AVERAGED = 1.0
"""s, over which heading and ground are averaged where a way is measured: waddling from foot to foot is no turn, and a
bump no slope."""


def turned(run: RobotMotion) -> Rotation:
    """Rotation (world axes) of the base from the start of the run to every sample."""
    orientation = Rotation.from_quat(run["base_quaternion"].values, scalar_first=True)
    return orientation * orientation[0].inv()


def base_tilt(run: RobotMotion) -> Float[np.ndarray, " t"]:
    """Angle (rad) by which the base leans away from how it stood at the start of the run.

    Taken is the direction, fixed in the base, that pointed up (against gravity) at the start: by how much it is off up
    now. On a slope a robot may stand square to the ground instead, and turn about its normal: then it is the direction
    that pointed along the normal, against the normal now. Neither leans, so the angle is the lesser of the two.
    """
    normal = averaged(run.ground_normal(), run["time"].values)
    base, up = turned(run), run.up
    return np.minimum(angle_between(base.apply(up), up), angle_between(base.apply(normal[0]), normal))


def angle_between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Angle between vectors (rad)."""
    return np.arctan2(np.linalg.norm(np.cross(one, other), axis=-1), np.sum(one * other, axis=-1))


def heading(run: RobotMotion) -> Float[np.ndarray, " t"]:
    """Angle (rad, to the left) by which the base has turned about the ground's normal since the start of the run.

    A rotation is a turn about the normal and then a lean, about an axis in the ground; this is the turn. Where the
    ground is not plane its normal (averaged over a second) changes along the way: the least rotation that follows it is
    taken out first.
    """
    normal = averaged(run.ground_normal(), run["time"].values)
    x, y, z, w = (least_rotation(normal).inv() * turned(run)).as_quat().T
    angle = np.unwrap(2 * np.arctan2(np.stack([x, y, z], axis=-1) @ _unit(normal[0]), w))
    return angle - angle[0]


def averaged(values: np.ndarray, time: Float[np.ndarray, " t"]) -> np.ndarray:
    """Samples (t, ...) averaged over the second around each; at its ends a run goes on as it is there."""
    if len(time) < 2:
        return values
    return uniform_filter1d(values, max(1, round(AVERAGED / float(time[1] - time[0]))), axis=0, mode="nearest")


def least_rotation(normal: Float[np.ndarray, "t 3"]) -> Rotation:
    """Rotations of least angle from the first of some directions to each of them."""
    unit = _unit(normal)
    return Rotation.from_quat(np.concatenate([np.cross(unit[0], unit), 1 + unit @ unit[0][:, None]], axis=-1))


def up_against(gravity: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
    """Unit vector against gravity (world); where there is none, the world's z."""
    strength = float(np.linalg.norm(gravity))
    return -gravity / strength if strength else np.array([0.0, 0.0, 1.0])


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
