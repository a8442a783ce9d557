"""DCM walking of bipeds on flat feet: footsteps, the divergent component of motion, centre of mass, swinging feet."""

from typing import TYPE_CHECKING

from softground.control.walking.footsteps import FootstepPlan, Step, footsteps
from softground.control.walking.gait import ICUB_GAIT, ICUB_SOFT_GAIT, Gait, Side, gait_for
from softground.control.walking.pattern import WalkingPattern, walking_pattern
from softground.lazy import lazily

if TYPE_CHECKING:  # it takes Matplotlib
    from softground.control.walking.figure import pattern_figure

__all__ = [
    "ICUB_GAIT",
    "ICUB_SOFT_GAIT",
    "FootstepPlan",
    "Gait",
    "Side",
    "Step",
    "WalkingPattern",
    "footsteps",
    "gait_for",
    "pattern_figure",
    "walking_pattern",
]

__getattr__, __dir__ = lazily(__name__, __all__, {"figure": ("pattern_figure",)})
