"""How strong the ground is, found out while walking: `control.terrain_identification`, fed with what a controller sees.

A controller is asked once a step. What it was told the time before, what it answered and what it is told now are one
period as the identifier wants it: the actuators' torque follows from the two states and the control between them.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.contact.feet import feet_in_ground
from softground.control.terrain_identification import Belief, Sensed, TerrainIdentifier, Uncertainty
from softground.robots import Robot
from softground.simulation.actuators import Control, actuator_torque
from softground.simulation.ground import Ground
from softground.simulation.simulator import State

SHARP = 1e-3
"""W, of the law that forces are compared with."""
FACTOR = 2.0
"""By which the ground may be off at first: one deviation."""
LEAST, MOST = 0.4, 3.0
"""Factors on the plan's strength that are believed."""


class Seen(NamedTuple):
    """What is known of the ground, and of the period that is under way."""

    belief: Belief
    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    control: Control
    begun: Bool[Array, ""]  # whether there is a period


class StrengthWatch(eqx.Module):
    """Finds out the strength of the ground in that of the plan's."""

    identifier: TerrainIdentifier

    @classmethod
    def on(cls, robot: Robot, ground: Ground, dt: float) -> StrengthWatch:
        """For a robot on ground as a plan has it, asked every dt (s)."""
        medium, uncertain = ground.sharpened(SHARP).medium, Uncertainty(factor=FACTOR)
        return cls(
            TerrainIdentifier(robot, medium, ("strength",), dt=dt, uncertainty=uncertain, surface=ground.surface)
        )

    def start(self, state: State, control: Control) -> Seen:
        """Before the first period. The base's height over the ground is taken from the state; how high the ground is
        elsewhere is found out."""
        robot, surface = self.identifier.robot, self.identifier.surface
        depth = feet_in_ground(robot, robot.kinematics(state.q), surface).depth.max()
        return Seen(self.identifier.start(state.q, depth), state.q, state.v, control, jnp.zeros((), bool))

    def after(self, seen: Seen, state: State) -> Seen:
        """With the period that ends in this state."""
        torque = actuator_torque(self.identifier.robot, seen.q, state.v, seen.control, self.identifier.dt)
        belief = self.identifier.update(seen.belief, Sensed(seen.q, seen.v, state.v, torque))
        return seen._replace(belief=jax.tree.map(lambda new, old: jnp.where(seen.begun, new, old), belief, seen.belief))

    def told(self, seen: Seen, state: State, control: Control) -> Seen:
        """With the period that begins in this state."""
        return Seen(seen.belief, state.q, state.v, control, jnp.ones((), bool))

    def strength(self, seen: Seen) -> Float[Array, ""]:
        """In that of the plan's ground."""
        return jnp.clip(seen.belief.parameters[0] / self.identifier.medium.strength, LEAST, MOST)  # pyright: ignore
