"""The media that every generic test runs on: a new medium is tested once it is listed here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from softground import media, terrain
from softground.media.base import COMPONENTS, FootInGround, Medium
from softground.media.elements.foot import ElementsFoot
from softground.media.elements.foot import Memory as MovedGrains
from softground.media.elements.scm import ScmFoot, Sheared
from softground.media.visco_elastic.body import BodyMemory, ViscoElasticBody
from softground.media.visco_elastic.medium import Memory, ViscoElasticFoot
from softground.robots.shapes import Box, Capsule, Compound, ConvexMesh, Cylinder, Ellipsoid, Part, Shape, Sphere

from .sole_cases import CONVEX

MEDIA: dict[str, Callable[[], Medium]] = {
    "sand": media.sand,
    "pebbles": media.pebbles,
    "elements": media.Elements,
    "elements with memory, speed and cohesion": lambda: media.Elements(
        length=0.007, level=0.4, vertical=0.2, power=1.3, inertia=1.0, added_mass=1.0, cohesion=500.0, suction=300.0
    ),
    "elements that bear a sole, plane law": lambda: media.Elements(length=0.007, law="plane", bearing=0.5),
    "scm": media.Scm,
    "visco_elastic": media.ViscoElastic,
    "firm": media.Firm,
    "wedge": media.Wedge,
    "sheared wedge": lambda: media.Wedge(shear=1.5),
    "sand over a floor": lambda: terrain.OverFloor(media.sand(), 0.02),
}
#: kind of contact: shape of the foot, whether its robot is planar
FEET: dict[str, tuple[Shape, bool]] = {
    "planar": (Cylinder(0.05, 0.15), True),
    "spatial": (Box(0.2, 0.1, 0.05), False),
    "point": (Sphere(0.03), False),
    "round": (Cylinder(0.05, 0.15), False),
    "polygon": (CONVEX, False),
}
#: closed bodies of any shape, in frames of their own
BODIES: dict[str, Shape] = {
    "capsule": Capsule(0.03, 0.2),
    "ellipsoid": Ellipsoid(0.1, 0.05, 0.03),
    "mesh": ConvexMesh.around(np.random.default_rng(0).normal(size=(60, 3)) * [0.1, 0.05, 0.02]),
    "compound": Compound(
        (Part.at(Box(0.2, 0.1, 0.04), np.zeros(3), np.eye(3)), Part.at(Capsule(0.03, 0.2), [0.1, 0, 0], np.eye(3)))
    ),
}
FEET |= {name: (shape, False) for name, shape in BODIES.items()}
#: media of springs take feet with any outline; those of grains do not
SPRINGS = ("visco_elastic", "firm")
FEET_IN_GRAINS = ("planar", "spatial", "point", "round")
FEET_IN_SHEAR = ("spatial", "round")  # in the plane nothing moves sideways, and a ball has no sides


def feet_on(medium: str) -> Iterable[str]:
    """Names of the feet on which a medium is tested."""
    if medium in SPRINGS:
        return FEET
    if medium in ("sand", "elements", "elements with memory, speed and cohesion"):
        return (*FEET_IN_GRAINS, *BODIES)
    if medium == "sand over a floor":
        return ("planar", "point")  # media that share a reference point, and media that do not
    return FEET_IN_SHEAR if medium == "sheared wedge" else FEET_IN_GRAINS


@dataclass(frozen=True)
class Case:
    """A medium under one foot."""

    medium_name: str
    foot_name: str

    @property
    def shape(self) -> Shape:
        return FEET[self.foot_name][0]

    @property
    def medium(self) -> Medium:
        return medium_for(self.medium_name, self.foot_name)

    def __str__(self) -> str:
        return f"{self.medium_name}-{self.foot_name}"


CASES = tuple(Case(medium, foot) for medium in MEDIA for foot in feet_on(medium))


@cache
def medium_for(medium_name: str, foot_name: str) -> Medium:
    medium = MEDIA[medium_name]()
    return medium.for_body(*FEET[foot_name]) if foot_name in BODIES else medium.for_foot(*FEET[foot_name])


def random_foot(random: np.random.Generator, planar: bool, deepest: float = 0.06) -> FootInGround:
    """A foot 0 to `deepest` m in the ground, tilted up to 0.5 rad, on a surface of any orientation."""
    tilt = random.uniform(-0.5, 0.5)
    if planar:
        rotation = Rotation.from_euler("y", tilt)
        surface = Rotation.from_euler("y", random.uniform(-0.4, 0.4))
    else:
        rotation = Rotation.from_euler("zyx", [random.uniform(-3, 3), tilt, random.uniform(-0.5, 0.5)])
        surface = Rotation.from_euler("yx", random.uniform(-0.4, 0.4, 2))
    position = random.normal(size=3) * [1.0, 0.0 if planar else 1.0, 1.0]
    return FootInGround(
        depth=np.float64(random.uniform(0, deepest)),
        position=position,
        rotation=rotation.as_matrix(),
        surface=surface.as_matrix(),
    )


def random_memory(random: np.random.Generator, medium: Medium, foot: FootInGround, stretch: float = 5e-3):
    """What the ground may remember of the foot: anchors within `stretch` m of the points of its sole, and
    normal forces between none and twice what its springs ask for at 1 cm; or some direction of motion, and grains that
    move at up to 0.3 m/s in masses up to 0.1 kg."""
    if isinstance(medium, ScmFoot):
        fresh = medium.initial_memory(foot)
        shares = random.uniform(0.5, 1.1, len(fresh.plastic))
        shear = 0.01 * random.normal(size=fresh.shear.shape)
        return Sheared(shares * fresh.plastic, shares * fresh.pressure, shear)
    if isinstance(medium, ElementsFoot) and medium.remembers:
        direction = random.normal(size=len(COMPONENTS[medium.kind]))
        past = random.uniform(0, 1) * direction / np.linalg.norm(direction)
        return MovedGrains(past, random.uniform(0, 0.03, len(medium.area)))
    if isinstance(medium, ViscoElasticBody):
        count = len(medium.width)
        springs = stretch * np.abs(random.normal(size=(count, 3))), random.uniform(1e-4, 1e-3, count)
        return BodyMemory(*springs, random.uniform(0, 2.0, count) * float(medium.medium.stiffness) * 1e-5)
    if not isinstance(medium, ViscoElasticFoot):
        return medium.initial_memory(foot)
    count = len(medium.sole.points)
    away = stretch * random.normal(size=(count, 3)) * [1.0, 0.0 if medium.kind == "planar" else 1.0, 1.0]
    usual = float(medium.medium.stiffness) * medium.sole.areas * 0.01
    normal_force = np.maximum(usual * random.uniform(-0.5, 2.0, count), 0.0)
    if medium.sole.rolls:
        return Memory(away @ foot.surface.T, normal_force)
    anchor = foot.position + (medium.sole.points @ foot.rotation.T + away) @ foot.surface.T
    return Memory(anchor, normal_force)
