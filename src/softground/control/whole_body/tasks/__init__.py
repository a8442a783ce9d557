"""Tasks: what is desired, by weighted least squares."""

from softground.control.whole_body.tasks.com import CentreOfMass
from softground.control.whole_body.tasks.contact_uncertainty import ContactUncertainty
from softground.control.whole_body.tasks.frames import FrameOrientation, FramePose
from softground.control.whole_body.tasks.momentum import MomentumRate, MomentumSecondRate
from softground.control.whole_body.tasks.posture import Posture
from softground.control.whole_body.tasks.wrenches import Wrenches, WrenchRates

__all__ = [
    "CentreOfMass",
    "ContactUncertainty",
    "FrameOrientation",
    "FramePose",
    "MomentumRate",
    "MomentumSecondRate",
    "Posture",
    "WrenchRates",
    "Wrenches",
]
