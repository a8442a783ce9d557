"""Capture-point stepping of bipeds on small round feet, which balance by where they step."""

from softground.control.stepping.controller import SteppingController, SteppingGains
from softground.control.stepping.gait import SteppingGait
from softground.control.stepping.stepper import Stepper
from softground.control.stepping.walk import Walks, starting_state

__all__ = ["Stepper", "SteppingController", "SteppingGains", "SteppingGait", "Walks", "starting_state"]
