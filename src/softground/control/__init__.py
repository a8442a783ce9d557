"""Control: what the actuators are told."""

from typing import TYPE_CHECKING

from softground.control.estimation import Estimate, Estimator
from softground.control.inverse_kinematics import joints_for_feet
from softground.control.posture import hold_posture, pd_gains
from softground.control.trot import Trot, trot
from softground.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground.control import stepping, walking, whole_body
    from softground.control.bipeds import has_round_feet, usual_speed, walk, walk_summary
    from softground.control.terrain_classification import TerrainClassifier, step_features
    from softground.control.terrain_identification import Sensed, SensorNoise, TerrainIdentifier, Uncertainty

__all__ = [
    "Estimate",
    "Estimator",
    "Sensed",
    "SensorNoise",
    "TerrainClassifier",
    "TerrainIdentifier",
    "Trot",
    "Uncertainty",
    "has_round_feet",
    "hold_posture",
    "joints_for_feet",
    "pd_gains",
    "step_features",
    "stepping",
    "trot",
    "usual_speed",
    "walk",
    "walk_summary",
    "walking",
    "whole_body",
]

_HOMES = {
    "bipeds": ("has_round_feet", "usual_speed", "walk", "walk_summary"),
    "terrain_classification": ("TerrainClassifier", "step_features"),
    "terrain_identification": ("Uncertainty", "Sensed", "SensorNoise", "TerrainIdentifier"),
}
__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
