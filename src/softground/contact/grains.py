"""Inertia of the grains that move with a foot (zhu2019, eq. 2).

The paper chooses the contact impulse c that leaves least kinetic energy in robot *and* grains, v'Mv + u'M_g u with
u the twist of the sole, while the impulse itself drives the robot alone: v = M^-1 (b + J'c). Stationarity gives
-J w normal to W at c, with w = M^-1 (M + J_p'M_g J_p) v. Written in w this is again our convex step, with the
same b and the metric

    A = M (M + J_p' M_g J_p)^-1 M.

Its wrench is the paper's. The velocity then follows from the momentum balance with the real M.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Float

from softground.arrays import Array


def metric_with_grains(
    mass: Float[Array, "nv nv"], sole_jacobian: Float[Array, "f n nv"], grains: Float[Array, "f n n"]
) -> Float[Array, "nv nv"]:
    """Metric A of the step in which the grains under each foot carry kinetic energy too."""
    moving = jnp.einsum("fci,fcd,fdj->ij", sole_jacobian, grains, sole_jacobian)
    metric = mass @ cho_solve(cho_factor(mass + moving), mass)
    return (metric + metric.T) / 2
