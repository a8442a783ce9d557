"""Walking patterns of bipeds: footsteps, the divergent component of motion, centre of mass and swinging feet."""

from softground.control.walking.footsteps import FootstepPlan, Step, footsteps
from softground.control.walking.gait import ICUB_GAIT, ICUB_SOFT_GAIT, Gait, gait_for
from softground.control.walking.pattern import WalkingPattern, walking_pattern
from softground.control.walking.stance import Side

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
    "walking_pattern",
]
