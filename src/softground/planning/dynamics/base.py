"""How one knot leads to the next: the base of both forms, and the derivatives that they share.

Derivatives of a step's balance of forces in closed form: twenty times faster than differentiating it forwards.

The robot's part comes from `robots.dynamics_derivatives`. The ground's part depends on each foot by its pose alone,
three numbers in the plane: the foot is differentiated by them, and its Jacobian carries that to all joints.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.feet import contact_jacobian, displaced, feet_in_ground, pose_directions
from softground.errors import MediumError
from softground.media.base import COMPONENTS
from softground.media.visco_elastic.medium import ViscoElasticFoot
from softground.media.wrench_space import WrenchSpace
from softground.planning.blocks import Block
from softground.planning.dynamics.springs import PlannedSprings, planned_springs
from softground.planning.layout import Layout
from softground.planning.programs import kept_call
from softground.robots import Robot
from softground.robots.dynamics_derivatives import (
    foot_twist_derivative,
    inverse_dynamics_derivatives,
    wrench_pull_derivative,
)
from softground.simulation.ground import Ground
from softground.simulation.groups import medium_under_feet
from softground.surfaces import Surface

# Units of the rows and lifted unknowns of a step: all of the order of one, a violation of 1e-3 small.
FORCE_UNIT = 100.0
"""N and N m: what the row value 1.0 of a force means."""
LINEAR_WRENCH, ANGULAR_WRENCH = 100.0, 10.0
"""N, N m: the lifted unknown is s = u LINEAR_WRENCH / eps (or ANGULAR_WRENCH), without unit and of the order of one."""
TWIST_ROWS = 10.0
"""Weight of the row u = eps s, which is in m/s and in tenths of rad/s."""

Wrenches = Callable[[Any, Float[Array, "f n"]], Float[Array, "f n"]]
"""Wrenches on the feet (surface frame, N and N m) from their laws (leading axis: feet) and their twists."""


class Dynamics(eqx.Module):
    """Rows that hold when the robot moves from knot to knot in one step of `dt` (s).

    A foot's twist is that at the end of the step. Robot and ground are evaluated at one pose, the collocation point,
    which the step reaches after the share `collocation` of its way. With 0, its start, both forms have the same
    solutions as `Simulator.step` with the same smoothing. But q+ = q (+) dt v+ makes the velocity at the end that of
    the step as a whole, and the pose that goes with it is half-way. In steps of 50 ms this matters: evaluated at the
    start, a foot that lands is not felt until the next step, and the optimiser finds out that it can be put deep into
    the ground for nothing.
    """

    robot: Robot
    surface: Surface
    feet_medium: WrenchSpace | PlannedSprings  # one per foot (leading axis)
    dt: float = eqx.field(static=True)
    collocation: float = eqx.field(static=True)

    def __init__(self, robot: Robot, ground: Ground, dt: float, collocation: float = 0.0):
        self.robot, self.surface, self.dt, self.collocation = robot, ground.surface, float(dt), float(collocation)
        self.feet_medium = medium_for_planning(robot, ground)

    @abc.abstractmethod
    def block(self, layout: Layout) -> Block:
        """The rows of all steps."""

    def smoothing(self, eps):
        """The temperature (W) that smooths as much as eps does in this form."""
        return eps

    @property
    def lifted(self) -> int:
        """Number of further unknowns of a step: the feet's scaled twists."""
        return len(self.robot.feet) * self.twist_size

    def lift(self, q: np.ndarray, v: np.ndarray, eps: float) -> np.ndarray:
        """The further unknowns (N - 1, nl) that go with a trajectory."""
        twists = kept_call(_all_foot_twists, self, q[:-1], v[1:])
        return np.asarray(twists * self.wrench_unit / self.smoothing(eps)).reshape(len(q) - 1, -1)

    @property
    def wrench_unit(self) -> np.ndarray:
        """(n,) unit of each component of a wrench."""
        return np.where(COMPONENTS[self.feet_medium.kind] < 3, LINEAR_WRENCH, ANGULAR_WRENCH)

    @property
    def twist_size(self) -> int:
        """Components of a foot's twist."""
        return len(COMPONENTS[self.feet_medium.kind])

    @property
    def until_collocation(self) -> float:
        """Time from the start of a step to the pose at which it is balanced, s."""
        return self.collocation * self.dt

    def met_pose(self, q: Float[Array, " nq"], v_next: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """The pose at which a step is balanced that starts at q and ends with the velocity v_next."""
        return self.robot.integrate(q, v_next, self.until_collocation)

    def foot_twists(self, q: Float[Array, " nq"], velocity: Float[Array, " nv"]) -> Float[Array, "f n"]:
        """Twists of the feet at q when the robot moves with a velocity, surface frame, m/s and rad/s."""
        kin = self.robot.kinematics(q)
        feet = feet_in_ground(self.robot, kin, self.surface)
        return contact_jacobian(feet, self.robot.foot_jacobians(kin), self.feet_medium) @ velocity

    def balance(self, q, v, v_next, wrenches: Wrenches) -> tuple[Float[Array, " nv"], Float[Array, "f n"]]:
        """Force (N, N m) that actuators must give in a step from v to v_next, evaluated at q; twists of the feet."""
        robot = self.robot
        kin = robot.kinematics(q)
        feet = feet_in_ground(robot, kin, self.surface)
        jacobian = contact_jacobian(feet, robot.foot_jacobians(kin), self.feet_medium)
        twists = jacobian @ v_next
        laws = jax.vmap(lambda medium, foot: medium.law(foot, (), self.dt))(self.feet_medium, feet)
        force = robot.inverse_dynamics(kin, v, (v_next - v) / self.dt) - robot.passive_force(kin, v_next)
        return jnp.asarray(force) - jnp.einsum("fnv,fn->v", jacobian, wrenches(laws, twists)), twists


def _all_foot_twists(dynamics: Dynamics, q, v):
    return jax.vmap(lambda q, v: dynamics.foot_twists(dynamics.met_pose(q, v), v))(q, v)


def medium_for_planning(robot: Robot, ground: Ground, eps: float = 1.0) -> WrenchSpace | PlannedSprings:
    """The medium under each foot (leading axis) at a temperature eps (W); MediumError where planning has no derivatives
    of it."""
    medium = medium_under_feet(ground.sharpened(eps).medium, robot)
    if isinstance(medium, ViscoElasticFoot):
        return planned_springs(medium, eps)
    if not isinstance(medium, WrenchSpace):
        raise MediumError(
            f"cannot plan on {type(ground.medium).__name__}: its force depends on what the ground remembers and has "
            "no derivative where a foot starts to slide; plan on granular ground (sand, pebbles, beads, or a "
            "learned medium), a WrenchSpace, or on foam"
        )
    return medium


def steps_of(layout: Layout) -> np.ndarray:
    """Columns (N - 1, ...) of every step: q, v, lifted, torque of a knot, then q, v of the next."""
    step = np.arange(layout.knots - 1)
    here = [layout.q_at(step), layout.v_at(step), layout.lifted_at(step), layout.torque_at(step)]
    return np.concatenate([*here, layout.q_at(step + 1), layout.v_at(step + 1)], axis=1)


def split_step(layout: Layout, local: Float[Array, " w"]) -> tuple[Array, ...]:
    """q, v, lifted, torque (in units), next q, next v."""
    sizes = np.cumsum([layout.nq, layout.nv, layout.lifted, layout.nu, layout.nq])
    return tuple(jnp.split(local, sizes))


Response = Callable[[Any, Float[Array, " n"]], Float[Array, " n"]]
"""Wrench on a foot from its law and what it responds to: a twist s, scaled or not."""


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
