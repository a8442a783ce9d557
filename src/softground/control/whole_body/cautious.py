"""TSID-Compliant that minds how well it knows the ground."""

from __future__ import annotations

from softground.control.whole_body.constraints.contact_model import ContactModel
from softground.control.whole_body.controller import WholeBodyController
from softground.control.whole_body.presets import ICUB_COMPLIANT, CompliantGains, tsid_compliant
from softground.control.whole_body.tasks.contact_doubt import ContactDoubt
from softground.control.whole_body.tasks.wrenches import WrenchRates
from softground.robots import Robot


def tsid_cautious(robot: Robot, gains: CompliantGains = ICUB_COMPLIANT, **options) -> WholeBodyController:
    """`tsid_compliant` with `ContactDoubt`: the mean of the wrench task's cost over what the ground may be."""
    plain = tsid_compliant(robot, gains, **options)
    (model,) = (part for part in plain.constraints if isinstance(part, ContactModel))
    (wrenches,) = (part for part in plain.tasks if isinstance(part, WrenchRates))
    doubt = ContactDoubt(model.soles, wrenches.weight, model.lookahead)
    return WholeBodyController(
        robot,
        [*plain.tasks, doubt],
        plain.constraints,
        period=plain.period,
        lookahead=model.lookahead,
        solver=plain.solver,
    )
