"""Derivatives of inverse dynamics and of foot motion by closed forms, for trees of hinges and slides.

In the world frame about a fixed point, displacing dof j by a small angle (or length) moves everything beyond it by the
screw s_j. With x the cross product of motions, x* that of motion and force, and below_j what carries dof j,

    ds_i/dq_j = s_j x s_i                                                        i beyond j
    dv_i/dq_j = s_j x v_i + s'_j,                  s'_j  = v_below x s_j
    da_i/dq_j = s_j x a_i + s'_j x v_i + s''_j,    s''_j = a_below x s_j + v_below x s'_j

and for the wrench of body i, f = I a + v x* I v, whose inertia is displaced too,

    df_i/dq_j = s_j x* f_i + I_i s''_j + B_i s'_j,       B_i m = v_i x* I_i m - I_i (v_i x m) + m x* I_i v_i
    df_i/dv_j = B_i s_j + 2 I_i s'_j.

The force on dof k is s_k . F_k with F_k, and likewise I_k and B_k, summed over the bodies beyond k. For j carrying k
the terms with s_j x* cancel:

    dtau_k/dq_j = s_k . (I_k s''_j + B_k s'_j)                    j carries k or is it
    dtau_k/dq_j = s_k . (I_j s''_j + B_j s'_j + s_j x* F_j)       k carries j
    dtau_k/dv_j = s_k . (2 I_* s'_j + B_* s_j),                   * = k or j, whichever is beyond the other.

The same relations are known in the frames of the bodies (Carpentier and Mansard 2018; Singh, Russell and Wensing 2022).
Forward differentiation of the recursion gives the same numbers; this is an order of magnitude faster.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.robots.dynamics import Kinematics, body_accelerations, body_twists, body_wrenches, cast
from softground.robots.robot import Robot
from softground.robots.rotations import cross, skew
from softground.robots.tree import HINGE, SLIDE


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of tau(q, v, a) = M a + bias."""

    by_q: Float[Array, "nv nv"]
    by_v: Float[Array, "nv nv"]
    by_a: Float[Array, "nv nv"]
    """The mass matrix."""


def has_scalar_joints(robot: Robot) -> bool:
    """Whether all joints are hinges and slides, for which the closed forms hold."""
    return all(kind in (HINGE, SLIDE) for kind in robot.tree.joint_type)


def inverse_dynamics_derivatives(
    robot: Robot, kin: Kinematics, v: Float[Array, " nv"], a: Float[Array, " nv"]
) -> InverseDynamicsDerivatives:
    """Derivatives of `robot.inverse_dynamics(q, v, a)`; the robot must have scalar joints."""
    tree, dtype = robot.tree, kin.dtype
    carries = tree.dof_support.astype(dtype)  # [k, j]: j carries k or is it
    beyond = tree.body_support.T.astype(dtype)  # [k, i]: body i is beyond dof k
    screw = kin.screw
    fall = jnp.concatenate([jnp.zeros(3, dtype), jnp.asarray(robot.gravity, dtype)])
    rate, second = _screw_rates(carries - np.eye(tree.nv, dtype=dtype), screw, v, a, -fall)
    twist = body_twists(tree, kin, v)
    acceleration = body_accelerations(tree, kin, v, a) - fall
    wrench = beyond @ body_wrenches(robot.parameters, kin, twist, acceleration)
    inertia = _inertias(robot, kin)
    momentum = (inertia * twist[:, None, :]).sum(-1)
    turning = _force_cross(twist) @ inertia - inertia @ _motion_cross(twist) + _cross_with_force(momentum)
    inertia = (beyond @ inertia.reshape(-1, 36)).reshape(-1, 6, 6)
    turning = (beyond @ turning.reshape(-1, 36)).reshape(-1, 6, 6)
    left = (screw[:, :, None] * inertia).sum(1)  # s_k' I_k; I is symmetric
    left_turning = (screw[:, :, None] * turning).sum(1)
    by_q = _by_dofs(
        carries,
        left @ second.T + left_turning @ rate.T,
        screw,
        _apply(inertia, second) + _apply(turning, rate) + _apply(_cross_with_force(wrench), screw),
    )
    by_v = _by_dofs(
        carries,
        left_turning @ screw.T + 2 * left @ rate.T,
        screw,
        _apply(turning, screw) + 2 * _apply(inertia, rate),
    )
    mass = _by_dofs(carries, left @ screw.T, screw, left) + jnp.diag(jnp.asarray(robot.armature, dtype))
    return InverseDynamicsDerivatives(by_q, by_v, mass)


def wrench_pull_derivative(
    robot: Robot,
    kin: Kinematics,
    bodies: tuple[int, ...],
    points: Float[Array, "f 3"],
    jacobians: Float[Array, "f 6 nv"],
    wrenches: Float[Array, "f 6"],
) -> Float[Array, "nv nv"]:
    """d/dq of sum J' w, for wrenches (force, torque; world) that stay the same at points carried by bodies.

    With W the wrench about the common origin, s_k . W has the derivative (s_j x s_k) . W for j carrying k, and
    angular_k . (dr/dq_j x force) because the point of attack moves.
    """
    tree, dtype = robot.tree, kin.dtype
    force, torque = wrenches[:, :3], wrenches[:, 3:]
    moved = tree.body_support[list(bodies)].astype(dtype)  # [f, k]
    about_origin = jnp.concatenate([torque + cross(points - kin.origin, force), force], axis=1)
    beyond = moved.T @ about_origin  # sum over the feet beyond k
    turned = _apply(_cross_with_force(beyond), kin.screw)  # (s_j x s_k) . W = s_j . (s_k x* W)
    carried = (turned @ kin.screw.T) * tree.dof_support.astype(dtype)
    angular = kin.screw[:, :3]
    lever = cross(jnp.swapaxes(jacobians[:, :3], 1, 2), force[:, None])  # (f, j, 3): dr/dq_j x force
    return carried + jnp.einsum("ki,fk,fji->kj", angular, moved, lever)


def foot_twist_derivative(
    robot: Robot,
    kin: Kinematics,
    bodies: tuple[int, ...],
    points: Float[Array, "f 3"],
    jacobians: Float[Array, "f 6 nv"],
    v: Float[Array, " nv"],
) -> Float[Array, "f 6 nv"]:
    """d/dq of J v at points carried by bodies: rows (linear, angular), world frame."""
    tree, dtype = robot.tree, kin.dtype
    carries = tree.dof_support.astype(dtype)
    moved = tree.body_support[list(bodies)].astype(dtype)
    below = (carries - np.eye(tree.nv, dtype=dtype)) @ (kin.screw * v[:, None])
    twist = moved @ (kin.screw * v[:, None])
    change = _motion_product(kin.screw[None], twist[:, None] - below[None]) * moved[:, :, None]  # (f, j, 6)
    arm = (points - kin.origin)[:, None]
    velocity = jnp.swapaxes(jacobians[:, :3], 1, 2)  # of the point, by dof
    linear = change[..., 3:] + cross(change[..., :3], arm) + cross(twist[:, None, :3], velocity)
    return jnp.swapaxes(jnp.concatenate([linear, change[..., :3]], axis=-1), 1, 2)


def _screw_rates(below, screw, v, a, fall):
    """s' and s'' of every dof; `fall` is the acceleration of the world that stands for gravity."""
    carrier = below @ (screw * v[:, None])
    rate = _motion_product(carrier, screw)
    carrier_acceleration = below @ (screw * a[:, None] + rate * v[:, None]) + fall
    return rate, _motion_product(carrier_acceleration, screw) + _motion_product(carrier, rate)


def _inertias(robot: Robot, kin: Kinematics) -> Float[Array, "nb 6 6"]:
    """Inertia of each body about o, from (angular, linear) motion to (angular, linear) momentum."""
    mass = cast(robot.parameters, kin.dtype).mass[:, None, None]
    moment = mass * skew(kin.com)
    identity = mass * np.eye(3, dtype=kin.dtype)
    upper = jnp.concatenate([kin.inertia, moment], axis=2)
    return jnp.concatenate([upper, jnp.concatenate([-moment, identity], axis=2)], axis=1)


def _by_dofs(carries, lower, screw, right):
    """Entries [k, j]: `lower` where j carries k or is it, s_k . right_j where k carries j."""
    strictly_upper = (carries - np.eye(len(carries), dtype=carries.dtype)).T
    return lower * carries + (screw @ right.T) * strictly_upper


def _apply(matrices, vectors):
    return (matrices * vectors[:, None, :]).sum(-1)


def _motion_product(first, second):
    """Cross product of motions (angular, linear)."""
    w, u = first[..., :3], first[..., 3:]
    angular, linear = second[..., :3], second[..., 3:]
    return jnp.concatenate([cross(w, angular), cross(w, linear) + cross(u, angular)], axis=-1)


def _motion_cross(motion):
    """Matrices of m -> motion x m."""
    w, u = skew(motion[:, :3]), skew(motion[:, 3:])
    return jnp.concatenate([jnp.concatenate([w, jnp.zeros_like(w)], axis=2), jnp.concatenate([u, w], axis=2)], axis=1)


def _force_cross(motion):
    """Matrices of f -> motion x* f."""
    w, u = skew(motion[:, :3]), skew(motion[:, 3:])
    return jnp.concatenate([jnp.concatenate([w, u], axis=2), jnp.concatenate([jnp.zeros_like(w), w], axis=2)], axis=1)


def _cross_with_force(force):
    """Matrices of m -> m x* force, for forces (torque, force)."""
    n, f = skew(force[:, :3]), skew(force[:, 3:])
    return -jnp.concatenate([jnp.concatenate([n, f], axis=2), jnp.concatenate([f, jnp.zeros_like(f)], axis=2)], axis=1)
