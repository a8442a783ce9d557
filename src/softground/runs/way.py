"""The way of a run ahead: how far the robot got, along the ground and in its own heading.

No model file says which way a robot looks, and base frames point anywhere. So "ahead" is taken from the motion itself.
Every displacement of the centre of mass is laid into the ground (its part along the normal is left out) and turned back
by what the base has turned since the start, about the normal. The sum s of all these is where the robot would have got
had it not turned. Ahead is the direction of s, fixed in the robot's heading, and the way is the part along it:

    ahead = s / |s|,      way(t) = sum up to t of (displacement, turned back) . ahead,      way(end) = |s|

So a robot that turns gets ahead, too, and one that walks sideways or backwards all the time gets ahead by that. What
it sways to and fro is no way; a drift aside by d over a way of w adds d^2 / 2w. In a run shorter than a few strides s
is also made of the sway from foot to foot: it is then the way that the robot went, not that which it meant to go. On a
slope the way is along the slope, longer than its projection by 1 / cos(slope).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from softground.runs.base_orientation import averaged, heading, least_rotation

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion


def way_ahead(run: RobotMotion) -> Float[np.ndarray, " t"]:
    """Way (m) of the centre of mass ahead since the start of the run."""
    time = run["time"].values
    if len(time) < 2:
        return np.zeros(len(time))
    normal = averaged(run.ground_normal(), time)
    angle = averaged(heading(run), time)
    normal, angle = np.concatenate([normal[:1], _between(normal)]), _between(angle)  # a step goes as half way along it
    level = least_rotation(normal)[1:].inv().apply(np.diff(run["center_of_mass"].values, axis=0))
    upright = normal[0] / np.linalg.norm(normal[0])
    along = level - np.outer(level @ upright, upright)
    steps = Rotation.from_rotvec(-np.outer(angle, upright)).apply(along)
    total = steps.sum(axis=0)
    length = float(np.linalg.norm(total))
    ahead = total / length if length else total
    return np.append(0.0, np.cumsum(steps @ ahead))


def _between(samples: np.ndarray) -> np.ndarray:
    """Means of neighbours."""
    return (samples[1:] + samples[:-1]) / 2
