"""Joint limits, PD control and dry friction as convex potentials of the next joint velocity.

A limit is a one-sided spring on the joint's *next* position; PD control is a law of the next position and
velocity whose torque saturates; dry friction is a steep damper that saturates. All these forces fall monotonically
with the joint's next velocity, so they are derivatives of convex potentials, and the step takes them implicitly:
gains and limits can be as stiff as the user likes at any time step.

    limit:  f(v) =  max(0, k (q_min - q - dt v)) - max(0, k (q + dt v - q_max))
    PD:     f(v) =  clip( kp (q_ref - q - dt v) + kd (v_ref - v) + feedforward,  +- torque_limit )
    friction:  f(v) =  clip( -c v,  +- friction_loss )
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array

#: Spring of a joint limit, in units of (joint inertia / dt^2): a violation decays to 1/(1 + this) in one step.
LIMIT_STIFFNESS = 10.0


class JointLaw(eqx.Module):
    """Forces that joints exert on themselves during one step; every array has one entry per dof.

    PD control is written `clip(offset - slope v, +-bound)`; dofs without one have slope and bound zero.
    """

    below: Float[Array, " nv"]  # m or rad, q_min - q now
    above: Float[Array, " nv"]  # m or rad, q - q_max now
    spring: Float[Array, " nv"]  # N/m or N m/rad
    pd_offset: Float[Array, " nv"]
    pd_slope: Float[Array, " nv"]
    pd_bound: Float[Array, " nv"]
    friction_bound: Float[Array, " nv"]  # N m, dry friction
    friction_slope: Float[Array, " nv"]  # N m s/rad, of the creep below it
    dt: Float[Array, ""]

    def response(self, v: Float[Array, " nv"]) -> tuple[Float[Array, " nv"], Float[Array, " nv"]]:
        """Force and its (positive) rate of fall with v, both diagonal."""
        below = self.below - self.dt * v
        above = self.above + self.dt * v
        limit = self.spring * (jnp.maximum(below, 0.0) - jnp.maximum(above, 0.0))
        limit_rate = self.dt * self.spring * ((below > 0) | (above > 0))
        pd, pd_rate = _saturated(self.pd_offset, self.pd_slope, self.pd_bound, v)
        friction, friction_rate = _saturated(0.0, self.friction_slope, self.friction_bound, v)
        return limit + pd + friction, limit_rate + pd_rate + friction_rate

    def potential(self, v: Float[Array, " nv"]) -> Float[Array, ""]:
        """Convex potential whose negative gradient is the force of `response`, W."""
        below = jnp.maximum(self.below - self.dt * v, 0.0)
        above = jnp.maximum(self.above + self.dt * v, 0.0)
        limit = self.spring * (below**2 + above**2) / (2 * self.dt)
        pd = _saturated_potential(self.pd_offset, self.pd_slope, self.pd_bound, v)
        friction = _saturated_potential(0.0, self.friction_slope, self.friction_bound, v)
        return (limit + pd + friction).sum()


def _saturated(offset, slope, bound, v):
    """Force clip(offset - slope v, +-bound) and its rate of fall with v."""
    wanted = offset - slope * v
    return jnp.clip(wanted, -bound, bound), slope * (jnp.abs(wanted) < bound)


def _saturated_potential(offset, slope, bound, v):
    """Convex potential of that force (a Huber function); linear where the slope is zero."""
    wanted = offset - slope * v
    force = jnp.clip(wanted, -bound, bound)
    huber = force * (wanted - force / 2)
    return jnp.where(slope > 0, huber / jnp.where(slope > 0, slope, 1.0), -force * v)
