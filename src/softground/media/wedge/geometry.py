"""The solid wedge under a sole, in one slice of the foot: its faces, what depth they see, its area.

From the ends of the chord (`sole.Chord`, at depths d_f and d_r) flanks of slope phi run inwards and down. They would
meet in an apex at the depth

    d_a = (d_f + d_r + l tan phi) / 2,          l the chord's horizontal length;

for a level flat sole of length L at depth z this is z + h with h = (L/2) tan phi. Where the wedge has not grown to its
apex yet (flat soles), it ends in a level bottom at d_b, a share of the way from the deeper end of the chord to d_a.

Resistive force theory asks of a plane face only the integral of depth over it, because the stress per depth is the
same all over it. Along a flank dA = W dz / sin phi, so

    integral of z dA = W (d_b^2 - d_f^2) / (2 sin phi)  =  W I_z / (2 tan phi),    I_z = (d_b^2 - d_f^2) / cos phi,

which is the factor of chen2026 (8); the force acts where depth^2 has its mean, at 2/3 (d_b^3 - d_f^3)/(d_b^2 - d_f^2).
The bottom, 2 (d_a - d_b) / tan phi long, is cut in the middle, so that a foot that turns meets the half that leads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.media.wedge.sole import Chord, Scalar, Sole


class Faces(NamedTuple):
    """Plane faces in one slice, and where the forces on them act."""

    load: Float[Array, " f"]  # m2, integral of depth along each face (per metre of width)
    x: Float[Array, " f"]  # m, forwards from the reference point
    depth: Float[Array, " f"]  # m


class Solid(NamedTuple):
    """The wedge in one slice. Faces: front flank, rear flank and, under a flat sole, front and rear bottom."""

    faces: Faces
    area: Float[Array, ""]  # m2, of the slice of solid grains
    chord: Chord


def solid_under(sole: Sole, depth: Scalar, tilt: Scalar, friction_angle: float, growth: Scalar) -> Solid:
    """The wedge under a sole whose reference point is at this depth (m), at this tilt (rad)."""
    chord = sole.chord(depth, tilt, friction_angle)
    slope = math.tan(friction_angle)
    ends = jnp.stack([chord.front_depth, chord.rear_depth])
    apex = (ends.sum() + chord.length * slope) / 2
    # Not ends.max(): its derivative shares a tie among those equal to it, of which rounding may leave none.
    deeper = jnp.maximum(chord.front_depth, chord.rear_depth)
    bottom = deeper + sole.grown(depth, friction_angle, growth) * (apex - deeper)
    half_level = (apex - bottom) / slope
    faces = _flanks(chord, ends, bottom, friction_angle)
    if sole.is_flat:
        faces = Faces(*map(jnp.concatenate, zip(faces, _level(chord, bottom, half_level, slope), strict=True)))
    under_faces = (bottom**2 - ends**2).sum() / (2 * slope) + 2 * bottom * half_level
    above = ends.mean() * chord.length + sole.area_below(chord)
    return Solid(faces, jnp.maximum(under_faces - above, 0.0), chord)


def _flanks(chord: Chord, ends: Float[Array, "2"], bottom: Float[Array, ""], friction_angle: float) -> Faces:
    depth = mean_depth(ends, bottom)
    inwards = (depth - ends) / math.tan(friction_angle)
    return Faces(
        load=(bottom**2 - ends**2) / (2 * math.sin(friction_angle)),
        x=jnp.stack([chord.front - inwards[0], chord.rear + inwards[1]]),
        depth=depth,
    )


def _level(chord: Chord, bottom: Float[Array, ""], half: Float[Array, ""], slope: float) -> Faces:
    """The two halves, each `half` long, of a level bottom. Its middle is below the apex that is to come."""
    middle = (chord.front + chord.rear + (chord.front_depth - chord.rear_depth) / slope) / 2
    return Faces(
        load=jnp.stack([bottom * half, bottom * half]),
        x=jnp.stack([middle + half / 2, middle - half / 2]),
        depth=jnp.stack([bottom, bottom]),
    )


def mean_depth(shallow: Float[Array, " f"], deep: Float[Array, ""]) -> Float[Array, " f"]:
    """Depth at which the resultant of a pressure in proportion to depth acts between two depths, m."""
    return 2 / 3 * (deep**2 + deep * shallow + shallow**2) / jnp.maximum(deep + shallow, 1e-12)
