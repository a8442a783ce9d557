"""Soil contact model (SCM): Bekker's pressure and Janosi's shear on the elements of a body that look down.

An element at depth z presses with its level area. Its pressure is elastic up to Bekker's yield and stays there while
it sinks; what has yielded stays where it is (plastic depth z_p):

    p = min( K_el (z - z_p), (K_c / b + K_phi) z^n ),  not below zero,      b the body's width

The shear along the surface follows Janosi, with j the way that the element was sheared since it touched, 3 J at most:

    tau = (c + p tan(phi)) (1 - exp(-|j| / J)),     against j

A step takes both with springs at its start and slopes at its end, y = y_0 + k v, and projects them: P on 0 .. yield,
the shear on a disc whose radius is that of the last step's pressure. As with visco-elastic ground (docs/contact.md)
each is the slope of a convex function, (y.P - |P|^2 / 2) / k. The slopes, K_el dt + R and dt tau / J, are the steepest
that the curves have, so that a step takes up at least what the springs store.

Walls are not loaded: SCM knows no bulldozing. An element that leaves the ground forgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float
from softground.errors import MediumError, unknown_name
from softground.media.base import FootInGround, FootMedium, Law, Medium
from softground.media.elements.foot import PLANE, ElementsFoot, in_precision, levers
from softground.media.elements.medium import COUNT, Elements
from softground.media.parameters import check_not_negative, check_positive
from softground.robots.shapes import Shape

PRESETS: dict[str, dict[str, float]] = {
    "soft": {
        "k_phi": 0.2e6,
        "k_c": 0.0,
        "power": 1.1,
        "cohesion": 0.0,
        "friction_angle": np.deg2rad(30.0),
        "shear_length": 0.01,
        "elasticity": 4e7,
        "damping": 3e4,
    },
    "hard": {
        "k_phi": 5301e3,
        "k_c": 102e3,
        "power": 0.793,
        "cohesion": 1.3e3,
        "friction_angle": np.deg2rad(31.1),
        "shear_length": 0.012,
        "elasticity": 4e8,
        "damping": 3e4,
    },
}
"""Published parameters, SI."""
SHEARED = 3.0
"""Greatest shear that is remembered, in shear lengths: 95 % of the strength."""
NONE = 1e-9


class Scm(Medium):
    """Deformable soil by Bekker and Janosi (SCM), by default the published soft soil; `Scm.preset("hard")` the other.

    k_phi (N/m^(power+2)), k_c (N/m^(power+1)) and power: of Bekker's pressure. cohesion: Pa. friction_angle: rad.
    shear_length: m, over which shear builds up. elasticity: Pa/m, of unloading; damping: Pa s/m. strength: a factor on
    all forces. count: elements of a body, about.

    >>> import softground as sg
    >>> float(sg.media.Scm.preset("hard").cohesion)  # Pa
    1300.0
    """

    name: ClassVar[str] = "scm"

    k_phi: Float[Array, ""]  # N/m^(power + 2)
    k_c: Float[Array, ""]  # N/m^(power + 1)
    power: Float[Array, ""]  # of depth, dimensionless
    cohesion: Float[Array, ""]  # Pa
    friction_angle: Float[Array, ""]  # rad
    shear_length: Float[Array, ""]  # m
    elasticity: Float[Array, ""]  # Pa/m
    damping: Float[Array, ""]  # Pa s/m
    strength: Float[Array, ""]  # factor on all forces
    count: int = eqx.field(static=True)

    def __init__(
        self,
        k_phi: float = PRESETS["soft"]["k_phi"],
        k_c: float = PRESETS["soft"]["k_c"],
        power: float = PRESETS["soft"]["power"],
        *,
        cohesion: float = PRESETS["soft"]["cohesion"],
        friction_angle: float = PRESETS["soft"]["friction_angle"],
        shear_length: float = PRESETS["soft"]["shear_length"],
        elasticity: float = PRESETS["soft"]["elasticity"],
        damping: float = PRESETS["soft"]["damping"],
        strength: float = 1.0,
        count: int = COUNT,
    ):
        positive = {"k_phi": k_phi, "power": power, "shear length": shear_length, "elasticity": elasticity}
        for label, value in {**positive, "strength": strength}.items():
            check_positive(f"{label} of SCM ground", value)
        not_negative = {"k_c": k_c, "cohesion": cohesion, "friction angle": friction_angle, "damping": damping}
        for label, value in not_negative.items():
            check_not_negative(f"{label} of SCM ground", value)
        if count < 1:
            raise MediumError(f"a body needs one element at least, got count={count}")
        self.k_phi, self.k_c, self.power, self.cohesion = map(as_float, (k_phi, k_c, power, cohesion))
        self.friction_angle, self.shear_length = as_float(friction_angle), as_float(shear_length)
        self.elasticity, self.damping, self.strength = map(as_float, (elasticity, damping, strength))
        self.count = int(count)

    @classmethod
    def preset(cls, name: str, **options) -> Scm:
        """The published "soft" or "hard" soil, with further options."""
        if name not in PRESETS:
            raise MediumError(unknown_name("SCM soil", name, PRESETS))
        return cls(**{**PRESETS[name], **options})

    def for_foot(self, shape: Shape, planar: bool) -> ScmFoot:
        return ScmFoot.of(self, Elements(count=self.count).for_foot(shape, planar))

    def under_feet(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        bodies = Elements(count=self.count).under_feet(shapes, planar)
        return [ScmFoot.of(self, body) for body in bodies]


class Sheared(eqx.Module):
    """What SCM ground remembers of the elements of a body."""

    plastic: Float[Array, " e"]  # m, depth to which the ground has yielded
    pressure: Float[Array, " e"]  # Pa, in the last step
    shear: Float[Array, "e t"]  # m, along the surface


class ScmFoot(FootMedium):
    """SCM ground bound to a body."""

    medium: Scm
    body: ElementsFoot  # its elements
    kind: str = eqx.field(static=True)

    @classmethod
    def of(cls, medium: Scm, body) -> ScmFoot:
        """From the elements of a body."""
        return cls(medium=medium, body=body, kind=body.kind)

    @property
    def _level(self) -> np.ndarray:
        """Components of the surface frame along which shear is counted."""
        return np.array([0]) if self.kind == "planar" else np.array([0, 1])

    def _pressed(self, foot: FootInGround):
        """Arms, level areas in the ground (m2) and depths (m) of the elements, and their pressure at yield (Pa)."""
        medium, area, width = in_precision((self.medium, self.body.area, self.body.half_width), foot.depth.dtype)
        placed = self.body.placed(foot)
        level = area * jnp.maximum(-placed.normal[:, 2], 0.0) * placed.share
        depth = placed.depth / (placed.share + NONE)
        stiffness = medium.k_c / (2 * width) + medium.k_phi
        return medium, placed.arm, level, depth, stiffness * (depth + NONE) ** medium.power

    def initial_memory(self, foot: FootInGround) -> Sheared:
        medium, _, level, depth, pressure = self._pressed(foot)
        pressure = jnp.where(level > 0, pressure, 0.0)
        shear = jnp.zeros((*depth.shape, len(self._level)), depth.dtype)
        return Sheared(depth - pressure / medium.elasticity, pressure, shear)

    def law(self, foot: FootInGround, memory: Sheared, dt) -> ScmLaw:
        medium, arm, level, depth, limit = self._pressed(foot)
        area = medium.strength * level
        rate = medium.elasticity * dt + medium.damping
        way = jnp.sqrt((memory.shear**2).sum(-1, keepdims=True) + NONE**2)
        grown = (1 - jnp.exp(-way / medium.shear_length)) / way
        bound = area * (medium.cohesion + memory.pressure * jnp.tan(medium.friction_angle))
        parts = {"planar": PLANE, "point": np.arange(3), "spatial": np.arange(3)}[self.kind]
        lever = levers(arm)[:, parts]
        return ScmLaw(
            area * medium.elasticity * (depth - memory.plastic),
            area * rate + NONE,
            area * limit,
            bound[:, None] * grown * memory.shear,
            bound * dt / medium.shear_length + NONE,
            bound,
            None if self.kind == "point" else lever[:, :, 1:2] if self.kind == "planar" else lever,
        )

    def remember(self, foot: FootInGround, memory: Sheared, law, twist, dt) -> Sheared:
        assert isinstance(law, ScmLaw)
        medium, _, level, depth, limit = self._pressed(foot)
        velocity = law.velocities(twist)
        reached = depth - dt * velocity[:, -1]
        plastic = jnp.maximum(memory.plastic, reached - limit / medium.elasticity)
        pressure = law.pressed(velocity)[1] / (medium.strength * level + NONE)
        shear = memory.shear + dt * velocity[:, :-1]
        longest = SHEARED * medium.shear_length
        shear = shear * jnp.minimum(1.0, longest / jnp.sqrt((shear**2).sum(-1, keepdims=True) + NONE**2))
        inside = level > 0
        return Sheared(
            jnp.where(inside, plastic, 0.0),
            jnp.where(inside, pressure, 0.0),
            jnp.where(inside[:, None], shear, 0.0),
        )

    def stored_energy(self, foot: FootInGround, memory: Sheared) -> Float[Array, ""]:
        medium, _, level, _, _ = self._pressed(foot)
        area, length = medium.strength * level, medium.shear_length
        way = jnp.sqrt((memory.shear**2).sum(-1) + NONE**2) / length
        strength = medium.cohesion + memory.pressure * jnp.tan(medium.friction_angle)
        sheared = strength * length * (way + jnp.exp(-way) - 1)
        return (area * (memory.pressure**2 / (2 * medium.elasticity) + sheared)).sum()


class ScmLaw(Law):
    """Pressure and shear of elements that are projected on what they can be; d components of velocity, the last up."""

    press: Float[Array, " e"]  # N, of the elastic ground at the step's start
    press_rate: Float[Array, " e"]  # N s/m
    limit: Float[Array, " e"]  # N, at yield
    shear: Float[Array, "e t"]  # N, at the step's start
    shear_rate: Float[Array, " e"]  # N s/m
    bound: Float[Array, " e"]  # N
    lever: Float[Array, "e d a"] | None  # m

    def velocities(self, twist: Float[Array, " n"]) -> Float[Array, "e d"]:
        """Velocity of every element, m/s."""
        size = self.shear.shape[-1] + 1
        linear = jnp.broadcast_to(twist[:size], (len(self.press), size))
        return linear if self.lever is None else linear + (self.lever * twist[size:]).sum(-1)

    def pressed(self, velocity):
        """What the ground asks for along the normal, and what it gives, N."""
        asked = self.press - self.press_rate * velocity[:, -1]
        return asked, jnp.clip(asked, 0.0, self.limit)

    def sheared(self, velocity):
        """What the ground asks for along the surface, its size, and the share of it that it gives."""
        asked = self.shear + self.shear_rate[:, None] * velocity[:, :-1]
        size = jnp.sqrt((asked**2).sum(-1) + NONE**2)
        return asked, size, jnp.minimum(1.0, self.bound / size)

    def potential(self, twist):
        velocity = self.velocities(twist)
        asked, given = self.pressed(velocity)
        _, size, share = self.sheared(velocity)
        along = (1 - share / 2) * share * size**2 / self.shear_rate
        return ((asked - given / 2) * given / self.press_rate + along).sum()

    def wrench(self, twist):
        velocity = self.velocities(twist)
        asked, _, share = self.sheared(velocity)
        return self._gathered(jnp.concatenate([-share[:, None] * asked, self.pressed(velocity)[1][:, None]], axis=1))

    def _gathered(self, force):
        if self.lever is None:
            return force.sum(0)
        return jnp.concatenate([force.sum(0), (self.lever * force[:, :, None]).sum((0, 1))])

    def response(self, twist):
        velocity = self.velocities(twist)
        up, given = self.pressed(velocity)
        asked, size, share = self.sheared(velocity)
        slides = (self.bound < size)[:, None, None]
        unit = asked / size[:, None]
        flat = np.eye(asked.shape[-1], dtype=asked.dtype)
        across = flat - jnp.where(slides, unit[:, :, None] * unit[:, None, :], 0.0)
        along = (self.shear_rate * share)[:, None, None] * across
        normal = jnp.where((up > 0) & (up < self.limit), self.press_rate, 0.0)
        none = jnp.zeros_like(along[:, :, :1])
        rows = jnp.concatenate([along, none], axis=2)
        last = jnp.concatenate([none[:, :, 0], normal[:, None]], axis=1)[:, None, :]
        local = jnp.concatenate([rows, last], axis=1)
        wrench = self._gathered(jnp.concatenate([-share[:, None] * asked, given[:, None]], axis=1))
        if self.lever is None:
            return wrench, local.sum(0)
        turned = (local[:, :, :, None] * self.lever[:, None, :, :]).sum(2)
        across, spin = turned.sum(0), (self.lever[:, :, :, None] * turned[:, :, None, :]).sum((0, 1))
        top = jnp.concatenate([local.sum(0), across], axis=1)
        return wrench, jnp.concatenate([top, jnp.concatenate([across.T, spin], axis=1)])
