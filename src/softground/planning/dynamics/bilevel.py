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
mu, eps -> 0.
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
from softground.contact.newton import Newton
from softground.contact.problem import StepProblem
from softground.contact.solve import solve
from softground.media.base import Law
from softground.planning.blocks import Block
from softground.planning.dynamics.base import Dynamics, split_step, steps_of
from softground.planning.dynamics.step_derivatives import balance_derivatives
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.robots.dynamics_derivatives import has_scalar_joints

NORMALISER_STEPS, NORMALISER_ERROR = 40, 1e-14


class BarrierSupport(Law):
    """Phi(u) = max over weights of sum_k (-w_k p_k . u + mu log w_k): the support function, smoothed by a barrier."""

    vertices: Float[Array, "k n"]  # N, N m; the origin is one of them
    mu: Float[Array, ""]  # W

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
    mu: Float[Array, ""]

    def derivatives(self, t: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """First and second derivative with respect to t, W."""
        score = self.score + t * self.rate
        weight = 1 / (score + normaliser(score))
        square = weight**2
        mean = (square * self.rate).sum() / square.sum()
        return -self.mu * (weight * self.rate).sum(), self.mu * (square * (self.rate - mean) ** 2).sum()


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
    """The step as a function of state and torque, with the contact problem solved inside. No lifted unknowns."""

    @property
    def lifted(self) -> int:
        return 0

    def block(self, layout: Layout) -> Block:
        return BilevelSteps(self, layout)

    def lift(self, q, v, torque, eps) -> np.ndarray:
        return np.zeros((len(q) - 1, 0))

    def next_velocity(self, q, v, torque: Float[Array, " nu"], mu, near=None) -> Float[Array, " nv"]:
        """Velocity at the end of a step under torques (N m), met at q. `near`: a guess of it, for speed alone."""
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
            jacobian=jacobian,
            laws=BarrierSupport(vertices, jnp.full(len(vertices), mu)),
            joints=None,
            dt=dt,
        )
        return solve(problem, jax.lax.stop_gradient(jacobian @ (v if near is None else near)), Newton()).velocity

    def balance_slopes(self, q, v, reached, mu) -> BalanceSlopes:
        """Derivatives of the balance of forces in a step that is met at q and reaches a velocity."""
        respond = lambda vertices, twist: BarrierSupport(vertices, mu).wrench(twist)  # noqa: E731
        by = balance_derivatives(self, q, v, reached, self.foot_twists(q, reached), respond)
        by_q = by.force_q + jnp.einsum("vfn,fnj->vj", by.force_s, by.twist_q)
        by_next = by.force_next + jnp.einsum("vfn,fnj->vj", by.force_s, by.twist_next)
        return BalanceSlopes(by_q, by.force_v, by_next)


class BalanceSlopes(NamedTuple):
    """Derivatives of the balance of forces F(q, v, v+): the feet's wrenches follow from their twists J(q) v+."""

    by_q: Float[Array, "nv nv"]
    by_v: Float[Array, "nv nv"]
    by_next: Float[Array, "nv nv"]  # symmetric positive definite

    def reach(self, motors: tuple[int, ...]) -> Reach:
        """Derivatives of the velocity reached: of F(q, v, v+) = B torque by the implicit function theorem."""
        inverse = jnp.linalg.inv(self.by_next)
        return Reach(-inverse @ self.by_q, -inverse @ self.by_v, inverse[:, np.array(motors)], inverse)


class Reach(NamedTuple):
    """Derivatives of the velocity that a step reaches."""

    by_q: Float[Array, "nv nv"]
    by_v: Float[Array, "nv nv"]
    by_torque: Float[Array, "nv nu"]
    by_force: Float[Array, "nv nv"]  # on any dof, symmetric


class BilevelSteps(Block):
    """Rows of a step: motion (nq), velocity (nv)."""

    dynamics: Bilevel
    layout: Layout = eqx.field(static=True)

    def __init__(self, dynamics: Bilevel, layout: Layout):
        self.label, self.columns, self.linear = "step", steps_of(layout), False
        self.dynamics, self.layout = dynamics, layout

    def rows(self, local, data, eps):
        return self._rows(local, self._reached(local, eps))

    def _rows(self, local, reached):
        q, _, _, _, q_next, v_next = split_step(self.layout, local)
        motion = (q_next - self.dynamics.robot.integrate(q, v_next, self.dynamics.dt)) / self.dynamics.dt
        return jnp.concatenate([motion, v_next - reached])

    def _reached(self, local, eps) -> Float[Array, " nv"]:
        """The velocity that the step reaches; the optimiser's own is near it."""
        _, v, _, torque, _, v_next = split_step(self.layout, local)
        return self.dynamics.next_velocity(self._met(local), v, TORQUE_UNIT * torque, eps, v_next)

    def _met(self, local) -> Float[Array, " nq"]:
        """The pose at which the step is met: by the velocity of the optimiser, so that the inner problem is convex."""
        q, _, _, _, _, v_next = split_step(self.layout, local)
        return self.dynamics.met_pose(q, v_next)

    # Steps are solved one after the other: solved together, they would all take as long as the slowest, and batches of
    # small linear systems inside a larger programme can block XLA's threads for good.

    def all_rows(self, z, eps):
        local = self.gather(z)
        return jax.vmap(self._rows)(local, self._all_reached(local, eps))

    def all_jacobians(self, z, eps):
        if not has_scalar_joints(self.dynamics.robot):
            return super().all_jacobians(z, eps)
        local = self.gather(z)
        return jax.vmap(self._jacobian)(self._all_reaches(local, self._all_reached(local, eps), eps))

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
            return self.dynamics.balance_slopes(self._met(local), v, reached, eps)

        motors = tuple(self.dynamics.robot.actuated)
        return jax.lax.map(lambda one: one.reach(motors), jax.vmap(slopes)(local, reached))

    # Closed forms, for robots of hinges and slides.

    def _jacobian(self, by: Reach):
        layout = self.layout
        rate, none = np.eye(layout.nq) / self.dynamics.dt, jnp.zeros((layout.nq, layout.nq))
        no_torque = jnp.zeros((layout.nq, layout.nu))
        by_next = np.eye(layout.nv) - self.dynamics.until_met * by.by_q
        return jnp.concatenate(
            [
                jnp.concatenate([-rate, none, no_torque, rate, -np.eye(layout.nq)], axis=1),
                jnp.concatenate([-by.by_q, -by.by_v, -TORQUE_UNIT * by.by_torque, none, by_next], axis=1),
            ]
        )

    def _curvature_along(self, local, reached, by: Reach, eps, multipliers, direction):
        """Hessian of multipliers . rows, times a direction. Motion is linear, so m, those of velocity, matter alone.

        With x = (pose met, v, torque), F(x, v+(x)) = 0 and F+' y = m, the function m . v+(x) equals
        m . v+ - y . F(x, v+) along the solution for this constant y, and that is stationary in v+. So its second
        derivative is that of -y . F(x, v+) along tangents (dx, dv+).
        """
        dynamics, layout = self.dynamics, self.layout
        _, v, *_ = split_step(layout, local)
        dq, dv, _, dtorque, _, dv_next = split_step(layout, direction)
        y = by.by_force @ multipliers[layout.nq :]
        respond = jax.vmap(lambda vertices, twist: BarrierSupport(vertices, eps).wrench(twist))
        slope = jax.grad(lambda met, v, v_next: y @ dynamics.balance(met, v, v_next, respond)[0], (0, 1, 2))
        dmet = dq + dynamics.until_met * dv_next
        moved = by.by_q @ dmet + by.by_v @ dv + TORQUE_UNIT * by.by_torque @ dtorque
        bent_met, bent_v, bent = jax.jvp(slope, (self._met(local), v, reached), (dmet, dv, moved))[1]
        along_q = bent_met + bent @ by.by_q
        along_v, along_torque = bent_v + bent @ by.by_v, TORQUE_UNIT * bent @ by.by_torque
        return jnp.concatenate([along_q, along_v, along_torque, jnp.zeros(layout.nq), dynamics.until_met * along_q])
