"""Media before measurements: what was measured, what media say of it, how far they are, and calibration."""

from softground.validation.base import Measurements
from softground.validation.calibration import Calibration, calibrate
from softground.validation.grains import grains_tables
from softground.validation.plates import Plates
from softground.validation.pushes import Pushes
from softground.validation.report import Row, read_measurements, validate
from softground.validation.sand_wrenches import SandWrenches
from softground.validation.wheel import Wheel

__all__ = [
    "Calibration",
    "Measurements",
    "Plates",
    "Pushes",
    "Row",
    "SandWrenches",
    "Wheel",
    "calibrate",
    "grains_tables",
    "read_measurements",
    "validate",
]
