"""Grains that turn solid under a foot: the wedge below the sole, what resists it, its mass, and the medium."""

from softground.media.wedge.calibration import calibrated
from softground.media.wedge.geometry import Solid, solid_under
from softground.media.wedge.medium import Wedge
from softground.media.wedge.resistance import lateral_force, sagittal_force, shear_force
from softground.media.wedge.sole import BallSole, FlatSole, RoundSole, Sole, sole_of

__all__ = [
    "BallSole",
    "FlatSole",
    "RoundSole",
    "Sole",
    "Solid",
    "Wedge",
    "calibrated",
    "lateral_force",
    "sagittal_force",
    "shear_force",
    "sole_of",
    "solid_under",
]
