"""Wrenches on a body that is moved steadily through a medium."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium
from softground.robots.shapes import Shape

WAY, STEPS = 2e-3, 25
"""Way of a step (m) and number of steps after which what the ground remembers is taken to be steady."""


def steady_wrenches(
    medium: Medium, shape: Shape, planar: bool, depth: np.ndarray, rotation: np.ndarray, twist: np.ndarray
) -> np.ndarray:
    """Wrenches (r, 6) in the surface frame about the body's origin, N and N m.

    depth (r,): m, of the reference point. rotation (r, 3, 3): body frame in the surface frame. twist (r, 6): m/s,
    rad/s. The body stays where it is and moves on as it does, `STEPS` times, so that what the ground remembers is
    that of this motion; of springs it is how far they have been stretched.
    """
    bound = medium.for_foot(shape, planar)
    count = len(depth)
    surface = np.broadcast_to(np.eye(3), (count, 3, 3))
    feet = FootInGround(np.asarray(depth), np.zeros((count, 3)), np.asarray(rotation), surface)
    found = np.asarray(_steady(bound, feet, twist[:, COMPONENTS[bound.kind]]))
    wrench = np.zeros((count, 6))
    wrench[:, COMPONENTS[bound.kind]] = found
    return wrench


@eqx.filter_jit
def _steady(medium: FootMedium, feet: FootInGround, twists):
    def one(foot: FootInGround, twist):
        speed = jnp.sqrt((twist[:2] ** 2).sum() + 0.05**2 * (twist[2:] ** 2).sum()) + 1e-9
        dt = WAY / speed

        def again(memory, _):
            law = medium.law(foot, memory, dt)
            return medium.remember(foot, memory, law, twist, dt), None

        memory, _ = jax.lax.scan(again, medium.initial_memory(foot), None, length=STEPS)
        return medium.law(foot, memory, dt).wrench(twist)

    return jax.vmap(one)(feet, twists)
