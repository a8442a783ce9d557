"""The frontal plane's foot, with sinkage and load of the sagittal plane.

The paper adds three coordinates to the rigid model, x_s, y_s and z_s: both planes have the *same* z_s and F_z. What
drives a foot into the sand is the leg that stretches, which only the sagittal plane knows. Left to itself the frontal
model, whose leg is stiff, sinks as slowly as its trunk falls; it has no load on its foot at first, therefore nothing
that holds it sideways, and slides off.

So the frontal plane asks the law (8), (9) for its *sideways* part, at the depth d and the velocity w of sinking that
the sagittal plane found, and takes F_z from there:

    Phi(u) = Phi_law(u with u_z = w; d) - F_z u_z.

A convex function on an affine subspace, plus a linear one: convex.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media import FootInGround, FootMedium, Law, Medium
from softground.papers.chen2026.models import frontal_model
from softground.papers.chen2026.stance import DT, Stance, StanceMotion, sand_stance
from softground.robots.shapes import Shape
from softground.simulation.simulator import State

IS_VERTICAL = np.arange(6) == 2
"""Where u_z stands in a twist in space, and F_z in a wrench."""


class Sinkage(NamedTuple):
    """Sinkage of a stance foot, at a moment or over a stance (leading axes)."""

    depth: Float[Array, "*t"]  # m
    velocity: Float[Array, "*t"]  # m/s, upwards, at which the step ends
    load: Float[Array, "*t"]  # N, F_z


def sinkage_of(sagittal: StanceMotion) -> Sinkage:
    """Sinkage in a stance of the sagittal model. A step's force goes with the velocity at its end."""
    velocity = jnp.concatenate([sagittal.v[1:, 1], sagittal.v[-1:, 1]])
    return Sinkage(sagittal.sinkage, velocity, sagittal.force[:, 1])


class SidewaysLaw(Law):
    """A law at a given vertical velocity, with a given vertical force."""

    of_ground: Law
    sinkage: Sinkage

    def potential(self, twist):
        return self.of_ground.potential(self.sinking(twist)) - self.sinkage.load * twist[2]

    def wrench(self, twist):
        return self._loaded(self.of_ground.wrench(self.sinking(twist)))

    def response(self, twist):
        wrench, hessian = self.of_ground.response(self.sinking(twist))
        return self._loaded(wrench), hessian * ~(IS_VERTICAL[:, None] | IS_VERTICAL)

    def sinking(self, twist: Float[Array, "6"]) -> Float[Array, "6"]:
        """The twist with the given vertical velocity."""
        return jnp.where(IS_VERTICAL, self.sinkage.velocity, twist)

    def _loaded(self, wrench: Float[Array, "6"]) -> Float[Array, "6"]:
        return jnp.where(IS_VERTICAL, self.sinkage.load, wrench)


class SharedSinkage(Medium):
    """A medium in space under a foot whose sinkage is given."""

    name: ClassVar[str] = "shared sinkage"

    medium: Medium
    sinkage: Sinkage

    def for_foot(self, shape: Shape, planar: bool) -> FootAtSinkage:
        return FootAtSinkage(ground=self.medium.for_foot(shape, planar), sinkage=self.sinkage, kind="spatial")


class FootAtSinkage(FootMedium):
    """The same, bound to a foot."""

    ground: FootMedium
    sinkage: Sinkage
    kind: str = eqx.field(static=True)

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        return self.ground.reference(foot)

    def initial_memory(self, foot: FootInGround) -> Any:
        return self.ground.initial_memory(self._sunk(foot))

    def law(self, foot: FootInGround, memory: Any, dt) -> SidewaysLaw:
        return SidewaysLaw(self.ground.law(self._sunk(foot), memory, dt), self.sinkage)

    def remember(self, foot: FootInGround, memory: Any, law: SidewaysLaw, twist, dt) -> Any:
        return self.ground.remember(self._sunk(foot), memory, law.of_ground, law.sinking(twist), dt)

    def _sunk(self, foot: FootInGround) -> FootInGround:
        return eqx.tree_at(lambda one: one.depth, foot, jnp.asarray(self.sinkage.depth))


def frontal_stance(medium: Medium, dt: float = DT) -> Stance:
    """The frontal model on a medium, for `frontal_motion`."""
    return sand_stance(frontal_model(), SharedSinkage(medium, Sinkage(np.zeros(()), np.zeros(()), np.zeros(()))), dt)


def frontal_motion(stance: Stance, start: State, torque: Float[Array, "t nu"], sinkage: Sinkage) -> StanceMotion:
    """A stance of the frontal model under a sequence of torques, with the sinkage of every step."""

    def step(state: State, given: tuple[Float[Array, " nu"], Sinkage]):
        torque, now = given
        return eqx.tree_at(lambda sim: sim.ground.medium.sinkage, stance.simulator, now).step(state, torque)

    _, record = jax.lax.scan(step, start, (torque, sinkage))
    force = record.wrench_world[:, 0, 1:3]
    return StanceMotion(record.time, record.q, record.v, record.torque, force, record.converged)
