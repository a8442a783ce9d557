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
from softground.planning.layout import TORQUE_UNIT, Layout

NORMALISER_STEPS = 40


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


@jax.custom_jvp
def normaliser(score: Float[Array, " k"]) -> Float[Array, ""]:
    """nu with sum_k 1 / (score_k + nu) = 1, above -min(score).

    The sum falls from at least 1 at nu = 1 - min(score) and is convex: Newton from there rises to the root.
    """

    def improve(_, nu):
        weight = 1 / (score + nu)
        return nu + (weight.sum() - 1) / (weight**2).sum()

    return jax.lax.fori_loop(0, NORMALISER_STEPS, improve, 1 - score.min())


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

    def next_velocity(self, q, v, torque: Float[Array, " nu"], mu) -> Float[Array, " nv"]:
        """Velocity at the end of a step under torques (N m)."""
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
        return solve(problem, jax.lax.stop_gradient(jacobian @ v), Newton()).velocity


class BilevelSteps(Block):
    """Rows of a step: motion (nq), velocity (nv)."""

    dynamics: Bilevel
    layout: Layout = eqx.field(static=True)

    def __init__(self, dynamics: Bilevel, layout: Layout):
        self.label, self.columns, self.linear = "step", steps_of(layout), False
        self.dynamics, self.layout = dynamics, layout

    def rows(self, local, data, eps):
        q, v, _, torque, q_next, v_next = split_step(self.layout, local)
        reached = self.dynamics.next_velocity(q, v, TORQUE_UNIT * torque, eps)
        motion = (q_next - self.dynamics.robot.integrate(q, v_next, self.dynamics.dt)) / self.dynamics.dt
        return jnp.concatenate([motion, v_next - reached])
