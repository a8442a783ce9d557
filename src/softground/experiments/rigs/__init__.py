"""What moves a foot through the ground and records the wrench on it."""

from softground.experiments.rigs.base import Rig

__all__ = ["Rig"]
