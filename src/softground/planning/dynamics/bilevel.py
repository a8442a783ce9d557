"""The bilevel form of zhu2021: the ground's wrench is the solution of a problem inside the dynamics (eqs 5 and 6).

The wrench of a foot is f = sum_k w_k p_k, p_0 = 0, with weights that minimise what kinetic energy is left, kept off
their bounds by a barrier:

    min over w > 0, sum_k w_k = 1 of   1/2 |v+|_M^2 - mu dt sum_k log w_k,      M v+ = M v + dt (B torque - h + J' f).

(The barrier of w_0 = 1 - sum of the others is printed without dt, which would give mu two units; here all have it, and
mu is a power, W.) Setting the derivative by w_k to zero, with u = J v+ the foot's next twist and nu the multiplier of
sum w = 1, gives

    w_k = mu / (p_k . u + nu),      sum_k w_k = 1.

So the weights follow from the twist alone: the wrench is minus the gradient of the convex potential

    Phi(u) = max over w of  sum_k ( -w_k p_k . u + mu log w_k ),

and eq 6 is the same convex step in the velocity that the simulator solves (`contact.problem`), with this potential in
place of the entropy-smoothed one: 15 unknowns instead of 108 for RoboSimian. It is solved by Newton to convergence
and differentiated by the implicit function theorem (`contact.solve`). Both smoothings tend to the same wrench as
mu, eps -> 0; a barrier mu on K weights smooths about as much as a temperature K mu.

Nothing need be lifted here. Yet feet's twists are unknowns all the same, as in the closed form: s = u / (K mu). They
follow from the rest by rows of their own and enter nothing else, so that feet that carry the robot can be damped more
than those in the air (`planning.damping`). All damping must be greater than in the closed form: the velocity that a
step reaches bends more than forces do.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.feet import contact_jacobian, feet_in_ground
from softground.contact.guess import steady
from softground.contact.newton import Newton
from softground.contact.problem import Contacts, StepProblem
from softground.contact.solve import solve
from softground.errors import MediumError
from softground.media.base import Derivatives, Law
from softground.media.round_space import RoundWrenchSpace
from softground.media.wrench_space import WrenchSpace
from softground.planning.blocks import Block
from softground.planning.dynamics.base import (
    FORCE_UNIT,
    LINEAR_WRENCH,
    TWIST_ROWS,
    Dynamics,
    balance_derivatives,
    split_step,
    steps_of,
)
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.robots import Robot
from softground.robots.dynamics_derivatives import has_scalar_joints
from softground.simulation.ground import Ground

NORMALISER_STEPS, NORMALISER_ERROR = 40, 1e-14


class BarrierSupport(Law):
    """Phi(u) = max over weights of sum_k (-w_k p_k . u + mu log w_k): the support function, smoothed by a barrier."""

    vertices: Float[Array, "*f k n"]  # N, N m; the origin is one of them
    mu: float | Float[Array, "*f"]  # W

    def weights(self, twist: Float[Array, " n"]) -> Float[Array, " k"]:
        """w_k = mu / (p_k . u + nu), with the nu that makes their sum one."""
        score = (self.vertices * twist).sum(-1) / self.mu
        return 1 / (score + normaliser(score))

    def potential(self, twist):
        weight = self.weights(twist)
        return (-weight * (self.vertices * twist).sum(-1) + self.mu * jnp.log(weight)).sum()

    def wrench(self, twist):
        return (self.weights(twist)[:, None] * self.vertices).sum(0)

    def response(self, twist):
        square = self.weights(twist) ** 2
        weighted = square[:, None] * self.vertices
        mean = weighted.sum(0)
        second = (weighted[:, :, None] * self.vertices[:, None, :]).sum(0)
        return self.wrench(twist), (second - mean[:, None] * mean / square.sum()) / self.mu

    def along(self, twist, direction) -> BarrierAlongLine:
        score, rate = ((self.vertices * motion).sum(-1) / self.mu for motion in (twist, direction))
        return BarrierAlongLine(score, rate, self.mu)


class BarrierAlongLine(eqx.Module):
    """The potential on a line of twists, on which the scores p_k . u / mu are linear."""

    score: Float[Array, " k"]
    rate: Float[Array, " k"]
    mu: float | Float[Array, ""]

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        score = self.score + t * self.rate
        weight = 1 / (score + normaliser(score))
        square = weight**2
        mean = (square * self.rate).sum() / square.sum()
        value = (jnp.log(weight) - weight * score).sum()
        slope, curvature = -(weight * self.rate).sum(), (square * (self.rate - mean) ** 2).sum()
        return self.mu * value, self.mu * slope, self.mu * curvature


@jax.custom_jvp
def normaliser(score: Float[Array, " k"]) -> Float[Array, ""]:
    """nu with sum_k 1 / (score_k + nu) = 1, above -min(score).

    One over the sum S rises from at most 1 at nu = 1 - min(score) and is concave (a harmonic mean): Newton on 1/S = 1
    rises to the root from there, and is quicker than on S = 1, because 1/S is nearly straight.
    """

    def improve(search):
        nu, _, count = search
        weight = 1 / (score + nu)
        total = weight.sum()
        return nu + total * (total - 1) / (weight**2).sum(), total - 1, count + 1

    def unfinished(search):
        _, excess, count = search
        return (excess > NORMALISER_ERROR) & (count < NORMALISER_STEPS)

    return jax.lax.while_loop(unfinished, improve, (1 - score.min(), jnp.ones_like(score[0]), 0))[0]


@normaliser.defjvp
def _normaliser_jvp(primals, tangents):
    (score,), (change,) = primals, tangents
    nu = normaliser(score)
    square = 1 / (score + nu) ** 2
    return nu, -(square * change).sum() / square.sum()


class Bilevel(Dynamics):
    """The step as a function of state and torque, with the contact problem solved inside; steps of dt (s)."""

    def __init__(self, robot: Robot, ground: Ground, dt: float, collocation: float = 0.0):
        super().__init__(robot, ground, dt, collocation)
        if not isinstance(self.feet_medium, WrenchSpace):
            raise MediumError(
                "the bilevel form weighs the vertices of a wrench space, and springs have none: plan on foam with the "
                "closed form (--dynamics closed-form)"
            )
        if isinstance(self.feet_medium, RoundWrenchSpace):
            raise MediumError(
                "the bilevel form weighs the vertices of a wrench space, and those of round feet in space have none: "
                "plan with the closed form (--dynamics closed-form)"
            )

    def block(self, layout: Layout) -> Block:
        return BilevelSteps(self, layout)

    def smoothing(self, eps):
        medium = self.feet_medium
        assert isinstance(medium, WrenchSpace)  # or it would have been refused
        return (medium.coefficients.shape[-2] + 1) * eps  # vertices, with the origin

    def next_velocity(self, q, v, torque: Float[Array, " nu"], mu, near=None) -> Float[Array, " nv"]:
        """Velocity at the end of a step under torques (N m), evaluated at q. `near`: a guess of it, for speed alone."""
        robot, dt = self.robot, jnp.asarray(self.dt)
        kin = robot.kinematics(q)
        feet = feet_in_ground(robot, kin, self.surface)
        inertia = robot.mass_matrix(kin)
        drive = jnp.asarray(robot.passive_force(kin, jnp.zeros_like(v)) - robot.bias_force(kin, v))
        drive = drive.at[np.array(robot.actuated)].add(torque)
        vertices = jax.vmap(lambda medium, foot: medium.vertices(foot))(self.feet_medium, feet)
        jacobian = contact_jacobian(feet, robot.foot_jacobians(kin), self.feet_medium)
        problem = StepProblem(
            metric=inertia + dt * jnp.diag(robot.damping),
            momentum=inertia @ v + dt * drive,
            contacts=(Contacts(jacobian, BarrierSupport(vertices, jnp.full(len(vertices), mu))),),
            joints=None,
            dt=dt,
        )
        near = jax.lax.stop_gradient(v if near is None else near)
        return solve(problem, steady(near, (jax.lax.stop_gradient(jacobian) @ near,)), Newton()).velocity

    def slopes(self, q, v, reached, mu) -> Slopes:
        """Derivatives at a step that is evaluated at q and reaches a velocity: wrenches follow from the feet's
        twists."""
        respond = lambda law, twist: BarrierSupport(law.vertices, mu).wrench(twist)  # noqa: E731
        by = balance_derivatives(self, q, v, reached, self.foot_twists(q, reached), respond)
        by_q = by.force_q + jnp.einsum("vfn,fnj->vj", by.force_s, by.twist_q)
        by_next = by.force_next + jnp.einsum("vfn,fnj->vj", by.force_s, by.twist_next)
        flat = lambda rows: rows.reshape(-1, self.robot.nv)  # noqa: E731
        return Slopes(by_q, by.force_v, by_next, flat(by.twist_q), flat(by.twist_next))


class Slopes(NamedTuple):
    """Derivatives of the balance of forces F(q, v, v+), and of the feet's twists (their components in one row)."""

    force_q: Float[Array, "nv nv"]
    force_v: Float[Array, "nv nv"]
    force_next: Float[Array, "nv nv"]  # symmetric positive definite
    twist_q: Float[Array, "nl nv"]
    twist_next: Float[Array, "nl nv"]

    def solved(self, actuators: np.ndarray) -> Reach:
        """What they say about the velocity reached: F(q, v, v+) = B torque, by the implicit function theorem."""
        inverse = jnp.linalg.inv(self.force_next)
        by_q, by_v, by_torque = -inverse @ self.force_q, -inverse @ self.force_v, inverse[:, actuators]
        return Reach(
            by_q,
            by_v,
            by_torque,
            self.twist_q + self.twist_next @ by_q,
            self.twist_next @ by_v,
            self.twist_next @ by_torque,
            self.twist_next,
            inverse,
        )


class Reach(NamedTuple):
    """Derivatives of the velocity that a step reaches, and of the feet's twists then."""

    velocity_q: Float[Array, "nv nv"]
    velocity_v: Float[Array, "nv nv"]
    velocity_torque: Float[Array, "nv nu"]
    twist_q: Float[Array, "nl nv"]
    twist_v: Float[Array, "nl nv"]
    twist_torque: Float[Array, "nl nu"]
    twist_velocity: Float[Array, "nl nv"]  # at a constant pose
    velocity_force: Float[Array, "nv nv"]  # by a force on any dof; symmetric


class BilevelSteps(Block):
    """Rows of a step: motion (nq), velocity missed (nv) as the force that would make up for it, foot twists (nl).

    Of a light ankle a radian a second is nothing, of the body it is a fall: times a mass matrix (that of the posture)
    and over dt, velocities missed are forces, in the units in which the closed form has its own.
    """

    dynamics: Bilevel
    layout: Layout = eqx.field(static=True)
    force_per_velocity: Float[np.ndarray, "nv nv"]

    def __init__(self, dynamics: Bilevel, layout: Layout):
        self.label, self.columns, self.linear = "step", steps_of(layout), False
        self.dynamics, self.layout = dynamics, layout
        mass = jax.jit(lambda q: dynamics.robot.mass_matrix(q))(np.asarray(dynamics.robot.posture))
        self.force_per_velocity = np.asarray(mass) / (dynamics.dt * FORCE_UNIT)

    def rows(self, local, data, eps):
        return self._rows(local, self._reached(local, eps), eps)

    def _rows(self, local, reached, eps):
        dynamics = self.dynamics
        q, _, lifted, _, q_next, v_next = split_step(self.layout, local)
        motion = (q_next - dynamics.robot.integrate(q, v_next, dynamics.dt)) / dynamics.dt
        twists = dynamics.foot_twists(self._met(local), reached).reshape(-1)
        twist = self._twist_unit * twists - self._lifted_unit(eps) * lifted
        return jnp.concatenate([motion, self.force_per_velocity @ (v_next - reached), twist])

    @property
    def _twist_unit(self) -> Float[np.ndarray, " nl"]:
        """Unit of the rows of twists, per m/s or rad/s."""
        return np.tile(TWIST_ROWS * self.dynamics.wrench_unit / LINEAR_WRENCH, len(self.dynamics.robot.feet))

    def _lifted_unit(self, eps):
        return TWIST_ROWS * self.dynamics.smoothing(eps) / LINEAR_WRENCH

    def _reached(self, local, eps) -> Float[Array, " nv"]:
        """The velocity that the step reaches; the optimiser's own is near it."""
        _, v, _, torque, _, v_next = split_step(self.layout, local)
        return self.dynamics.next_velocity(self._met(local), v, TORQUE_UNIT * torque, eps, v_next)

    def _met(self, local) -> Float[Array, " nq"]:
        """The pose at which the step is met: by the velocity of the optimiser, so that the inner problem is convex."""
        q, _, _, _, _, v_next = split_step(self.layout, local)
        return self.dynamics.met_pose(q, v_next)

    # Steps are solved one after the other: solved together, they would all take as long as the slowest.

    def all_rows(self, z, eps):
        local = self.gather(z)
        return jax.vmap(self._rows, (0, 0, None))(local, self._all_reached(local, eps), eps)

    def all_jacobians(self, z, eps):
        if not has_scalar_joints(self.dynamics.robot):
            return super().all_jacobians(z, eps)
        local = self.gather(z)
        by = self._all_reaches(local, self._all_reached(local, eps), eps)
        return jax.vmap(self._jacobian, (0, None))(by, eps)

    def all_curvatures_along(self, z, eps, multipliers, direction):
        if not has_scalar_joints(self.dynamics.robot):
            return super().all_curvatures_along(z, eps, multipliers, direction)
        local = self.gather(z)
        reached = self._all_reached(local, eps)
        along = jax.vmap(self._curvature_along, (0, 0, 0, None, 0, None))
        return along(local, reached, self._all_reaches(local, reached, eps), eps, multipliers, direction)

    def _all_reached(self, local, eps) -> Float[Array, "n nv"]:
        return jax.lax.map(lambda one: self._reached(one, eps), local)

    def _all_reaches(self, local, reached, eps) -> Reach:
        def slopes(local, reached):
            _, v, *_ = split_step(self.layout, local)
            return self.dynamics.slopes(self._met(local), v, reached, eps)

        actuators = np.array(self.dynamics.robot.actuated)
        return jax.lax.map(lambda one: one.solved(actuators), jax.vmap(slopes)(local, reached))

    # Closed forms, for robots of hinges and slides.

    def _jacobian(self, by: Reach, eps):
        layout, met = self.layout, self.dynamics.until_collocation
        blank = lambda rows, columns: jnp.zeros((rows, columns))  # noqa: E731
        rate, lifted = np.eye(layout.nq) / self.dynamics.dt, self._lifted_unit(eps) * np.eye(layout.lifted)
        motion = [-rate, blank(layout.nq, layout.nv + layout.lifted + layout.nu), rate, -np.eye(layout.nq)]
        missed = [
            -by.velocity_q,
            -by.velocity_v,
            blank(layout.nv, layout.lifted),
            -TORQUE_UNIT * by.velocity_torque,
            blank(layout.nv, layout.nq),
            np.eye(layout.nv) - met * by.velocity_q,
        ]
        twist = [
            by.twist_q,
            by.twist_v,
            TORQUE_UNIT * by.twist_torque,
            blank(layout.lifted, layout.nq),
            met * by.twist_q,
        ]
        twist = [self._twist_unit[:, None] * rows for rows in twist]
        return jnp.concatenate(
            [
                jnp.concatenate(motion, axis=1),
                self.force_per_velocity @ jnp.concatenate(missed, axis=1),
                jnp.concatenate([*twist[:2], -lifted, *twist[2:]], axis=1),
            ]
        )

    def _curvature_along(self, local, reached, by: Reach, eps, multipliers, direction):
        """Hessian of multipliers . rows, times a direction. Motion and lifted unknowns enter linearly.

        What is left is m . v+(x) + n . U(x, v+(x)), x = (pose met, v, torque), U the feet's twists, where F(x, v+) = 0.
        Take y so that F+' y = m + U+' n. Then m . v+ + n . U - y . F has the same value along the solution and is
        stationary in v+, so its second derivative along tangents (dx, dv+), y being constant, is the one sought.
        """
        dynamics, layout = self.dynamics, self.layout
        _, v, *_ = split_step(layout, local)
        dq, dv, _, dtorque, _, dv_next = split_step(layout, direction)
        _, missed, twist = jnp.split(multipliers, [layout.nq, layout.nq + layout.nv])
        n = self._twist_unit * twist
        y = by.velocity_force @ (n @ by.twist_velocity - missed @ self.force_per_velocity)
        respond = jax.vmap(lambda law, twist: BarrierSupport(law.vertices, eps).wrench(twist))

        def stationary(met, v, v_next):
            force, twists = dynamics.balance(met, v, v_next, respond)
            return n @ twists.reshape(-1) - y @ force

        dmet = dq + dynamics.until_collocation * dv_next
        moved = by.velocity_q @ dmet + by.velocity_v @ dv + TORQUE_UNIT * by.velocity_torque @ dtorque
        slope = jax.grad(stationary, (0, 1, 2))
        bent_met, bent_v, bent = jax.jvp(slope, (self._met(local), v, reached), (dmet, dv, moved))[1]
        along_q, along_v = bent_met + bent @ by.velocity_q, bent_v + bent @ by.velocity_v
        along_torque = TORQUE_UNIT * bent @ by.velocity_torque
        still = [jnp.zeros(layout.lifted), along_torque, jnp.zeros(layout.nq)]
        return jnp.concatenate([along_q, along_v, *still, dynamics.until_collocation * along_q])
