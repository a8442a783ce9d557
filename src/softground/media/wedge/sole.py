"""Soles as the wedge sees them: a chord from which it hangs, in a slice of the foot parallel to the x-z plane.

A wedge has flanks of one slope, that of the friction angle phi. It hangs between the two points where lines of that
slope touch the sole, or, where these are still above the surface, where the surface cuts the sole:

- a flat sole is touched at its edges, so the chord is the sole itself, less what is above the surface;
- a round sole of radius R is touched R sin phi before and behind its lowest point, R (1 - cos phi) above it. Until it
  is that deep the chord lies in the surface and grows with depth.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.robots.shapes import Shape, checked_shape

Scalar = float | Float[Array, ""]


class Chord(NamedTuple):
    """Upper side of the wedge: its ends, x forwards from the reference point and depth below the surface, m.

    Those of several slices along leading axes.
    """

    front: Float[Array, "*s"]
    front_depth: Float[Array, "*s"]
    rear: Float[Array, "*s"]
    rear_depth: Float[Array, "*s"]

    @property
    def length(self) -> Float[Array, "*s"]:
        """Horizontal, m; zero out of the ground."""
        return self.front - self.rear


class Sole(eqx.Module):
    """One slice of a foot. Depths are of its reference point: a flat sole's centre, a round one's lowest point."""

    is_flat: ClassVar[bool] = False

    def chord(self, depth: Scalar, tilt: Scalar, friction_angle: float) -> Chord:
        """The chord at this depth (m) and tilt about y (rad)."""
        raise NotImplementedError

    def across(self, chord: Chord) -> Float[Array, ""]:
        """Width of the wedge along y, m."""
        raise NotImplementedError

    def area_below(self, chord: Chord) -> Float[Array, ""]:
        """Area of the foot's own slice below the chord, m2."""
        return jnp.zeros_like(chord.front)

    def grown(self, depth: Scalar, friction_angle: float, growth: Scalar) -> Float[Array, ""]:
        """Share of the wedge's height that has turned solid at this depth."""
        return jnp.ones_like(depth)

    @property
    def clearance(self) -> Float[Array, ""] | float:
        """Height of the foot frame's origin over the reference point, m."""
        return 0.0


class FlatSole(Sole):
    """A rectangle. Its chord is there at once, so what grows with depth is the wedge's height."""

    is_flat: ClassVar[bool] = True
    length: Float[Array, ""]  # m, along x
    width: Float[Array, ""]  # m, along y

    def chord(self, depth, tilt, friction_angle: float) -> Chord:
        # Steeper than the wedge's flanks a sole has no wedge: it is its own flank, as it is in the limit tilt = phi.
        tilt = jnp.clip(tilt, -friction_angle, friction_angle)
        half, sink = self.length / 2 * jnp.cos(tilt), self.length / 2 * jnp.sin(tilt)
        # Along the sole, share in -1 .. 1 from rear to front, the depth is depth + share * sink.
        front_is_up = sink < 0
        level = jnp.where(front_is_up, -1e-12, 1e-12)  # of the sign by which the ends are chosen, however small sink is
        waterline = jnp.clip(-depth / jnp.where(jnp.abs(sink) < 1e-12, level, sink), -1.0, 1.0)
        front = jnp.where(front_is_up, waterline, 1.0)
        rear = jnp.where(front_is_up, -1.0, waterline)
        front_depth, rear_depth = (jnp.maximum(depth + share * sink, 0.0) for share in (front, rear))
        return Chord(front * half, front_depth, rear * half, rear_depth)

    def across(self, chord: Chord):
        return self.width

    def grown(self, depth, friction_angle: float, growth):
        height = self.length / 2 * math.tan(friction_angle)
        return 1 - jnp.exp(-growth * jnp.maximum(depth, 0.0) / height)


class RoundSole(Sole):
    """An arc of a cylinder that lies along y. It looks the same at every tilt."""

    radius: Float[Array, ""]  # m
    width: Float[Array, ""]  # m

    def chord(self, depth, tilt, friction_angle: float) -> Chord:
        half, top = touched(self.radius, depth, friction_angle)
        return Chord(half, top, -half, top)

    def across(self, chord: Chord):
        return self.width

    def area_below(self, chord: Chord):
        half = chord.length / 2
        height = jnp.sqrt(jnp.maximum(self.radius**2 - half**2, 0.0))
        return self.radius**2 * jnp.arcsin(half / self.radius) - half * height

    @property
    def clearance(self):
        return self.radius


class BallSole(Sole):
    """A ball: the disc in which the chord's plane cuts it is taken as the square of the same area."""

    radius: Float[Array, ""]  # m

    def chord(self, depth, tilt, friction_angle: float) -> Chord:
        half, top = touched(self.radius, depth, friction_angle)
        return Chord(HALF_SIDE * half, top, -HALF_SIDE * half, top)

    def across(self, chord: Chord):
        return chord.length

    def area_below(self, chord: Chord):
        """The cap below the chord, spread over the side of the square."""
        half = chord.length / 2 / HALF_SIDE
        cap = self.radius - jnp.sqrt(jnp.maximum(self.radius**2 - half**2, 0.0))
        return math.pi * cap**2 * (self.radius - cap / 3) / jnp.maximum(chord.length, 1e-9)

    @property
    def clearance(self):
        return self.radius


HALF_SIDE = math.sqrt(math.pi) / 2
"""Half the side of a square, in radii of the disc of the same area."""


def touched(radius, depth, friction_angle: float) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Half the chord of a circle whose lowest point is this deep, and the depth of the chord, m."""
    rise = radius * (1 - math.cos(friction_angle))
    cut = jnp.clip(depth, 0.0, rise)
    half = jnp.sqrt(jnp.maximum(cut * (2 * radius - cut), 1e-24))  # no infinite slope where the foot meets the ground
    return half, jnp.maximum(depth - rise, 0.0)


def sole_of(shape: Shape) -> Sole:
    """The sole of a foot. A flat one is taken as the rectangle of the same area with the same ratio of sides."""
    clearance, (length, width, _) = np.asarray(checked_shape(shape, MediumError).clearance), shape.extent
    if shape.is_ball:
        return BallSole(clearance)
    if shape.rolls:
        return RoundSole(clearance, np.asarray(width))
    if not shape.is_mirrored:
        raise MediumError(
            "a wedge hangs under soles that are their own mirror image forwards and sideways (a Box, Cylinder, "
            f"HalfCylinder or Sphere), got {shape!r}: give the foot such a shape, Robot.load(..., feet={{name: shape}})"
        )
    share = np.sqrt(shape.area / (length * width))
    return FlatSole(np.asarray(share * length), np.asarray(share * width))
