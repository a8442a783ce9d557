"""Learned ground under robots of papers: the measured sand where its file is at hand, and what is shipped.

RoboSimian weighs 980 N. Four of its feet carry at most 920 N in the measured sand, at 5 cm, and each 450 N in beads, at
24 cm: on ground of strength 1 it can stand or step as far as what it carries and stands on lets it. Three remedies are
compared. Two change the robot, and so what is physical; one, that of zhu2021, multiplies the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from softground.experiments.database import WrenchDatabase
from softground.experiments.database_file import from_zhu2019
from softground.experiments.learning import Physics, compressed, grid_of
from softground.experiments.learning.ensemble import ensemble
from softground.experiments.protocol import Pose, moved
from softground.media import Medium
from softground.media.base import COMPONENTS
from softground.media.ensemble import Ensemble
from softground.media.learned import LearnedSpace
from softground.media.named import REFERENCE_FOOT, beads, ensemble_of, sand
from softground.media.similar_feet import scaled_foot
from softground.papers.zhu2019.databases import MEASURED_SAND
from softground.papers.zhu2019.quadruped import weighing
from softground.robots import Robot
from softground.robots.shapes import Cylinder

TORSO = 10.0
"""Mass of the lighter torso, kg; as it is, 41.7 kg. The limbs weigh 58.2 kg."""
SIZE = 1.4
"""Of the larger feet, in radii of RoboSimian's own: their area is twice as large, as the authors' strength is."""


@dataclass(frozen=True)
class Case:
    """A robot on a ground."""

    name: str
    robot: Robot
    medium: Medium


def cases(learned: dict[str, Callable[[float], LearnedSpace]]) -> list[Case]:
    """The robot as it is and three remedies on each learned ground (a function of its strength), and theory beside."""
    own = Robot.load("robosimian")
    light, wide = lighter(own, TORSO), wide_footed(SIZE)
    found = []
    for name, medium in learned.items():
        found += [
            Case(f"{name}, as measured", own, medium(1.0)),
            Case(f"{name}, lighter torso", light, medium(1.0)),
            Case(f"{name}, larger feet", wide, larger(medium(1.0), SIZE)),
            Case(f"{name}, strength 2", own, medium(2.0)),
        ]
    return [*found, Case("theory, strength 2", own, sand(2.0))]


def wide_footed(size: float) -> Robot:
    """RoboSimian with feet that are larger, and heavier by that."""
    shape = Cylinder(size * REFERENCE_FOOT.radius, size * REFERENCE_FOOT.length)
    robot = Robot.load("robosimian", feet={foot.name: shape for foot in Robot.load("robosimian").feet})
    return weighing(robot, size)


def learned_medium(given: Path | None) -> tuple[str, Callable[[float], LearnedSpace]]:
    """Name and medium (by strength) of the learned ground: the measured sand where it is, else shipped beads."""
    named = given or os.environ.get(MEASURED_SAND)
    if named:
        path = Path(named)
        return "sand", lambda strength: measured_sand(path, strength)
    return "beads", beads


@cache
def measured_sand(path: Path, strength: float = 1.0) -> LearnedSpace:
    """The published measurements, learned: torques about the sole's centre, so that the set can be scaled."""
    database = about_sole(from_zhu2019(path, medium="sand"))
    return compressed(Physics().fit(grid_of(database)).medium(strength=strength))


def learned_ensemble(given: Path | None) -> Ensemble:
    """By what the ground of `learned_medium` may be wrong."""
    named = given or os.environ.get(MEASURED_SAND)
    if not named:
        return ensemble_of("beads")
    beds = [grid_of(about_sole(from_zhu2019(Path(named), medium="sand")))]
    return ensemble(measured_sand(Path(named)), beds)


def about_sole(database: WrenchDatabase) -> WrenchDatabase:
    """The same planar wrenches about the sole's centre."""
    wrench, components = np.zeros((len(database), 6)), COMPONENTS[database.kind]
    wrench[:, components] = database.wrench
    axis = np.array([Pose(*pose).rotation[:, 2] for pose in database.poses()])
    about = moved(wrench, -database.reference_height * axis)[:, components]
    return replace(database, reference_height=0.0, wrench=about)


def larger(space: LearnedSpace, size: float) -> LearnedSpace:
    """What a learned medium says of feet `size` times as large, if stresses grow with depth and know no other length.

    That is the similarity of resistive force theory: forces grow by size^3 at a depth that is `size` times as great
    (`media.similar_feet`). Grains of a size of their own break it; the data do not say by how much.
    """
    scaled = scaled_foot(space, size)
    foot = type(space.foot)(*(size * length for length in space.foot.sizes()))
    numbers = {name: float(getattr(scaled, name)) for name in ("eps", "strength", "max_depth", "max_tilt")}
    return LearnedSpace(scaled.coefficients, scaled.features, foot, kind=space.kind, **numbers)


def lighter(robot: Robot, torso: float) -> Robot:
    """The robot with less in its torso: mass `torso` (kg), its inertia in proportion, its centre as it is."""
    mass, inertia = (jnp.asarray(part) for part in (robot.parameters.mass, robot.parameters.inertia))
    share = torso / mass[0]
    return eqx.tree_at(
        lambda one: (one.parameters.mass, one.parameters.inertia),
        robot,
        (mass.at[0].set(torso), inertia.at[0].multiply(share)),
    )
