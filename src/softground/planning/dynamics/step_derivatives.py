"""Derivatives of a step's balance of forces in closed form: twenty times faster than differentiating it forwards.

The robot's part comes from `robots.dynamics_derivatives`. The ground's part depends on each foot by its pose alone,
three numbers in the plane: the foot is differentiated by them, and its Jacobian carries that to all joints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.feet import contact_jacobian, displaced, pose_directions
from softground.robots.dynamics_derivatives import (
    foot_twist_derivative,
    inverse_dynamics_derivatives,
    wrench_pull_derivative,
)

if TYPE_CHECKING:
    from softground.planning.dynamics.base import Dynamics

Response = Callable[[Any, Float[Array, " n"]], Float[Array, " n"]]
"""Wrench on a foot from its law (that of a wrench space) and what it responds to: a twist s, scaled or not."""


class BalanceDerivatives(NamedTuple):
    """Derivatives of force = inverse dynamics - passive forces - sum J' wrench(q, s), and of the foot twists J(q) v+.

    In N and N m, m/s and rad/s. Torques of actuators enter force linearly and are left out.
    """

    force_q: Float[Array, "nv nv"]  # at constant s
    force_v: Float[Array, "nv nv"]
    force_s: Float[Array, "nv f n"]
    force_next: Float[Array, "nv nv"]  # at constant s
    twist_q: Float[Array, "f n nv"]
    twist_next: Float[Array, "f n nv"]


def balance_derivatives(dynamics: Dynamics, q, v, v_next, s: Float[Array, "f n"], respond: Response):
    """Derivatives at a step from (q, v) to the velocity v_next, each foot's wrench being respond(its law, s)."""
    robot, dt = dynamics.robot, dynamics.dt
    bodies = tuple(foot.body for foot in robot.feet)
    kin = robot.kinematics(q)
    place, turn = robot.foot_poses(kin)
    jacobians = robot.foot_jacobians(kin)
    moving = inverse_dynamics_derivatives(robot, kin, v, (v_next - v) / dt)
    contact = _foot_derivatives(dynamics, place, turn, jacobians @ v_next, s, respond)
    posed = jnp.einsum("fip,fpj->fij", contact.wrench_pose, jacobians[:, pose_directions(robot)])
    pulled = wrench_pull_derivative(robot, kin, bodies, place, jacobians, contact.wrench)
    pulled = pulled + jnp.einsum("fiv,fij->vj", jacobians, posed)
    turned = foot_twist_derivative(robot, kin, bodies, place, jacobians, v_next)
    twist_q = jnp.einsum("fnp,fpj->fnj", contact.twist_pose, jacobians[:, pose_directions(robot)])
    return BalanceDerivatives(
        force_q=moving.by_q + np.diag(robot.stiffness) - pulled,
        force_v=moving.by_v - moving.by_a / dt,
        force_s=-jnp.einsum("fiv,fin->vfn", jacobians, contact.wrench_s),
        force_next=moving.by_a / dt + np.diag(robot.damping),
        twist_q=twist_q + jnp.einsum("fni,fij->fnj", contact.twist_motion, turned),
        twist_next=jnp.einsum("fni,fij->fnj", contact.twist_motion, jacobians),
    )


class FootDerivatives(NamedTuple):
    """Each foot's wrench (force, torque; world, at its origin) and contact twist, by its pose and what it meets."""

    wrench: Float[Array, "f 6"]
    wrench_pose: Float[Array, "f 6 p"]
    wrench_s: Float[Array, "f 6 n"]
    twist_pose: Float[Array, "f n p"]
    twist_motion: Float[Array, "f n 6"]


def _foot_derivatives(dynamics: Dynamics, place, turn, motion, s, respond: Response) -> FootDerivatives:
    """Poses (place, turn) and twists `motion` (linear, angular; world) of all feet."""
    directions = np.eye(6)[pose_directions(dynamics.robot)]
    clearance = np.array([foot.clearance for foot in dynamics.robot.feet])

    def one(medium, clearance, place, turn, motion, s):
        def meet(shift, s, motion):
            foot = displaced(dynamics.surface, clearance, place, turn, shift @ directions)
            across = contact_jacobian(_one(foot), jnp.eye(6)[None], _one(medium))[0]  # twist in the medium's terms
            return across.T @ respond(medium.law(foot, (), dynamics.dt), s), across @ motion

        still = jnp.zeros(len(directions))
        wrench, _ = meet(still, s, motion)
        wrench_pose, twist_pose = jax.jacfwd(meet, 0)(still, s, motion)
        wrench_s, _ = jax.jacfwd(meet, 1)(still, s, motion)
        _, twist_motion = jax.jacfwd(meet, 2)(still, s, motion)
        return FootDerivatives(wrench, wrench_pose, wrench_s, twist_pose, twist_motion)

    return jax.vmap(one)(dynamics.feet_medium, clearance, place, turn, motion, s)


def _one(tree):
    """A pytree with a leading axis of one."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], tree)
