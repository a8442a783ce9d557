"""Joint limits and servos as convex potentials of the next joint velocity.

A limit is a one-sided spring on the joint's *next* position; a servo is a PD law on the next position and
velocity whose torque saturates. Both forces fall monotonically with the joint's next velocity, so both are
derivatives of convex potentials, and the step takes them implicitly: gains and limits can be as stiff as the
user likes at any time step.

    limit:  f(v) =  max(0, k (q_min - q - dt v)) - max(0, k (q + dt v - q_max))
    servo:  f(v) =  clip( kp (q_ref - q - dt v) + kd (v_ref - v) + feedforward,  +- torque_limit )
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

#: Spring of a joint limit, in units of (joint inertia / dt^2): a violation decays to 1/(1 + this) in one step.
LIMIT_STIFFNESS = 10.0


class JointLaw(eqx.Module):
    """Forces that joints exert on themselves during one step; every array has one entry per dof.

    A servo is written `clip(offset - slope v, +-bound)`; dofs without one have slope and bound zero.
    """

    below: Float[Array, "nv"]  # m or rad, q_min - q now
    above: Float[Array, "nv"]  # m or rad, q - q_max now
    spring: Float[Array, "nv"]  # N/m or N m/rad
    servo_offset: Float[Array, "nv"]
    servo_slope: Float[Array, "nv"]
    servo_bound: Float[Array, "nv"]
    dt: Float[Array, ""]

    def response(self, v: Float[Array, "nv"]) -> tuple[Float[Array, "nv"], Float[Array, "nv"]]:
        """Force and its (positive) rate of fall with v, both diagonal."""
        below = self.below - self.dt * v
        above = self.above + self.dt * v
        limit = self.spring * (jnp.maximum(below, 0.0) - jnp.maximum(above, 0.0))
        limit_rate = self.dt * self.spring * ((below > 0) | (above > 0))
        wanted = self.servo_offset - self.servo_slope * v
        servo = jnp.clip(wanted, -self.servo_bound, self.servo_bound)
        servo_rate = self.servo_slope * (jnp.abs(wanted) < self.servo_bound)
        return limit + servo, limit_rate + servo_rate

    def potential(self, v: Float[Array, "nv"]) -> Float[Array, ""]:
        """Convex potential whose negative gradient is the force of `response`, W."""
        below = jnp.maximum(self.below - self.dt * v, 0.0)
        above = jnp.maximum(self.above + self.dt * v, 0.0)
        limit = self.spring * (below**2 + above**2) / (2 * self.dt)
        wanted = self.servo_offset - self.servo_slope * v
        inside = jnp.clip(wanted, -self.servo_bound, self.servo_bound)
        huber = inside * wanted - inside**2 / 2
        servo = jnp.where(self.servo_slope > 0, huber / jnp.maximum(self.servo_slope, 1e-30), -inside * v)
        return limit.sum() + servo.sum()

    def servo_force(self, v: Float[Array, "nv"]) -> Float[Array, "nv"]:
        """Torque of the servos alone, N m."""
        return jnp.clip(self.servo_offset - self.servo_slope * v, -self.servo_bound, self.servo_bound)
