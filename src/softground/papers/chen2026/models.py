"""The augmented models of chen2026: links from the stance foot up, and how far that foot has slipped and sunk.

A leg pinned to the ground has no slip and no sinkage; the paper adds them as coordinates, x_s and z_s in the sagittal
plane (1), y_s and z_s in the frontal plane (6). Both models are ordinary robots of this library, with two slides at the
stance foot (sagittal.xml, frontal.xml).

The paper's coordinates are absolute angles of the links, ours the robot's actuator angles and the absolute angle of the
stance link: a constant matrix leads from one to the other (the paper's S).
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np

from softground.robots import Robot

#: Absolute pitch about +y of (swing thigh, swing calf, stance thigh, stance calf, trunk), the paper's q1 .. q5, from
#: the sagittal model's angles (stance pitch; calf and thigh actuators of the stance leg; thigh and calf of the swing
# leg).
SAGITTAL_ANGLES = np.array(
    [
        [1.0, -1.0, -1.0, 1.0, 0.0],
        [1.0, -1.0, -1.0, 1.0, 1.0],
        [1.0, -1.0, 0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, -1.0, -1.0, 0.0, 0.0],
    ]
)
#: Absolute roll about +x of (stance leg, trunk, swing leg) from the frontal model's angles (stance roll, hip actuators
# of
#: the stance and the swing leg). The paper measures the line between the hips from the vertical: its q2 is pi/2 more.
FRONTAL_ANGLES = np.array([[1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, -1.0, 1.0]])


def sagittal_model() -> Robot:
    """Five links and (x_s, z_s): q = (x_s, z_s, stance pitch, stance calf, stance thigh, swing thigh, swing calf)."""
    return _load("sagittal.xml")


def frontal_model() -> Robot:
    """Three links and (y_s, z_s): q = (y_s, z_s, stance roll, stance hip, swing hip); it stands on its right foot."""
    return _load("frontal.xml")


def _load(file: str) -> Robot:
    (shape, *_) = (foot.shape for foot in Robot.load("biped").feet)
    with as_file(files("softground.papers.chen2026") / file) as path:
        return Robot.load(path, feet={"foot": shape})
