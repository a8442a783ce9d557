"""Learning a medium from a wrench database: methods, their comparison, and what to measure next."""

from softground.experiments.learning.compression import compressed
from softground.experiments.learning.grid import grid_of
from softground.experiments.learning.kernel_methods import GaussianProcess, Radial, SupportVectors
from softground.experiments.learning.physics import Physics
from softground.experiments.learning.report import METHODS, Learned, learn
from softground.experiments.learning.validation import (
    cross_validated,
    learning_curve,
    leave_one_out,
    next_configuration,
    noise_estimate,
)

__all__ = [
    "METHODS",
    "GaussianProcess",
    "Learned",
    "Physics",
    "Radial",
    "SupportVectors",
    "compressed",
    "cross_validated",
    "grid_of",
    "learn",
    "learning_curve",
    "leave_one_out",
    "next_configuration",
    "noise_estimate",
]
