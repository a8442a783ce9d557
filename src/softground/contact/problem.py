"""One time step as one strictly convex problem in the next generalised velocity v.

    min over v:   1/2 v' A v - b' v + dt ( sum_i Phi_i(J_i v) + Psi(v) )

A is the mass matrix (with joint damping taken implicitly), b = M v_now + dt (applied force - bias force),
Phi_i the potential of the ground under foot or body i, Psi that of the joints (limits, PD control). The gradient is the
momentum balance of the step, so the minimiser obeys it: A v = b + dt (sum J_i' f_i + joint force).

What meets the ground in one way (feet of one kind, bodies) is stacked along a leading axis, `Contacts`; the problem
holds a tuple of such groups, and so does all that is said of them: twists, wrenches, stiffnesses.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
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


def total(parts: Iterable) -> Array:
    """The sum of what groups contribute; of one group, what it contributes."""
    return reduce(add, parts)


@jax.jit  # a function of its own, which native code can call for each foot
def each_response(law: Law, twist: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    return law.response(twist)


@jax.jit
def each_wrench(law: Law, twist: Float[Array, " n"]) -> Float[Array, " n"]:
    return law.wrench(twist)


Vectors = tuple[Float[Array, "_ _"], ...]
"""Twists (m/s, rad/s) or wrenches (N, N m) of all that meets the ground, an array (members, n) for each group."""


class Contacts(eqx.Module):
    """A group of things that meet the ground in one way, at one configuration, or at several along leading axes."""

    jacobian: Float[Array, "*b f n nv"]  # twists (m/s, rad/s) in the surface frame = jacobian @ v
    laws: Law  # one for each (leading axis)

    def response(
        self, twists: Float[Array, "f n"], softness: Float[Array, ""] | float = 1.0
    ) -> tuple[Float[Array, "f n"], Float[Array, "f n n"]]:
        """Wrenches, and their fall with the twists, on ground that is softened (`contact/softening.py`)."""
        harder = 1 / softness
        wrench, rate = jax.vmap(each_response)(self.laws, harder * twists)
        return wrench, harder * rate

    def wrench(self, twists: Float[Array, "f n"]) -> Float[Array, "f n"]:
        return jax.vmap(each_wrench)(self.laws, twists)

    def potential(self, twists: Float[Array, "f n"]) -> Float[Array, ""]:
        return jax.vmap(lambda law, u: law.potential(u))(self.laws, twists).sum()

    def generalised(self, wrench: Float[Array, "f n"]) -> Float[Array, " nv"]:
        return (wrench[..., None] * self.jacobian).sum((0, 1))

    def curvature(self, stiffness: Float[Array, "f n n"]) -> Float[Array, "nv nv"]:
        """Stiffness in generalised coordinates."""
        rows = self.jacobian.reshape(-1, self.jacobian.shape[-1])
        stiff_rows = (stiffness[..., None] * self.jacobian[:, None]).sum(2).reshape(rows.shape)
        return (rows[:, :, None] * stiff_rows[:, None, :]).sum(0)


class LocalModel(NamedTuple):
    """Forces at one velocity and how they change with it."""

    wrench: Vectors  # on each foot or body, surface frame, at the reference point
    stiffness: tuple[Float[Array, "_ _ _"], ...]  # -d wrench / d twist, positive semidefinite
    joint_force: Float[Array, " nv"]
    joint_stiffness: Float[Array, " nv"]  # -d joint force / d v, diagonal


class StepProblem(eqx.Module):
    """Everything the step needs to know, at one configuration, or at several along leading axes."""

    metric: Float[Array, "*b nv nv"]  # A, kg or kg m2
    momentum: Float[Array, "*b nv"]  # b, kg m/s or kg m2/s
    contacts: tuple[Contacts, ...]
    joints: JointLaw | None
    dt: Float[Array, "*b"]  # s

    def twists(self, v: Float[Array, " nv"]) -> Vectors:
        return tuple(product(group.jacobian, v) for group in self.contacts)

    def local_model(
        self, v: Float[Array, " nv"], twists: Vectors, softness: Float[Array, ""] | float = 1.0
    ) -> LocalModel:
        """Forces and stiffnesses at v; the twists come separately so that a warm start may differ."""
        responses = [group.response(u, softness) for group, u in zip(self.contacts, twists, strict=True)]
        joint = (jnp.zeros_like(v), jnp.zeros_like(v)) if self.joints is None else self.joints.response(v)
        return LocalModel(tuple(wrench for wrench, _ in responses), tuple(rate for _, rate in responses), *joint)

    def forces(self, v: Float[Array, " nv"]) -> tuple[Vectors, Float[Array, " nv"]]:
        """Wrench on every foot and body, and force on every joint, at velocity v."""
        wrench = tuple(group.wrench(u) for group, u in zip(self.contacts, self.twists(v), strict=True))
        joint = jnp.zeros_like(v) if self.joints is None else self.joints.response(v)[0]
        return wrench, joint

    def objective(self, v: Float[Array, " nv"]) -> Float[Array, ""]:
        """What the step minimises, J."""
        ground = total(group.potential(u) for group, u in zip(self.contacts, self.twists(v), strict=True))
        joints = 0.0 if self.joints is None else self.joints.potential(v)
        return v @ self.metric @ v / 2 - self.momentum @ v + self.dt * (ground + joints)

    def gradient(self, v, wrench: Vectors, joint_force) -> Float[Array, " nv"]:
        """Momentum balance of the step, kg m/s: zero at the solution."""
        return product(self.metric, v) - self.momentum - self.dt * self.generalised(wrench, joint_force)

    def generalised(self, wrench: Vectors, joint_force: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Generalised force of the ground's wrenches and the joints."""
        ground = (group.generalised(w) for group, w in zip(self.contacts, wrench, strict=True))
        return total(ground) + joint_force

    def hessian(self, model: LocalModel) -> Float[Array, "nv nv"]:
        """Second derivative of the objective, symmetric positive definite."""
        curvature = total(group.curvature(rate) for group, rate in zip(self.contacts, model.stiffness, strict=True))
        if self.joints is not None:
            curvature = curvature + jnp.diag(model.joint_stiffness)
        return self.metric + self.dt * curvature
