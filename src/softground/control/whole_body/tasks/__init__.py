"""Tasks: what is desired, by weighted least squares."""

from softground.control.whole_body.tasks.contact_uncertainty import ContactUncertainty
from softground.control.whole_body.tasks.motions import CentreOfMass, FrameOrientation, FramePose, Posture
from softground.control.whole_body.tasks.wrenches import MomentumRate, MomentumSecondRate, Wrenches, WrenchRates

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
