"""Grains that follow the motion: what resistive force theory says of a direction holds once a body moves in it.

A convex potential of the velocity cannot be resistive force theory (docs/media.md): its set of stresses does not know
in which direction the element goes. But the ground may remember in which direction the body *went*, and sets that
depend on the past leave the step convex. What is remembered is the direction of the body's twist, forgotten over a
length l of way (so that speed does not matter),

    de/ds = (u/|u| - e) / l,      |u|^2 = |v|^2 + (size |w|)^2,      s the way of the body,

with e = 0 for fresh ground. It gives every element a direction of the past, d = v_e(e) / |v_e(e)|, and its set is the
ellipsoid of fresh ground, smaller by k and moved such that an element which goes on in that direction feels exactly the
plain stress a(n, d):

    x(v) = c.v + k sqrt(v'Qv),      c = -a - k Qd / sqrt(d'Qd),      so that  -dx/dv = a  at v = d.

k is the power of the plain stress over that of fresh ground: of elements that trail nothing is left. Where e is small
the two are mixed.

Sand that is pushed down packs, sand that is pushed along or up loosens. Two shares say how much of the stress is left
in level motion, and how much of its vertical part; with both 1 it is the published law. `Remembering` found the same
for beads simulated one by one.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.resistive.stress import (
    A00,
    A10,
    B01,
    B11,
    B_11,
    C01,
    C11,
    C_11,
    D10,
    FLAT_PLATE,
    ON_GRAVITY,
    ON_NORMAL,
    ON_VELOCITY,
)

MIXED = 0.02
"""Length of an element's direction of the past below which fresh ground counts."""
NONE = 1e-12


def plain_stress(
    stresses: Callable[..., Array],
    normal: Float[Array, "e 3"],
    direction: Float[Array, "e 3"],
    friction: Float[Array, ""],
) -> Float[Array, "e 3"]:
    """Stresses on unit vectors in units of the scale, with what tells a surface from grains: no suction, tangents
    within friction, no power from the ground, and zero where an element does not lead."""
    stress = stresses(normal, direction)
    along = (stress * normal).sum(-1, keepdims=True)
    tangential = stress - along * normal
    pressure = jnp.maximum(-along, 0.0)
    slip = jnp.sqrt((tangential**2).sum(-1, keepdims=True) + NONE)
    stress = tangential * jnp.minimum(1.0, friction * pressure / slip) - pressure * normal
    power = (stress * direction).sum(-1, keepdims=True)
    leads = (normal * direction).sum(-1, keepdims=True) > 0
    return jnp.where(leads, stress - jnp.maximum(power, 0.0) * direction, 0.0)


def spatial_stresses(normal: Float[Array, "e 3"], direction: Float[Array, "e 3"]) -> Float[Array, "e 3"]:
    """As `resistive.stress.spatial_stress` has them."""
    facing = jnp.where(normal[:, 2:] > 0, -normal, normal)
    on_n, on_v, on_g = _coefficients(-direction[:, 2], -facing[:, 2], (facing * direction).sum(-1))
    stress = on_n[:, None] * facing + on_v[:, None] * direction
    return (stress - on_g[:, None] * np.array([0.0, 0.0, 1.0], normal.dtype)) / FLAT_PLATE


def plane_stresses(normal: Float[Array, "e 3"], direction: Float[Array, "e 3"]) -> Float[Array, "e 3"]:
    """As `resistive.stress.plane_stress` has them, for plates and motions in space.

    With h and w the level parts of n and v, Li's formulas say

        alpha_z = A00 + A10 c - B01 v_z - (B11 + B_11) c v_z - 2 (B11 - B_11) n_z h.w,      c = n_z^2 - h.h,
        alpha_h = -(C01 + (C11 + C_11) c) w + 2 n_z (D10 + (C11 - C_11) v_z) h,

    which in the vertical plane of n and v is the published law, and for a level plate the same in all directions.
    """
    up, fall = normal[:, 2], direction[:, 2]
    level, slid = normal[:, :2], direction[:, :2]
    steep = up**2 - (level**2).sum(-1)
    on_z = A00 + A10 * steep - (B01 + (B11 + B_11) * steep) * fall - 2 * (B11 - B_11) * up * (level * slid).sum(-1)
    on_slide, on_lean = C01 + (C11 + C_11) * steep, 2 * up * (D10 + (C11 - C_11) * fall)
    return jnp.concatenate([on_lean[:, None] * level - on_slide[:, None] * slid, on_z[:, None]], axis=-1)


#: Published stresses on plates, by the name of the law.
PLAIN_STRESSES = {"3d": spatial_stresses, "plane": plane_stresses}


def _coefficients(a, b, c):
    """The three cubic polynomials of g.v, g.n and n.v, in the published order of monomials."""
    linear = [jnp.ones_like(a), a, b, c]
    square = [a * a, b * b, c * c, a * b, b * c, c * a]
    cubic = [a**3, b**3, c**3, a * b * b, b * a * a, b * c * c, c * b * b, c * a * a, a * c * c, a * b * c]
    terms = jnp.stack(linear + square + cubic)
    return [(jnp.asarray(table, terms.dtype)[:, None] * terms).sum(0) for table in (ON_NORMAL, ON_VELOCITY, ON_GRAVITY)]


def following(
    normal: Float[Array, "e 3"],
    centre: Float[Array, "e 3"],
    square: Float[Array, "e 3 3"],
    past: Float[Array, "e 3"],
    friction: Float[Array, ""],
    level: Float[Array, ""],
    vertical: Float[Array, ""],
    stresses: Callable[..., Array],
) -> tuple[Float[Array, "e 3"], Float[Array, "e 3 3"]]:
    """c and Q of elements whose velocities in the remembered motion were `past`, from those of fresh ground.

    stresses: one of `PLAIN_STRESSES`.
    """
    size = (past**2).sum(-1, keepdims=True)
    known = size / (size + MIXED**2)
    direction = past / jnp.sqrt(size + NONE)
    down = jnp.maximum(-direction[:, 2], 0.0)
    shares = jnp.stack([level + (1 - level) * down] * 2 + [vertical + (1 - vertical) * down], axis=-1)
    stress = shares * plain_stress(stresses, normal, direction, friction)
    pushed = (square * direction[:, None, :]).sum(-1)
    root = jnp.sqrt((pushed * direction).sum(-1, keepdims=True) + NONE)
    fresh = (centre * direction).sum(-1, keepdims=True) + root
    power = -(stress * direction).sum(-1, keepdims=True)
    smaller = jnp.clip(power / jnp.maximum(fresh, 1e-3), 0.0, 1.0)
    moved = -stress - smaller * pushed / root
    mixed = 1 - known + known * smaller
    return centre + known * (moved - centre), (mixed**2)[:, :, None] * square


def remembered(past: Float[Array, " n"], motion: Float[Array, " n"], per_way) -> Float[Array, " n"]:
    """Direction of the past after a step with `motion` (a twist in m/s); per_way: time step over the length, s/m."""
    speed = jnp.sqrt((motion**2).sum() + NONE**2)
    now = motion / speed
    return now + (past - now) * jnp.exp(-speed * per_way)
