"""Where the feet are in the ground, and how they move in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import COMPONENTS, FootInGround, FootMedium
from softground.robots import Robot
from softground.robots.bodies import Body
from softground.robots.feet import Foot
from softground.robots.rotations import matmul3, skew
from softground.surfaces import Surface


class Legged(Protocol):
    """What the ground asks of a robot: where its feet and bodies are, and how they move."""

    @property
    def feet(self) -> tuple[Foot, ...]: ...

    @property
    def bodies(self) -> tuple[Body, ...]: ...

    @property
    def planar(self) -> bool: ...

    def foot_poses(self, q: Any, /) -> tuple[Array, Array]: ...

    def foot_jacobians(self, q: Any, /) -> Array: ...

    def touching_poses(self, q: Any, /) -> tuple[Array, Array]: ...

    def touching_jacobians(self, q: Any, /) -> Array: ...

    def touching_twists(self, q: Any, v: Any, /) -> Array: ...


def feet_in_ground(robot: Legged, kinematics, surface: Surface, chosen: Sequence[int] | None = None) -> FootInGround:
    """Depth and orientation of feet relative to the surface nearest to them (leading axis): all, or those chosen."""
    positions, rotations = robot.foot_poses(kinematics)
    clearance = np.array([foot.clearance for foot in robot.feet])
    if chosen is not None:
        which = np.array(chosen)
        positions, rotations, clearance = positions[which], rotations[which], clearance[which]

    def place(position, rotation, clearance):
        frame = surface.frame(position)
        depth = clearance - surface.signed_distance(position)
        return FootInGround(depth, position, matmul3(frame.T, rotation), frame)

    return jax.vmap(place)(positions, rotations, clearance.astype(positions.dtype))


def bodies_in_ground(robot: Legged, kinematics, surface: Surface, chosen: Sequence[int]) -> FootInGround:
    """Depth of the origins and orientation of bodies of the robot relative to the surface nearest to them."""
    positions, rotations = robot.touching_poses(kinematics)
    if len(chosen) < len(robot.bodies):
        positions, rotations = positions[np.array(chosen)], rotations[np.array(chosen)]

    def place(position, rotation):
        frame = surface.frame(position)
        return FootInGround(-surface.signed_distance(position), position, matmul3(frame.T, rotation), frame)

    return jax.vmap(place)(positions, rotations)


@eqx.filter_jit
def feet_along(robot: Robot, surface: Surface, q: Float[Array, "N nq"]) -> FootInGround:
    """Feet in the ground at configurations: leading axes knot, foot. Compiled once for surfaces of one kind."""
    return jax.vmap(lambda q: feet_in_ground(robot, q, surface))(q)


def contact_jacobian(
    feet: FootInGround, jacobians: Float[Array, "f 6 nv"], medium: FootMedium, at_sole: bool = False
) -> Float[Array, "f n nv"]:
    """Jacobian of the feet's twists in the surface frame, at the medium's reference points.

    Turning the twist into the surface frame is the same as turning the wrench set out of it, which is how
    zhu2021 (III.B.2) carries a wrench space measured on flat ground over to any terrain. With `at_sole` the twists
    are those of the feet's origins.
    """

    def one(foot: FootInGround, jacobian, medium: FootMedium):
        turn = foot.surface.T
        linear, angular = matmul3(turn, jacobian[:3]), matmul3(turn, jacobian[3:])
        reference = None if at_sole else medium.reference(foot)
        if reference is not None:
            linear = linear + jnp.cross(angular, reference[:, None], axis=0)
        return jnp.concatenate([linear, angular])[COMPONENTS[medium.kind]]

    return jax.vmap(one)(feet, jacobians, medium)


def wrench_in_world(feet: FootInGround, wrenches: Float[Array, "f n"], medium: FootMedium) -> Float[Array, "f 6"]:
    """Wrenches (force, torque) in the world frame, about each foot's origin."""

    def one(foot: FootInGround, wrench, medium: FootMedium):
        full = jnp.zeros(6, wrench.dtype).at[COMPONENTS[medium.kind]].set(wrench)
        force, torque = full[:3], full[3:]
        reference = medium.reference(foot)
        if reference is not None:
            torque = torque + jnp.cross(reference, force)
        return jnp.concatenate([foot.surface @ force, foot.surface @ torque])

    return jax.vmap(one)(feet, wrenches, medium)


def pose_directions(robot: Robot) -> np.ndarray:
    """Components of a foot's motion (linear, angular; world) that change its pose: three in the plane, six in space."""
    return np.array([0, 2, 4]) if robot.planar else np.arange(6)


def displaced(
    surface: Surface,
    clearance: Float[Array, ""],
    place: Float[Array, "3"],
    turn: Float[Array, "3 3"],
    motion: Float[Array, "6"],
) -> FootInGround:
    """The foot at a pose (place, turn; world), displaced by a small motion, right to second order.

    Derivatives by the pose of a foot are few; those by all joints follow by a product with its Jacobian.
    """
    place = place + motion[:3]
    spin = skew(motion[3:])
    turn = turn + spin @ turn + spin @ (spin @ turn) / 2
    frame = surface.frame(place)
    return FootInGround(clearance - surface.signed_distance(place), place, frame.T @ turn, frame)
