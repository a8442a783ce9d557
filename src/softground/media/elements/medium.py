"""Grains, felt element by element on the surface of any body.

Every element has a place, a normal, a depth and a velocity of its own, so that an edge that dips in first is felt, and
tilts, rotations and shapes of any kind work:

    Phi(u) = sum over elements of  scale * area * depth * phi(v_e(u); n_e),

phi being the support function of the stresses that grains can put on an element of that orientation (`stress_sets`),
with its corners rounded (`law`). Depth is taken in the plane that touches the surface nearest to the body's origin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError, unknown_name
from softground.media.base import FootMedium, Medium, kind_of
from softground.media.elements.following import PLAIN_STRESSES
from softground.media.elements.foot import ElementsFoot
from softground.media.elements.placement import Surface, gathered, padded
from softground.media.parameters import check_not_negative, check_positive
from softground.media.resistive.stress import SURFACE_FRICTION, scale_of_grains
from softground.media.wrench_space import DEFAULT_EPS
from softground.robots.shapes import Shape, checked_shape

COUNT = 20
"""Elements of a body, about: forces are then within 5 % (rms) of those on a fine mesh."""


class Elements(Medium):
    """Grains by three-dimensional resistive force theory on every element of a body's surface.

    scale: stress per depth on a level plate pushed down, N/cm3. friction: coefficient between grains and surface, 0.1
    to 1. eps: temperature, W: a body at rest creeps at about eps over its load. strength: a factor on all forces.
    count: elements of a body, about. closed: whether feet have tops too, for robots that fall (`on_any_side`).

    What is None is switched off. power: of the depth with which stress grows, in place of 1, scaled at 2 cm. length: of
    way over which grains follow a new direction of motion, m (`following`); level, vertical: shares of the stress, and
    of its vertical part, that are left in level motion. inertia: factor on the drag by speed; added_mass: factor on the
    mass of grains under the body (`inertia`); density of the bulk, kg/m3. cohesion: greatest shear on a face in the
    ground, Pa; suction: greatest tension, Pa. bearing: angle of internal friction (rad) by which grains bear a sole at
    the surface already (`bearing`). law: whose stresses grains that follow have, "3d" or "plane" (`resistive.stress`).

    >>> import numpy as np
    >>> import softground as sg
    >>> loose = sg.media.Elements.of_grains(density=1330.0, friction_angle=np.deg2rad(29.0))
    """

    name: ClassVar[str] = "elements"

    scale: Float[Array, ""]  # N/cm3, stress per depth on a level plate pushed down
    friction: Float[Array, ""]  # coefficient of friction between grains and surface
    eps: Float[Array, ""]  # W, temperature
    strength: Float[Array, ""]  # a further factor on all forces
    power: Float[Array, ""] | None  # of the depth, dimensionless
    length: Float[Array, ""] | None  # m, of way over which grains follow
    level: Float[Array, ""]  # share of the stress that is left in level motion
    vertical: Float[Array, ""]  # share of its vertical part
    density: Float[Array, ""]  # kg/m3, of the bulk
    inertia: Float[Array, ""] | None  # factor on the drag by speed
    added_mass: Float[Array, ""] | None  # factor on the mass of grains that move along
    cohesion: Float[Array, ""] | None  # Pa
    suction: Float[Array, ""]  # Pa
    count: int = eqx.field(static=True)  # elements of a body, about
    closed: bool = eqx.field(
        static=True, default=False, metadata={"absent_from_old_files": True}
    )  # whether feet have tops too
    bearing: Float[Array, ""] | None = eqx.field(
        default=None, metadata={"absent_from_old_files": True}
    )  # rad, angle of internal friction
    law: str = eqx.field(
        static=True, default="3d", metadata={"absent_from_old_files": True}
    )  # whose stresses grains that follow have

    def __init__(
        self,
        scale: float = 1.0,
        *,
        friction: float = SURFACE_FRICTION,
        eps: float = DEFAULT_EPS,
        strength: float = 1.0,
        power: float | None = None,
        length: float | None = None,
        level: float = 1.0,
        vertical: float = 1.0,
        density: float = 1500.0,
        inertia: float | None = None,
        added_mass: float | None = None,
        cohesion: float | None = None,
        suction: float = 0.0,
        bearing: float | None = None,
        law: str = "3d",
        count: int = COUNT,
        closed: bool = False,
    ):
        given = {"scale": scale, "surface friction": friction, "eps": eps, "strength": strength, "density": density}
        given |= {"power": power, "length": length, "inertia": inertia, "added mass": added_mass, "cohesion": cohesion}
        given |= {"level share": level, "vertical share": vertical, "bearing angle": bearing}
        for label, value in given.items():
            if value is not None:
                check_positive(f"{label} of ground in elements", value)
        check_not_negative("suction of ground in elements", suction)
        if law not in PLAIN_STRESSES:
            raise MediumError(unknown_name("law", law, PLAIN_STRESSES))
        if law != "3d" and length is None:
            raise MediumError(f"the {law} law is for grains that follow: give a length (m)")
        if count < 1:
            raise MediumError(f"a body needs one element at least, got count={count}")
        self.scale, self.friction, self.eps, self.strength = map(as_float, (scale, friction, eps, strength))
        self.level, self.vertical, self.density, self.suction = map(as_float, (level, vertical, density, suction))
        switched = (power, length, inertia, added_mass, cohesion, bearing)
        self.power, self.length, self.inertia, self.added_mass, self.cohesion, self.bearing = (
            None if value is None else as_float(value) for value in switched
        )
        self.law = law
        self.count, self.closed = int(count), bool(closed)

    @classmethod
    def of_grains(cls, density: float, friction_angle: float, **options) -> Elements:
        """From bulk density (kg/m3) and angle of internal friction (rad), by the published relation."""
        check_positive("density of grains", density)
        if is_known(friction_angle) and not 0 < friction_angle < np.pi / 2:
            raise MediumError(
                f"friction_angle must be between 0 and pi/2 rad, got {friction_angle} (from degrees: np.deg2rad)"
            )
        return cls(scale_of_grains(density, np.tan(friction_angle)), density=density, **options)

    def for_foot(self, shape: Shape, planar: bool) -> ElementsFoot:
        return self._under([shape], planar, self.closed)[0]

    def on_any_side(self) -> Elements:
        return dataclasses.replace(self, closed=True)

    def under_feet(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        return self._under(shapes, planar, self.closed)

    def for_body(self, shape: Shape, planar: bool) -> ElementsFoot:
        return self._under([shape], planar, True)[0]

    def under_bodies(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        return self._under(shapes, planar, True)

    def _under(self, shapes: Sequence[Shape], planar: bool, to_corners: bool) -> list[ElementsFoot]:
        surfaces = [surface_of(shape, planar, self.count, self.closed) for shape in shapes]
        most = max(len(surface.area) for surface in surfaces)
        of_shapes = zip(surfaces, shapes, strict=True)
        return [self._on(padded(one, most), shape, planar, to_corners) for one, shape in of_shapes]

    def _on(self, surface: Surface, shape: Shape, planar: bool, to_corners: bool = False) -> ElementsFoot:
        """to_corners: whether elements are felt as far as their corners reach, as those of bodies are, which come down
        on any side; the few millimetres of feet on their soles are not worth the time."""
        fields = {name: as_float(field) for name, field in surface._asdict().items() if name != "corners"}
        return ElementsFoot(
            medium=self,
            **fields,
            corners=as_float(surface.corners) if to_corners else None,
            clearance=as_float(shape.clearance),
            half_width=as_float(shape.half_width),
            is_ball=shape.is_ball,
            kind=kind_of(shape, planar),
        )


@lru_cache(maxsize=256)
def surface_of(shape: Shape, planar: bool, count: int, closed: bool = False) -> Surface:
    """Elements of a shape, with its top if `closed`; in the plane one of each pair of mirror images, with the area of
    both."""
    surface = gathered(shape if shape.is_solid else checked_shape(shape, MediumError), count, closed)
    left = surface.centre[:, 1] > 0
    if not planar or not shape.is_mirrored or 2 * left.sum() != len(left):
        return surface
    kept = Surface(*(field[left] for field in surface))
    return kept._replace(area=2 * kept.area)
