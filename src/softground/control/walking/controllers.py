"""The controllers that walk, by name."""

from __future__ import annotations

from collections.abc import Callable

from softground.control.walking.gait import check_walks
from softground.control.whole_body.controller import WholeBodyController
from softground.control.whole_body.presets import compliant_gains_for, rigid_gains_for, tsid_compliant, tsid_rigid
from softground.errors import OptionError, unknown_name
from softground.robots import Robot

CONTROLLERS: dict[str, Callable[[Robot], WholeBodyController]] = {
    "compliant": lambda robot: tsid_compliant(robot, compliant_gains_for(robot)),
    "cautious": lambda robot: tsid_compliant(robot, compliant_gains_for(robot), cautious=True),
    "rigid": lambda robot: tsid_rigid(robot, rigid_gains_for(robot)),
}
"""TSID-Compliant and TSID-Rigid of romualdi2021, and one that weighs the uncertainty of its estimate; with gains for
the robot's size."""


def check_controller(name: str) -> None:
    """Raise unless there is a controller of this name."""
    if name not in CONTROLLERS:
        raise OptionError(unknown_name("controller", name, CONTROLLERS))


def walking_controller(robot: Robot, name: str) -> WholeBodyController:
    """The controller of this name for a robot."""
    check_controller(name)
    check_walks(robot)
    return CONTROLLERS[name](robot)
