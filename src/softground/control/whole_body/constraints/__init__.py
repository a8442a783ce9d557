"""Constraints: what is required."""

from softground.control.whole_body.constraints.contact_model import ContactModel
from softground.control.whole_body.constraints.feasibility import WrenchFeasibility, feasible_wrenches
from softground.control.whole_body.constraints.floating_base import FloatingBase, generalised_force
from softground.control.whole_body.constraints.limits import JointLimits, TorqueLimits
from softground.control.whole_body.constraints.rigid_contact import RigidContact
from softground.control.whole_body.constraints.rolling_contact import ForceAtContact, RollingContact, rolling_contact

__all__ = [
    "ContactModel",
    "FloatingBase",
    "ForceAtContact",
    "JointLimits",
    "RigidContact",
    "RollingContact",
    "TorqueLimits",
    "WrenchFeasibility",
    "feasible_wrenches",
    "generalised_force",
    "rolling_contact",
]
