"""The wrench databases of the paper's three media, as far as there are any.

Sand was measured and published; the file is not part of this package and is read where it is. Pebbles were measured
and not published: resistive force theory stands in. Beads are simulated with our own DEM.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from softground.errors import OptionError
from softground.experiments.campaign import collect
from softground.experiments.campaign.options import PRESETS
from softground.experiments.database import WrenchDatabase
from softground.experiments.database_file import ZHU2019_REFERENCE, from_zhu2019
from softground.experiments.protocol import Pose, moved
from softground.experiments.rigs.resistive import ResistiveRig
from softground.media.base import COMPONENTS
from softground.media.named import DATA, REFERENCE_FOOT
from softground.media.resistive import wrenches
from softground.media.resistive.directions import planar_twists

MEASURED_SAND = "SOFTGROUND_SAND"
"""Environment variable that names the file of the published measurements, unless --sand does."""
BEADS = DATA / "beads"
"""Folder of the campaign behind `media.beads()`."""


@dataclass(frozen=True)
class Source:
    """A database and where it comes from, in words for a report."""

    database: WrenchDatabase
    origin: str


def sand_source(given: Path | None) -> Source:
    """The measured sand where it is, else resistive force theory on the same grid."""
    named = given or os.environ.get(MEASURED_SAND)
    if not named:
        return Source(resistive_database("sand"), "resistive force theory: the measured sand is absent, see --sand")
    if not Path(named).is_file():
        raise OptionError(f"measured sand {named}: no such file; leave it out to use resistive force theory")
    return Source(from_zhu2019(Path(named), medium="sand"), "measured by the authors")


def grains_source(given: Path | None) -> Source:
    """The measured sand where it is, else our DEM of the beads: real grains or simulated ones, no theory. A method that
    has resistive force theory inside must not be judged on it."""
    named, beads = given or os.environ.get(MEASURED_SAND), beads_source()
    return sand_source(given) if named or beads is None else beads


def pebbles_source() -> Source:
    return Source(resistive_database("pebbles"), "resistive force theory: the measurements are not public")


def beads_source() -> Source | None:
    """Our DEM of the paper's beads, mean of three beds; None where it has not been computed."""
    if not BEADS.is_dir():
        return None
    return Source(collect(BEADS), "our DEM")


def resistive_database(medium: str) -> WrenchDatabase:
    """The paper's grid and directions in a medium of resistive force theory: the wrench at each pose, unfiltered."""
    depths, tilts = PRESETS[medium].depths, PRESETS[medium].tilts  # Table I
    rig = ResistiveRig.in_medium(medium, REFERENCE_FOOT)
    twists = planar_twists()
    rotations = np.stack([Pose(0.0, tilt).rotation for tilt in tilts])
    values = rig.scale * wrenches(rig.surface, rig.law, rotations, np.array(depths), twists)  # tilt, depth, twist, 6
    values = moved(values, ZHU2019_REFERENCE * rotations[:, None, None, :, 2])
    tilt, depth, direction = np.array(list(product(tilts, depths, range(len(twists))))).T
    return WrenchDatabase(
        medium=medium,
        foot=REFERENCE_FOOT,
        reference_height=ZHU2019_REFERENCE,
        kind="planar",
        provenance=f"resistive force theory, {medium}, grid of zhu2019",
        depth=depth,
        tilt=tilt,
        heading=np.zeros_like(depth),
        direction=direction.astype(int),
        twist=np.tile(twists[:, COMPONENTS["planar"]], (len(tilts) * len(depths), 1)),
        wrench=values.reshape(-1, 6)[:, COMPONENTS["planar"]],
        source=("measured",) * len(depth),
    )
