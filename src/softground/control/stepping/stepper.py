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
from softground.control.stepping.relief import relief
from softground.control.whole_body.references import FrameMotion, PointMotion, References, holding
from softground.robots.rotations import cross, quaternion_exp, quaternion_matrix
from softground.simulation import Control, State

Motion = tuple[Float[Array, "3"], Float[Array, "3"], Float[Array, "3"]]
"""Position (m), velocity (m/s) and acceleration (m/s2)."""


class Memory(NamedTuple):
    """What the stepper carries from tick to tick."""

    step: Int[Array, ""]
    """Number of the stance; -1 before the first."""
    lift_off: Float[Array, "3"]
    """Where the swinging foot left, or, before that, where it is, m."""
    drift: Float[Array, "3"]
    """How far the robot is from where it believes to be, m: as far as feet have slid and sunk while they carried."""
    ground_height: Float[Array, ""]
    """Height of the sole that carried before, when its stance ended, m: as deep as feet sink here."""
    place: Float[Array, "2"]
    """Place of the centre of mass when the step began, m."""
    correction: Float[Array, ""]
    """Correction of the desired speed, m/s: feet slip, so that the pendulum's steps lead to another speed."""
    headings: Float[Array, "2 2"]
    """Headings of the base when this step began, and the one before: unit vectors."""
    pitch_acceleration: Float[Array, ""]
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
    trunk_height: Float[Array, ""]  # m, of the trunk's origin over the centre of mass, standing
    gait: SteppingGait

    def __init__(self, controller: SteppingController, gait: SteppingGait, speed: float = 0.0):
        self.controller, self.gait = controller, gait
        self.speed = np.asarray(speed, float)
        self.standing = holding(controller.robot, controller.frames, controller.robot.posture)
        trunk = self.standing.frames[controller.robot.body_names[0]]
        self.trunk_height = np.asarray(trunk.position[2] - self.standing.com.position[2])

    def init(self, state: State) -> Memory:
        zero = jnp.zeros(())
        return Memory(jnp.asarray(-1), jnp.zeros(3), jnp.zeros(3), zero, jnp.zeros(2), zero, jnp.zeros((2, 2)), zero)

    def __call__(self, memory: Memory, state: State) -> tuple[Memory, Control]:
        slip = self.gait.odometry * self._slip(state)
        memory = memory._replace(drift=memory.drift + self.controller.period * slip)
        axes = np.array([0, 2] if self.controller.robot.planar else [0, 1, 2])  # of the base's place
        moved = lambda x, by: jnp.asarray(x).at[: len(axes)].add(-by[axes])  # noqa: E731
        q, v = moved(state.q, memory.drift), moved(state.v, slip)
        seen = self.see(q, v)
        memory = self._remember(memory, state.time, seen)
        torque = self.controller.torque(q, v, self._references(memory, state.time, seen), state.v)
        return memory, Control(torque)

    def _slip(self, state: State) -> Float[Array, "3"]:
        """Velocity (m/s) of the lowest point of the foot that carries: the sole's there, which no encoder sees."""
        robot = self.controller.robot
        feet = robot.frames(state.q, state.v, [foot.name for foot in robot.feet])
        twist = feet.twist[self._step(state.time) % 2]
        return twist[:3] - cross(twist[3:], np.array([0.0, 0.0, self._clearance]))

    def _step(self, time) -> Int[Array, ""]:
        return jnp.floor(time / self.gait.stance + 1e-6).astype(int)

    def _since(self, time, step) -> Float[Array, ""]:
        """Time since the step began, s; not less than zero: by rounding its first instant may come before it, and the
        foot that leaves would carry once more."""
        return jnp.maximum(time - step * self.gait.stance, 0.0)

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
        step = self._step(time)
        is_new = step != memory.step
        leaving = seen.feet[1 - step % 2]  # or has left
        keep = lambda new, old: jnp.where(is_new, new, old)  # noqa: E731
        ground_height = jnp.where(memory.step < 0, seen.feet[step % 2, 2], leaving[2]) - self._clearance
        speed = (seen.com[:2] - memory.place) @ seen.heading / self.gait.stance
        missing = jnp.where(memory.step < 1, 0.0, self._desired_speed(time) - speed)
        turn = _angle(memory.headings[1], seen.heading) / (2 * self.gait.stance)
        straying = jnp.where(memory.step < 2, 0.0, self.gait.turn * self.gait.growth(time) - turn)
        still_stands = self._since(time, step) < self._standing_seconds
        return Memory(
            step,
            jnp.where(is_new | still_stands, leaving, memory.lift_off),
            memory.drift,
            keep(ground_height, memory.ground_height),
            keep(seen.com[:2], memory.place),
            keep(memory.correction + self.gait.learning * missing, memory.correction),
            keep(jnp.stack([seen.heading, memory.headings[0]]), memory.headings),
            keep(self._learned(memory.pitch_acceleration, straying), memory.pitch_acceleration),
        )

    @property
    def _standing_seconds(self):
        """Time of double support, s."""
        return self.gait.double_support * self.gait.stance

    def _learned(self, pitch_acceleration, straying) -> Float[Array, ""]:
        """Trunk pitch (rad/s2) after a stride that lacked so much of its turn (rad/s)."""
        return jnp.clip(
            pitch_acceleration + self.gait.steering * straying,
            -self.gait.most_pitch_acceleration,
            self.gait.most_pitch_acceleration,
        )

    def _desired_speed(self, time) -> Float[Array, ""]:
        """Speed, m/s."""
        return self.speed * self.gait.growth(time)

    def _references(self, memory: Memory, time, seen: Seen) -> References:
        gait, robot = self.gait, self.controller.robot
        carrying, swinging = memory.step % 2, 1 - memory.step % 2
        since = self._since(time, memory.step)
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
            jnp.stack([self._desired_speed(time) + memory.correction, jnp.zeros(())]),
        )
        sole = seen.feet[carrying, 2] - self._clearance
        ground = gait.odometry * sole + (1 - gait.odometry) * gait.landing * memory.ground_height
        end = jnp.append(landing @ forward, self._clearance + ground)
        both = self._standing_seconds
        position, velocity, acceleration = cycloid(
            memory.lift_off, end, gait.swing_height, gait.stance - both, since - both
        )
        zero = jnp.zeros(3)
        swing = FrameMotion(position, jnp.eye(3), jnp.append(velocity, zero), jnp.append(acceleration, zero))
        turned = jnp.eye(3).at[:2, :2].set(forward.T)
        trunk = pitching_trunk(
            turned, gait.pitch_acceleration * gait.growth(time) + memory.pitch_acceleration, -left, gait.stance, since
        )
        height = memory.ground_height + gait.com_height
        trunk = trunk._replace(position=jnp.stack([0.0, 0.0, height + self.trunk_height]))
        stands = since < both
        arm = seen.com - seen.feet[swinging] + np.array([0.0, 0.0, self._clearance])
        weight = jnp.sum(jnp.asarray(robot.parameters.mass)) * jnp.linalg.norm(jnp.asarray(robot.gravity))
        share = since / jnp.maximum(both, self.controller.period)
        force = jnp.where(stands, relief(share, gait.push_off, weight, arm), 0.0)
        frames = {name: trunk if name == robot.body_names[0] else swing for name in self.standing.frames}
        return self.standing._replace(
            com=PointMotion(jnp.stack([0.0, 0.0, height]), zero, zero, zero),
            frames=frames,
            wrenches=jnp.zeros((2, 6)).at[swinging, :3].set(force),
            in_contact=(jnp.arange(2) == carrying) | stands,
        )


def _angle(before: Float[Array, "2"], after: Float[Array, "2"]) -> Float[Array, ""]:
    """From one direction in the plane to another, to the left (rad)."""
    return jnp.arctan2(before[0] * after[1] - before[1] * after[0], before @ after)


def next_foot(
    gait: SteppingGait,
    omega: float | Array,
    com: Float[Array, "2"],
    velocity: Float[Array, "2"],
    foot: Float[Array, "2"],
    left: float | Array,
    time_left: float | Array,
    desired: Float[Array, "2"],
) -> Float[Array, "2"]:
    """Where (forwards, left; m) the swinging foot should land for a robot over `foot` (Raibert's rule).

    A pendulum of constant height over a foot at p moves by x'' = omega^2 (x - p). What grows of its motion is the
    capture point xi = x + x'/omega; it leaves the foot as exp(omega t). Steps of length L and duration T repeat if
    every stance begins with xi ahead of its foot by

        b = L / (exp(omega T) - 1),

    so the foot goes to xi - b: to x + x'/omega - b, the offset that sustains the desired speed plus 1/omega times the
    error of velocity. Sideways, left and right alternate: xi begins W / (exp(omega T) + 1) inside the foot, W apart.

    omega: 1/s, of the gait under the robot's gravity. left: 1 for a left foot that swings, -1 for a right one.
    time_left: s, until it lands. desired: velocity, m/s.
    """
    duration = gait.stance
    capture = com + velocity / omega
    at_landing = foot + (capture - foot) * jnp.exp(omega * time_left)
    growth = jnp.exp(omega * duration)
    inside = jnp.stack([jnp.zeros(()), -left * gait.width / (growth + 1)])
    return at_landing - desired * duration / (growth - 1) - inside


def cycloid(start: Float[Array, "3"], end: Float[Array, "3"], height, duration, time) -> Motion:
    """Position (m), velocity and acceleration of a swinging foot at a time (s) since lift-off.

    It moves on a cycloid, at rest over the ground when it leaves and when it lands. With s = time / duration the foot
    has gone the share s - sin(2 pi s) / (2 pi) of its way, and is height (1 - cos(2 pi s)) / 2 above the line from
    start to end.
    """
    s = jnp.clip(time / duration, 0.0, 1.0)
    turn = 2 * np.pi / duration
    angle = 2 * np.pi * s
    way, up = end - start, height / 2 * np.array([0.0, 0.0, 1.0])
    return (
        start + way * (s - jnp.sin(angle) / (2 * np.pi)) + up * (1 - jnp.cos(angle)),
        way * (1 - jnp.cos(angle)) / duration + up * turn * jnp.sin(angle),
        way * turn * jnp.sin(angle) / duration + up * turn**2 * jnp.cos(angle),
    )


def pitching_trunk(
    upright: Float[Array, "3 3"],
    pitch_acceleration: float | Float[Array, ""],
    side: float | Float[Array, ""],
    duration,
    time,
) -> FrameMotion:
    """Desired motion of a trunk that is `upright` between stances: by pitching it, a biped without an actuator about z
    turns.

    To pitch its trunk with an acceleration alpha the robot needs a moment about its centre of mass, which the ground
    gives by a force along x at the foot that carries, h below:  -h F_x = I alpha.  That foot is W/2 beside the centre
    of mass, so the same force turns the robot about the vertical by

        M = -y F_x = +- I alpha W / (2 h),         + on the left foot, - on the right one.

    A trunk that is accelerated forwards (alpha > 0) while the left foot carries, and backwards while the right one
    does, is turned to the left in both stances. It is upright whenever the feet change, and ends a stance at minus the
    rate with which it began, so stances follow on each other: with t since the stance began and T its duration the
    pitch is alpha t (t - T) / 2. Over the left foot it leans back, by alpha T^2 / 8 at most, and over the right one
    forwards.

    By where feet are put this robot hardly turns. While a robot's angular momentum about the level axes does not
    change, the ground's force points from its foot to its centre of mass and has no moment about the vertical.

    pitch_acceleration: rad/s2. side: 1 while the left foot carries, -1 while the right one does. time: s, since the
    stance began.
    """
    axis, size = upright[:, 1], side * pitch_acceleration
    zero = jnp.zeros(3)
    turned = quaternion_matrix(quaternion_exp(axis * size * time * (time - duration) / 2))
    rate, acceleration = (jnp.append(zero, axis * x) for x in (size * (time - duration / 2), size))
    return FrameMotion(zero, turned @ upright, rate, acceleration)
