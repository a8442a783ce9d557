"""The configuration space: moving along it and measuring differences on it.

Slides and hinges add; the orientation of a free or ball joint turns by the exponential map of its angular
velocity, which MuJoCo measures in the body frame: quaternion <- quaternion * exp(omega dt).
"""

from collections.abc import Iterator

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.robots.rotations import (
    normalize,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
)
from softground.robots.tree import BALL, FREE, Tree


def integrate(tree: Tree, q: Float[Array, " nq"], v: Float[Array, " nv"], dt) -> Float[Array, " nq"]:
    """Configuration reached from q at constant velocity v after time dt (s)."""
    pieces = []
    for curved, in_q, in_v in _pieces(tree):
        if curved:
            turn = quaternion_exp(v[in_v] * dt)
            pieces.append(normalize(quaternion_product(q[in_q], turn)))  # no drift over many steps
        else:
            pieces.append(q[in_q] + v[in_v] * dt)
    return jnp.concatenate(pieces)


def difference(tree: Tree, q0: Float[Array, " nq"], q1: Float[Array, " nq"]) -> Float[Array, " nv"]:
    """Velocity that takes q0 to q1 in unit time, by the shorter way round."""
    pieces = []
    for curved, in_q, _ in _pieces(tree):
        if curved:
            turn = quaternion_product(quaternion_conjugate(normalize(q0[in_q])), normalize(q1[in_q]))
            pieces.append(quaternion_log(turn))
        else:
            pieces.append(q1[in_q] - q0[in_q])
    return jnp.concatenate(pieces)


def _pieces(tree: Tree) -> Iterator[tuple[bool, slice, slice]]:
    """Runs of q and v that add (False) and quaternions with their angular velocities (True), in order."""
    start_q = start_v = 0
    end_q = end_v = 0
    for kind in tree.joint_type:
        if kind not in (FREE, BALL):
            end_q, end_v = end_q + 1, end_v + 1
            continue
        if kind == FREE:
            end_q, end_v = end_q + 3, end_v + 3
        if end_q > start_q:
            yield False, slice(start_q, end_q), slice(start_v, end_v)
        yield True, slice(end_q, end_q + 4), slice(end_v, end_v + 3)
        start_q, start_v = end_q + 4, end_v + 3
        end_q, end_v = start_q, start_v
    if end_q > start_q:
        yield False, slice(start_q, end_q), slice(start_v, end_v)
