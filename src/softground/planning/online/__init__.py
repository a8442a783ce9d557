"""Planning while walking: model-predictive control of a planned gait."""

from softground.planning.online.answers import Answers, answers
from softground.planning.online.controller import Replanning
from softground.planning.online.horizon import Horizon

__all__ = ["Answers", "Horizon", "Replanning", "answers"]
