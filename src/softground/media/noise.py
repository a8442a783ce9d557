"""Noise on what the ground does: a random wrench on every foot that touches, new in each step.

romualdi2021 (V.B) models what a contact model leaves out as f_m = f + epsilon, with every component of epsilon drawn
from a Gaussian of mean zero and standard deviation sigma (N and N m). A wrench that is constant over a step is a linear
potential, so a noisy step is as convex as a quiet one:

    Phi_m(u) = Phi(u) - epsilon.u

The noise belongs to the time step: its power over a band of frequencies grows with dt for the same sigma. It obeys no
rule of contact either, so the sum may pull on a foot that hardly touches, as in the paper.

Its numbers come from the seed, the number of the foot and that of the step: a run can be repeated, and feet differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, UInt

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError
from softground.media.base import COMPONENTS, Derivatives, FootInGround, FootMedium, Law, Medium
from softground.media.parameters import check_not_negative
from softground.robots.shapes import Shape


class NoisyMemory(eqx.Module):
    """What the ground remembers, and how many steps have been."""

    ground: Any
    step: Float[Array, ""]  # a float, as all of a state is: exact to 2**24 steps in float32


class NoisyLaw(Law):
    """A law with a further, constant wrench."""

    law: Law
    extra: Float[Array, " n"]  # N, N m

    def potential(self, twist):
        return self.law.potential(twist) - (self.extra * twist).sum()

    def wrench(self, twist):
        return self.law.wrench(twist) + self.extra

    def response(self, twist):
        wrench, stiffness = self.law.response(twist)
        return wrench + self.extra, stiffness

    def along(self, twist, direction) -> NoisyAlongLine:
        return NoisyAlongLine(self.law.along(twist, direction), (self.extra * direction).sum())


class NoisyAlongLine(eqx.Module):
    """The potential of a noisy law on a line of twists."""

    line: Any
    power: Float[Array, ""]  # W, of the extra wrench along the line

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        value, slope, curvature = self.line.derivatives(t)
        return value - t * self.power, slope - self.power, curvature


class Noisy(Medium):
    """Any medium (`ground`) with Gaussian noise on the wrench of feet that touch it."""

    name: ClassVar[str] = "noisy"

    ground: Medium
    sigma: Float[Array, ""]  # N, standard deviation of each component of the force
    sigma_torque: Float[Array, ""]  # N m
    seed: UInt[Array, ""]

    def __init__(self, ground: Medium, sigma: float, *, sigma_torque: float | None = None, seed: int = 0):
        """sigma: of forces in N and, unless `sigma_torque` says otherwise, of torques in N m."""
        sigma_torque = sigma if sigma_torque is None else sigma_torque
        check_not_negative("sigma of the noise", sigma)
        check_not_negative("sigma_torque of the noise", sigma_torque)
        if is_known(seed) and not 0 <= seed < 2**32:
            raise MediumError(f"the seed of the noise must be an integer from 0 to 2**32 - 1, got {seed}")
        self.ground = ground
        self.sigma, self.sigma_torque = as_float(sigma), as_float(sigma_torque)
        self.seed = jnp.asarray(seed, jnp.uint32) if isinstance(seed, jax.Array) else np.asarray(seed, np.uint32)

    def for_foot(self, shape: Shape, planar: bool) -> NoisyFoot:
        return self.under_feet([shape], planar)[0]

    def under_feet(self, shapes: Sequence[Shape], planar: bool) -> list[NoisyFoot]:
        """One for each foot, with noise of its own."""
        grounds = self.ground.under_feet(shapes, planar)
        return [
            NoisyFoot(medium=self, ground=ground, foot=np.asarray(number, np.uint32), kind=ground.kind)
            for number, ground in enumerate(grounds)
        ]

    def for_body(self, shape: Shape, planar: bool) -> FootMedium:
        """Noise is on feet only."""
        return self.ground.for_body(shape, planar)

    def under_bodies(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        return self.ground.under_bodies(shapes, planar)


class NoisyFoot(FootMedium):
    """A medium under one foot, with noise of its own."""

    medium: Noisy
    ground: FootMedium
    foot: UInt[Array, ""]  # its number on the robot: feet with one seed draw different numbers
    kind: str = eqx.field(static=True)

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        return self.ground.reference(foot)

    def place(self, foot: FootInGround, memory: NoisyMemory) -> Float[Array, "3"]:
        return self.ground.place(foot, memory.ground)

    def initial_memory(self, foot: FootInGround) -> NoisyMemory:
        return NoisyMemory(self.ground.initial_memory(foot), jnp.zeros_like(foot.depth))

    def law(self, foot: FootInGround, memory: NoisyMemory, dt) -> NoisyLaw:
        quiet = self.ground.law(foot, memory.ground, dt)
        noise = self.noise(memory.step)
        # Ground that would push a foot which stands still touches it, be it at the heel alone.
        touches = (quiet.wrench(jnp.zeros_like(noise)) != 0).any()
        return NoisyLaw(quiet, jnp.where(touches, noise, 0.0))

    def noise(self, step: Float[Array, ""]) -> Float[Array, " n"]:
        """The extra wrench of a step, N and N m."""
        components = COMPONENTS[self.kind]
        of_foot = jax.random.fold_in(jax.random.key(self.medium.seed), self.foot)
        key = jax.random.fold_in(of_foot, step.astype(jnp.uint32))
        sigmas = jnp.where(components < 3, self.medium.sigma, self.medium.sigma_torque).astype(step.dtype)
        return sigmas * jax.random.normal(key, (len(components),), step.dtype)

    def remember(self, foot: FootInGround, memory: NoisyMemory, law: NoisyLaw, twist, dt) -> NoisyMemory:
        return NoisyMemory(self.ground.remember(foot, memory.ground, law.law, twist, dt), memory.step + 1)

    def stored_energy(self, foot: FootInGround, memory: NoisyMemory) -> Float[Array, ""]:
        return self.ground.stored_energy(foot, memory.ground)

    def outside_data(self, foot: FootInGround) -> Bool[Array, ""]:
        return self.ground.outside_data(foot)
