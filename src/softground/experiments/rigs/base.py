"""A rig moves a foot through the ground and records the wrench on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from softground.experiments.protocol import Motion, Recording
from softground.robots.shapes import Shape


class Rig(ABC):
    """Base class of all rigs. Instances are small and picklable, so that they can be sent to other machines."""

    #: name under which the rig is asked for
    name: ClassVar[str] = ""
    foot: Shape

    @abstractmethod
    def record(self, motion: Motion, seed: int = 0) -> Recording:
        """Prepare the ground afresh and drive the foot along the motion.

        seed chooses the arrangement of the grains where there are grains: the same seed, the same numbers.
        """

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """All that the numbers depend on, for provenance and to refuse mixing: plain JSON values."""

    def prepare(self, seed: int) -> None:  # noqa: B027 - most rigs need no preparation
        """Do once what all runs with this seed share, for example settle a bed of grains."""
