"""A biped that steps: what its whole-body controller is asked at every tick, from the clock and from how it moves."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.control.stepping.controller import SteppingController
from softground.control.stepping.gait import SteppingGait
from softground.control.stepping.nodding import nodding_trunk
from softground.control.stepping.placement import next_foot
from softground.control.stepping.swing import cycloid
from softground.control.whole_body.references import FrameMotion, PointMotion, References, holding
from softground.simulation import Control, State


class Memory(NamedTuple):
    """What the stepper carries from tick to tick."""

    step: Int[Array, ""]
    """Number of the stance; -1 before the first."""
    lift_off: Float[Array, "3"]
    """Where the swinging foot was when it left, m."""
    level: Float[Array, ""]
    """Height of the sole that carried before, when its stance ended, m: as deep as feet sink here."""
    place: Float[Array, "2"]
    """Of the centre of mass when the step began, m."""
    correction: Float[Array, ""]
    """Of the wanted speed, m/s: feet slip, so that the pendulum's steps lead to another speed."""
    headings: Float[Array, "2 2"]
    """Of the base when this step began, and the one before: unit vectors."""
    nod: Float[Array, ""]
    """Learned so far, rad/s2."""


class Seen(NamedTuple):
    """The robot as its sensors show it; world frame."""

    com: Float[Array, "3"]  # m
    com_velocity: Float[Array, "3"]  # m/s
    feet: Float[Array, "2 3"]  # m, origins
    heading: Float[Array, "2"]  # of the base, unit vector


class Stepper(eqx.Module):
    """A controller: torques from the state once a period, as a pure function. The clock says which foot carries.

    The robot keeps its height over where the last foot ended up: on sand, over its footprint.
    """

    controller: SteppingController
    speed: Float[Array, ""]  # m/s, forwards
    standing: References
    gait: SteppingGait

    def __init__(self, controller: SteppingController, gait: SteppingGait, speed: float = 0.0):
        self.controller, self.gait = controller, gait
        self.speed = np.asarray(speed, float)
        self.standing = holding(controller.robot, controller.frames, controller.robot.posture)

    def init(self, state: State) -> Memory:
        zero = jnp.zeros(())
        return Memory(jnp.asarray(-1), jnp.zeros(3), zero, jnp.zeros(2), zero, jnp.zeros((2, 2)), zero)

    def __call__(self, memory: Memory, state: State) -> tuple[Memory, Control]:
        seen = self.see(state.q, state.v)
        memory = self._remember(memory, state.time, seen)
        torque = self.controller.torque(state.q, state.v, self._references(memory, state.time, seen))
        return memory, Control(torque)

    def see(self, q: Float[Array, " nq"], v: Float[Array, " nv"]) -> Seen:
        robot = self.controller.robot
        kin = robot.kinematics(q)
        velocity = robot.centroidal_momentum(kin, v)[:3] / jnp.sum(jnp.asarray(robot.parameters.mass))
        forward = robot.body_poses(kin)[1][0][:2, 0]
        return Seen(robot.center_of_mass(kin), velocity, robot.foot_poses(kin)[0], forward / jnp.linalg.norm(forward))

    @property
    def omega(self):
        """Rate at which the robot tips over its foot, 1/s."""
        return self.gait.omega(jnp.linalg.norm(jnp.asarray(self.controller.robot.gravity)))

    @property
    def _clearance(self) -> float:
        return self.controller.robot.feet[0].clearance

    def _remember(self, memory: Memory, time, seen: Seen) -> Memory:
        step = jnp.floor(time / self.gait.stance + 1e-6).astype(int)
        is_new = step != memory.step
        leaving = seen.feet[1 - step % 2]
        keep = lambda new, old: jnp.where(is_new, new, old)  # noqa: E731
        level = jnp.where(memory.step < 0, seen.feet[step % 2, 2], leaving[2]) - self._clearance
        speed = (seen.com[:2] - memory.place) @ seen.heading / self.gait.stance
        missing = jnp.where(memory.step < 1, 0.0, self._wanted(time) - speed)
        turn = _angle(memory.headings[1], seen.heading) / (2 * self.gait.stance)
        straying = jnp.where(memory.step < 2, 0.0, self.gait.turn * self.gait.growth(time) - turn)
        return Memory(
            step,
            keep(leaving, memory.lift_off),
            keep(level, memory.level),
            keep(seen.com[:2], memory.place),
            keep(memory.correction + self.gait.learning * missing, memory.correction),
            keep(jnp.stack([seen.heading, memory.headings[0]]), memory.headings),
            keep(self._learned(memory.nod, straying), memory.nod),
        )

    def _learned(self, nod, straying) -> Float[Array, ""]:
        """Nod (rad/s2) after a stride that lacked so much of its turn (rad/s)."""
        return jnp.clip(nod + self.gait.steering * straying, -self.gait.most_nod, self.gait.most_nod)

    def _wanted(self, time) -> Float[Array, ""]:
        """Speed, m/s."""
        return self.speed * self.gait.growth(time)

    def _references(self, memory: Memory, time, seen: Seen) -> References:
        gait, robot = self.gait, self.controller.robot
        carrying, swinging = memory.step % 2, 1 - memory.step % 2
        since = time - memory.step * gait.stance
        forward = jnp.stack([seen.heading, jnp.stack([-seen.heading[1], seen.heading[0]])])  # (forwards, left)
        left = jnp.where(swinging == 0, 1.0, -1.0)
        landing = next_foot(
            gait,
            self.omega,
            forward @ seen.com[:2],
            forward @ seen.com_velocity[:2],
            forward @ seen.feet[carrying, :2],
            left,
            gait.stance - since,
            jnp.stack([self._wanted(time) + memory.correction, jnp.zeros(())]),
        )
        end = jnp.append(landing @ forward, self._clearance + gait.landing * memory.level)
        position, velocity, acceleration = cycloid(memory.lift_off, end, gait.swing_height, gait.stance, since)
        zero = jnp.zeros(3)
        swing = FrameMotion(position, jnp.eye(3), jnp.append(velocity, zero), jnp.append(acceleration, zero))
        turned = jnp.eye(3).at[:2, :2].set(forward.T)
        trunk = nodding_trunk(turned, gait.nod * gait.growth(time) + memory.nod, -left, gait.stance, since)
        frames = {name: trunk if name == robot.body_names[0] else swing for name in self.standing.frames}
        height = memory.level + gait.com_height
        return self.standing._replace(
            com=PointMotion(jnp.stack([0.0, 0.0, height]), zero, zero, zero),
            frames=frames,
            in_contact=jnp.arange(2) == carrying,
        )


def _angle(before: Float[Array, "2"], after: Float[Array, "2"]) -> Float[Array, ""]:
    """From one direction in the plane to another, to the left (rad)."""
    return jnp.arctan2(before[0] * after[1] - before[1] * after[0], before @ after)
