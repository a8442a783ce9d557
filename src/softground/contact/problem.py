"""One time step as one strictly convex problem in the next generalised velocity v.

    min over v:   1/2 v' A v - b' v + dt ( sum_i Phi_i(J_i v) + Psi(v) )

A is the mass matrix (with joint damping taken implicitly), b = M v_now + dt (applied force - bias force),
Phi_i the potential of the ground under foot i, Psi that of the joints (limits, PD control). The gradient is the
momentum balance of the step, so the minimiser obeys it: A v = b + dt (sum J_i' f_i + joint force).
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.joints import JointLaw
from softground.media.base import Law


def product(matrix: Float[Array, "*b m n"], vector: Float[Array, " n"]) -> Float[Array, "*b m"]:
    """Matrix times vector, as a sum of products: for sizes like ours XLA's matrix library costs more to call."""
    return (matrix * vector).sum(-1)


@jax.jit  # a function of its own, which native code can call for each foot
def each_response(law: Law, twist: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    return law.response(twist)


@jax.jit
def each_wrench(law: Law, twist: Float[Array, " n"]) -> Float[Array, " n"]:
    return law.wrench(twist)


class LocalModel(NamedTuple):
    """Forces at one velocity and how they change with it."""

    wrench: Float[Array, "f n"]  # on each foot, surface frame, at the reference point
    stiffness: Float[Array, "f n n"]  # -d wrench / d twist, positive semidefinite
    joint_force: Float[Array, " nv"]
    joint_stiffness: Float[Array, " nv"]  # -d joint force / d v, diagonal


class StepProblem(eqx.Module):
    """Everything the step needs to know, at one configuration, or at several along leading axes."""

    metric: Float[Array, "*b nv nv"]  # A, kg or kg m2
    momentum: Float[Array, "*b nv"]  # b, kg m/s or kg m2/s
    jacobian: Float[Array, "*b f n nv"]  # foot twists (m/s, rad/s) in the surface frame = jacobian @ v
    laws: Law  # one per foot (leading axis)
    joints: JointLaw | None
    dt: Float[Array, "*b"]  # s

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "f n"]:
        return product(self.jacobian, v)

    def local_model(self, v: Float[Array, " nv"], twists: Float[Array, "f n"]) -> LocalModel:
        """Forces and stiffnesses at v; the twists come separately so that a warm start may differ."""
        wrench, stiffness = jax.vmap(each_response)(self.laws, twists)
        if self.joints is None:
            return LocalModel(wrench, stiffness, jnp.zeros_like(v), jnp.zeros_like(v))
        return LocalModel(wrench, stiffness, *self.joints.response(v))

    def forces(self, v: Float[Array, " nv"]) -> tuple[Float[Array, "f n"], Float[Array, " nv"]]:
        """Wrench on every foot and force on every joint at velocity v."""
        wrench = jax.vmap(each_wrench)(self.laws, self.twists(v))
        joint = jnp.zeros_like(v) if self.joints is None else self.joints.response(v)[0]
        return wrench, joint

    def objective(self, v: Float[Array, " nv"]) -> Float[Array, ""]:
        """What the step minimises, J."""
        ground = jax.vmap(lambda law, u: law.potential(u))(self.laws, self.twists(v)).sum()
        joints = 0.0 if self.joints is None else self.joints.potential(v)
        return v @ self.metric @ v / 2 - self.momentum @ v + self.dt * (ground + joints)

    def gradient(self, v, wrench, joint_force) -> Float[Array, " nv"]:
        """Momentum balance of the step, kg m/s: zero at the solution."""
        return product(self.metric, v) - self.momentum - self.dt * self.generalised(wrench, joint_force)

    def generalised(self, wrench: Float[Array, "f n"], joint_force: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Generalised force of the feet's wrenches and the joints."""
        return (wrench[..., None] * self.jacobian).sum((0, 1)) + joint_force

    def hessian(self, model: LocalModel) -> Float[Array, "nv nv"]:
        """Second derivative of the objective, symmetric positive definite."""
        rows = self.jacobian.reshape(-1, self.jacobian.shape[-1])
        stiff_rows = (model.stiffness[..., None] * self.jacobian[:, None]).sum(2).reshape(rows.shape)
        curvature = (rows[:, :, None] * stiff_rows[:, None, :]).sum(0)
        if self.joints is not None:
            curvature = curvature + jnp.diag(model.joint_stiffness)
        return self.metric + self.dt * curvature
