"""What the ground is, from actuator torques, encoders and the velocity of the base alone: no force sensor.

    identifier = TerrainIdentifier(robot, Wedge(zeta=1.0, shear=True), ("zeta", "saturation_length"))
    beliefs = identifier.over(identifier.start(q, depth=0.01), stream)  # a scan; `update` is one tick of it

*Forces.* What the ground does to the robot is what its actuators and its own motion do not explain,

    e = M(q) (v' - v) / dt + h(q, v) - S tau,

with v and v' the velocities at the start and the end of a period: the generalised force sum_i J_i' w_i of all feet.
A velocity is known with noise, and its difference over 2 ms hardly at all; but low-passed with a time constant T, e has
a noise of M times that of v over T, because every v' is the next period's v. This is the momentum observer.

*Ground.* The same low-pass over what a medium says, g(x) = sum_i J_i' w_i(x) with the sensed depth and twist of the
feet, gives the innovation. Unknown are x = (logs of parameters of the medium, ground height): nobody measures how high
the base is over the ground, its height is integrated from its velocity, and the depth of a foot is the ground height
minus the height of its sole. The ground height may wander (`height_drift`), for ground that is not flat and velocities
that are off. A medium is linear in its scale, in other parameters it is not: the regressor is dg/dx at the belief
(extended recursive least squares), by automatic differentiation through the medium's own law, whichever it is.

*Grains at rest teach little.* The force of grains does not depend on how fast a foot moves, only where to. On a foot at
rest it is anywhere between zero and what would make it yield: which way it moves, and with it what the law says, is
then noise of the velocity. So the law is asked not once but at twists spread by that noise (six of them, sqrt(3)
deviations ahead, back, left, right, up and down). Their mean is the prediction, their scatter adds to the covariance of
the innovation, and it does so as often as there are periods in a rest: within it the error hardly changes, so that its
samples are one. A foot that yields fast compared with the noise counts fully, one at rest hardly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.contact.feet import contact_jacobian, feet_in_ground
from softground.control.estimation import correction
from softground.errors import OptionError, unknown_name
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.robots.dynamics import Kinematics
from softground.simulation.groups import medium_under_feet
from softground.surfaces import Plane, Surface

SPREAD = np.sqrt(3.0) * np.concatenate([np.eye(3), -np.eye(3)])
"""Deviations of a velocity: equally weighed they have the mean and the covariance of noise alike along three axes."""


class Sensed(NamedTuple):
    """One control period as the robot's sensors show it. Add a leading axis for a stream of them."""

    q: Float[Array, " nq"]  # orientation of the base and joint angles; the place of the base is not looked at
    v: Float[Array, " nv"]  # at the start
    v_after: Float[Array, " nv"]  # at the end
    torque: Float[Array, " nu"]  # N m, of the actuators


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations of a sample."""

    torque: float = 0.1  # N m, of an actuator
    base_velocity: float = 0.01  # m/s
    base_rate: float = 0.01  # rad/s
    joint_rate: float = 0.01  # rad/s

    def of_velocity(self, nv: int, places: int = 3) -> Float[np.ndarray, " nv"]:
        """Standard deviation for every entry of v, of a base that moves in so many directions."""
        base = np.repeat([self.base_velocity, self.base_rate], [places, places * (places - 1) // 2])
        return np.concatenate([base, np.full(nv - len(base), self.joint_rate)])


@dataclass(frozen=True)
class Uncertainty:
    """How little is known at the start, and under way."""

    factor: float = 3.0  # by which a parameter of the ground may be off: one deviation of its logarithm
    drift: float = 0.05  # of the logarithm of a parameter, per sqrt(s)
    height: float = 0.01  # m
    height_drift: float = 0.002  # m per sqrt(s)
    model: float = 0.02  # share of a force that the law misses
    rest: float = 0.1  # s, for which a foot rests in one go


class Belief(eqx.Module):
    """What is known of the ground, and what the next tick needs."""

    mean: Float[Array, "*t n"]  # logarithms of the parameters, then the ground height (m)
    covariance: Float[Array, "*t n n"]
    place: Float[Array, "*t d"]  # m, of the base, integrated
    memory: Any  # of the ground, per foot
    sensed: Float[Array, "*t nv"]  # low-passed generalised force of the ground, from the motion, ...
    expected: Float[Array, "*t nv"]  # ... and from the medium, ...
    regressor: Float[Array, "*t nv n"]  # ... and how that depends on the mean
    scatter: Float[Array, "*t nv nv"]  # covariance of what is expected, from noise of the twists

    @property
    def parameters(self) -> Float[Array, "*t p"]:
        """In the order of the identifier's names."""
        return jnp.exp(self.mean[..., :-1])

    @property
    def deviations(self) -> Float[Array, "*t p"]:
        """Deviations of the logarithms of the parameters: relative, where they are small."""
        return jnp.sqrt(jnp.diagonal(self.covariance, axis1=-2, axis2=-1))[..., :-1]

    @property
    def height(self) -> Float[Array, "*t"]:
        """Height of the ground over where the base was at the start, m."""
        return self.mean[..., -1]


class TerrainIdentifier(eqx.Module):
    """Estimates named parameters of a medium under the feet of a robot with a floating base, in space or in a plane."""

    robot: Robot
    surface: Surface  # of the ground, but for how high it is
    medium: Medium  # its named parameters are the first guess
    dt: Float[Array, ""]  # s
    filter_time: Float[Array, ""]  # s
    names: tuple[str, ...] = eqx.field(static=True)
    noise: SensorNoise = eqx.field(static=True)
    uncertainty: Uncertainty = eqx.field(static=True)

    def __init__(
        self,
        robot: Robot,
        medium: Medium,
        names: tuple[str, ...],
        *,
        dt: float = 2e-3,
        filter_time: float = 1e-2,
        noise: SensorNoise | None = None,
        uncertainty: Uncertainty | None = None,
        surface: Surface | None = None,
    ):
        """names: of parameters of the medium, positive numbers. dt: s, of a period. filter_time: s, of the low-pass.
        surface: of the ground, by default a level one; how high it is, is found out."""
        if not _floats(robot):
            raise OptionError(
                f"identification needs a robot with a base that floats, in space or in a plane, got {robot.name}"
            )
        if not 0 < dt <= filter_time:
            raise OptionError(f"filter_time must be at least a period, {dt:g} s, got {filter_time:g} s")
        known = [name for name, value in vars(medium).items() if isinstance(value, Array) and np.ndim(value) == 0]
        for name in names:
            if name not in known:
                raise OptionError(unknown_name(f"parameter of {type(medium).__name__}", name, known))
            if not getattr(medium, name) > 0:
                raise OptionError(f"the first guess of {name} must be positive, got {getattr(medium, name)}")
        self.robot, self.medium, self.names = robot, medium, tuple(names)
        self.surface = Plane() if surface is None else surface
        self.dt, self.filter_time = np.asarray(dt), np.asarray(filter_time)
        self.noise, self.uncertainty = noise or SensorNoise(), uncertainty or Uncertainty()

    def start(
        self, q: Float[Array, " nq"], depth: float | Float[Array, ""], foot: int | Int[Array, ""] | None = None
    ) -> Belief:
        """Belief of a robot in configuration q with a foot, the lowest or this one, at an assumed depth (m)."""
        place = jnp.zeros(self._places)
        feet = feet_in_ground(self.robot, _at_place(place, jnp.asarray(q)), self.surface)
        guess = jnp.log(jnp.stack([getattr(self.medium, name) for name in self.names]))
        mean = jnp.append(guess, depth - (feet.depth.max() if foot is None else feet.depth[foot]))
        deviations = np.array([np.log(self.uncertainty.factor)] * len(guess) + [self.uncertainty.height])
        medium = medium_under_feet(self.medium, self.robot)
        memory = jax.vmap(lambda medium, foot: medium.initial_memory(foot))(medium, _below(feet, mean))
        nv, n = self.robot.nv, len(mean)
        forces = jnp.zeros(nv), jnp.zeros(nv), jnp.zeros((nv, n)), jnp.zeros((nv, nv))
        return Belief(mean, jnp.diag(deviations**2), place, memory, *forces)

    def over(self, belief: Belief, stream: Sensed) -> Belief:
        """The beliefs after each period of a stream (leading axis)."""

        def tick(belief, sensed):
            after = self.update(belief, sensed)
            return after, after

        return jax.lax.scan(tick, belief, stream)[1]

    def update(self, belief: Belief, sensed: Sensed) -> Belief:
        """The belief after one more period."""
        robot = self.robot
        kin = robot.kinematics(_at_place(belief.place, sensed.q))
        feet = feet_in_ground(robot, kin, self.surface)
        jacobian = contact_jacobian(feet, robot.foot_jacobians(kin), medium_under_feet(self.medium, robot))
        twists = jacobian @ sensed.v_after

        def prediction(mean):
            force, scatter = self._predicted(mean, feet, belief.memory, jacobian, twists)
            return force, (force, scatter)

        slope, (force, scatter) = jax.jacfwd(prediction, has_aux=True)(belief.mean)
        mixed = lambda old, new: old + self.dt / self.filter_time * (new - old)  # noqa: E731
        of_motion, expected = mixed(belief.sensed, self._sensed_force(kin, sensed)), mixed(belief.expected, force)
        regressor, scatter = mixed(belief.regressor, slope), mixed(belief.scatter, scatter)

        uncertainty = self.uncertainty
        drift = self.dt * jnp.full_like(belief.mean, uncertainty.drift**2).at[-1].set(uncertainty.height_drift**2)
        noise = (
            self._sensor_noise(kin)
            + uncertainty.rest / self.dt * scatter
            + jnp.diag((uncertainty.model * expected) ** 2)
        )
        change, covariance = correction(belief.covariance + jnp.diag(drift), of_motion - expected, regressor, noise)
        mean = belief.mean + change
        below, medium = _below(feet, mean), self._medium_of(mean)
        laws = self._laws(medium, below, belief.memory)
        memory = jax.vmap(lambda one, *of: one.remember(*of, self.dt))(medium, below, belief.memory, laws, twists)
        place = belief.place + self.dt * sensed.v_after[: self._places]
        return Belief(mean, covariance, place, memory, of_motion, expected + regressor @ change, regressor, scatter)

    def _predicted(
        self, mean: Float[Array, " n"], feet: FootInGround, memory, jacobian: Float[Array, "f k nv"], twists
    ) -> tuple[Float[Array, " nv"], Float[Array, "nv nv"]]:
        """Generalised force of the ground by the medium: mean and covariance over the noise of the twists."""
        laws = self._laws(self._medium_of(mean), _below(feet, mean), memory)
        linear = np.eye(6)[:3, COMPONENTS[self._kind]]  # the twist's linear part, which every kind has
        off = jnp.einsum("pc,f,ck->pfk", SPREAD, self._foot_velocity_noise(jacobian), linear)
        wrenches = jax.vmap(lambda twists: jax.vmap(lambda law, twist: law.wrench(twist))(laws, twists))(twists + off)
        forces = jnp.einsum("pfk,fkv->pv", wrenches, jacobian)
        average = forces.mean(axis=0)
        return average, (forces - average).T @ (forces - average) / len(SPREAD)

    def _foot_velocity_noise(self, jacobian: Float[Array, "f k nv"]) -> Float[Array, " f"]:
        """Standard deviation along an axis of the velocity of each foot (m/s): the mean of the axes."""
        is_linear = COMPONENTS[self._kind] < 3
        variances = (jacobian[:, is_linear] * self.noise.of_velocity(self.robot.nv, self._places)) ** 2
        return jnp.sqrt(variances.sum(axis=-1).mean(axis=-1))

    def _sensed_force(self, kin: Kinematics, sensed: Sensed) -> Float[Array, " nv"]:
        """e: the generalised force that actuators and motion do not explain."""
        robot = self.robot
        own = robot.mass_matrix(kin) @ (sensed.v_after - sensed.v) / self.dt + robot.bias_force(kin, sensed.v)
        driven = jnp.asarray(robot.passive_force(kin, sensed.v)).at[np.array(robot.actuated)].add(sensed.torque)
        return own - driven

    def _sensor_noise(self, kin: Kinematics) -> Float[Array, "nv nv"]:
        """Covariance of the low-passed e."""
        momentum = self.robot.mass_matrix(kin) * (
            self.noise.of_velocity(self.robot.nv, self._places) / self.filter_time
        )
        torque = np.zeros(self.robot.nv)
        torque[np.array(self.robot.actuated)] = self.noise.torque
        return momentum @ momentum.T + np.diag(torque**2)

    def _medium_of(self, mean: Float[Array, " n"]) -> FootMedium:
        """The medium under every foot (leading axis), with the parameters of a belief."""
        named = lambda medium: [getattr(medium, name) for name in self.names]  # noqa: E731
        return medium_under_feet(eqx.tree_at(named, self.medium, list(jnp.exp(mean[:-1]))), self.robot)

    @property
    def _places(self) -> int:
        """Directions in which the base moves: the first entries of q, and of v."""
        return 2 if self.robot.planar else 3

    @property
    def _kind(self) -> str:
        return medium_under_feet(self.medium, self.robot).kind

    def _laws(self, medium: FootMedium, feet: FootInGround, memory):
        return jax.vmap(lambda one, *of: one.law(*of, self.dt))(medium, feet, memory)


def _below(feet: FootInGround, mean: Float[Array, " n"]) -> FootInGround:
    """Feet seen from z = 0, below ground whose level is the last entry of a belief's mean."""
    return eqx.tree_at(lambda of: of.depth, feet, feet.depth + mean[-1])


def _at_place(place: Float[Array, " d"], q: Float[Array, " nq"]) -> Float[Array, " nq"]:
    """A configuration with its base at another place (m)."""
    return jnp.concatenate([place, q[len(place) :]])


def _floats(robot: Robot) -> bool:
    """Whether a robot's first coordinates are a free joint, or in the plane slides along x and z and a hinge."""
    if not robot.planar:
        return robot.nq == robot.nv + 1
    try:
        base = base_motion(robot)
    except OptionError:
        return False
    return (base.forward_q, base.up_q, base.attitude_q) == (0, 1, (2,))
