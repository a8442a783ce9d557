"""Inertia of grains: drag that grows with the square of speed, and the mass of the grains that move with a body.

*Drag* (dynamic resistive force theory, Agarwal, Karsai, Goldman, Kamrin 2021). An element that leads meets the pressure
`inertia` * density * (n.v)^2 more, from the convex potential area * inertia * density * <n.v>^3 / 3; `inertia` is about
1.

*Added mass* (Aguilar and Goldman 2016; Choi et al. 2023). Under a foot that comes down a cone of grains forms and moves
with it. Per area its mass is `added_mass` * density * (1 - (1 - z/z_c)^3) z_c / 3 down to the depth z_c at which the
cone is complete, then constant; of a round sole of radius r at 60 degrees and a recruitment of 2, z_c = r tan(60) / 2.
Elements that look down carry their share of it, by the cosine.

The cone is pushed by the element and can part from it; the ground resists the cone with the force f of resistive force
theory. Let m be its mass and w its speed along n before the step, its momentum being kept while it grows. Alone it
would go on with w* = max(0, w - f dt / m). An element that arrives at v > w* pushes it to v, and momentum of the cone
asks for

    force = f' + m (v - w*) / dt,      f' = f - m (w - w*) / dt >= 0,

and none otherwise. Both terms are slopes of convex functions of v, known before the step: resistive force theory with
the load lowered to f'/f of what it is and the velocity taken relative to the cone, and m <v - w*>^2 / 2 dt. A cone that
grows while it moves makes a drag of dm/dt v by itself.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array

CONE = 3**0.5 / 2
"""Depth over radius at which the cone under a round sole is complete: tan(60 degrees) over the recruitment, 2."""
TINY = 1e-12


def cone_mass(
    density: Float[Array, ""], area: Float[Array, " e"], up: Float[Array, " e"], depth: Float[Array, " e"], radius
) -> Float[Array, " e"]:
    """Mass of the grains under elements with this vertical component of their normals, kg."""
    whole = CONE * radius
    missing = 1 - jnp.clip(depth / whole, 0.0, 1.0)
    return density * area * jnp.maximum(-up, 0.0) * whole * (1 - missing**3) / 3


def cone_alone(
    mass: Float[Array, " e"], momentum: Float[Array, " e"], force: Float[Array, " e"], dt
) -> tuple[Float[Array, " e"], Float[Array, " e"]]:
    """Speed w* of the cones if nothing pushed them (m/s), and the share of the force that is left, f'/f."""
    left = jnp.maximum(momentum - force * dt, 0.0)
    used = jnp.minimum(momentum / (force * dt + TINY), 1.0)
    return left / (mass + TINY), 1 - used
