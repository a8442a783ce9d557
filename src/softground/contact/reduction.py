"""A step in as many unknowns as its contacts' twists have components, where those are few beside the joints.

While every joint keeps to one linear piece of its law, f = f0 - k (v - v0) about a velocity v0, its potential is
quadratic and goes into the metric: A~ = A + dt diag(k), b~ = b + dt (f0 + k v0). What is left depends on v only through
the twists u = J v. Stationarity, A~ v = b~ + dt J'w, then says

    v = v_free + A~^-1 J' (dt w),     v_free = A~^-1 b~,     u = u_free + G (dt w),     G = J A~^-1 J',

and with any factor G = L L' and x = L' (dt w) + x_free, L x_free = u_free, the objective on these v is, up to a
constant,

    1/2 x'x - x_free'x + dt sum_i Phi_i(L_i x):

a step problem again, with the identity for its metric, L for its Jacobian and no joints. Newton's iterates are the same
in both (Newton's method does not see linear changes of coordinates, and from v_free on it never leaves these v).

The factorisation of A~ goes from the leaves of the robot's tree to its root, so nothing fills in that was zero.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.contact.problem import Contacts, StepProblem, Vectors, product

#: Components of all twists for each unknown of the whole problem, up to which the smaller problem is worth making.
FEW = 0.5


def worthwhile(problem: StepProblem) -> bool:
    """Whether the contacts' twists have few components beside the robot's velocity."""
    return _components(problem) <= FEW * problem.momentum.shape[-1]


class Reduction(NamedTuple):
    """A step problem with the joints on the pieces of their laws at one velocity, and the smaller one made of it."""

    smaller: StepProblem
    factor: Float[Array, "nv nv"]  # C, lower, of the metric with rows and columns in reverse: C C'
    rows: Float[Array, "nv m"]  # C^-1 J', in reverse
    free: Float[Array, " nv"]  # C^-1 b~, in reverse
    force: Float[Array, " nv"]  # of the joints at rest, in the linear model
    stiffness: Float[Array, " nv"]  # of the joints

    def velocity(self, x: Float[Array, " m"], wrenches: Vectors, solved: Bool[Array, ""]) -> Float[Array, " nv"]:
        """The velocity at x; once the smaller problem is solved, that which balances momentum with the wrenches."""

        def balancing():
            return self.smaller.dt * jnp.concatenate([w.reshape(-1) for w in wrenches])

        def there():
            lower = jnp.concatenate([_flat(group.jacobian) for group in self.smaller.contacts])
            return solve_triangular(lower, x - self.smaller.momentum, lower=True, trans=1)

        half = self.free + product(self.rows, jax.lax.cond(solved, balancing, there))
        return solve_triangular(self.factor, half, lower=True, trans=1)[::-1]

    def joint_force(self, v: Float[Array, " nv"]) -> Float[Array, " nv"]:
        return self.force - self.stiffness * v

    def holds(self, problem: StepProblem, v: Float[Array, " nv"]) -> Bool[Array, ""]:
        """Whether the joints are on the same pieces at v: their forces are then those of the model, to rounding."""
        if problem.joints is None:
            return jnp.ones((), bool)
        force, stiffness = problem.joints.response(v)
        scale = jnp.abs(self.force) + self.stiffness * jnp.abs(v)
        close = jnp.abs(force - self.joint_force(v)) <= 8 * jnp.finfo(v.dtype).eps * scale
        return (close & (stiffness == self.stiffness)).all()


def reduced(problem: StepProblem, velocity: Float[Array, " nv"]) -> Reduction:
    """The smaller problem, with the joints on the pieces of their laws at this velocity."""
    force, stiffness = jnp.zeros_like(velocity), jnp.zeros_like(velocity)
    metric, momentum, dt = problem.metric, problem.momentum, problem.dt
    if problem.joints is not None:
        now, stiffness = problem.joints.response(velocity)
        force = now + stiffness * velocity
        metric, momentum = metric + dt * jnp.diag(stiffness), momentum + dt * force
    jacobian = jnp.concatenate([_flat(group.jacobian) for group in problem.contacts])
    factor = jnp.linalg.cholesky(metric[::-1, ::-1], symmetrize_input=False)
    halves = solve_triangular(factor, jnp.column_stack([jacobian.T, momentum])[::-1], lower=True)
    rows, free = halves[:, :-1], halves[:, -1]
    lower = _factor_of_compliance((rows[:, :, None] * rows[:, None, :]).sum(0))
    start = solve_triangular(lower, product(rows.T, free), lower=True)
    parts = np.split(np.arange(len(lower)), np.cumsum([_size(group) for group in problem.contacts])[:-1])
    contacts = tuple(
        Contacts(lower[part].reshape(*group.jacobian.shape[:2], -1), group.laws)
        for part, group in zip(parts, problem.contacts, strict=True)
    )
    smaller = StepProblem(jnp.eye(len(lower), dtype=lower.dtype), start, contacts, None, dt)
    return Reduction(smaller, factor, rows, free, force, stiffness)


def _factor_of_compliance(compliance: Float[Array, "m m"]) -> Float[Array, "m m"]:
    """Lower factor of G. Where the joints leave a direction stiff (stretched legs) G is singular, and rounding decides
    about the sign of a pivot: its diagonal is raised by what rounding leaves of it."""
    rounding = len(compliance) * jnp.finfo(compliance.dtype).eps
    raised = compliance + jnp.diag(rounding * jnp.diagonal(compliance))
    return jnp.linalg.cholesky(raised, symmetrize_input=False)


def _components(problem: StepProblem) -> int:
    return sum(map(_size, problem.contacts))


def _size(group: Contacts) -> int:
    return group.jacobian.shape[-3] * group.jacobian.shape[-2]


def _flat(jacobian: Float[Array, "f n nv"]) -> Float[Array, "m nv"]:
    return jacobian.reshape(-1, jacobian.shape[-1])
