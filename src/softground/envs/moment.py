"""Moment: what there is to see of a robot between two actions; observations, rewards, endings look at nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array, is_known
from softground.contact.feet import feet_in_ground
from softground.control.posture import actuator_positions, pd_gains
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.robots.rotations import quaternion_matrix
from softground.robots.tree import FREE
from softground.simulation import Control, Simulator
from softground.simulation.simulator import Record, State
from softground.surfaces import Surface

#: Share of the weight that a foot must carry to count as on the ground.
TOUCH = 0.02
GRAVITY = 9.81  # m/s2


class Moment(NamedTuple):
    """One robot between two actions; nu actuators, F feet."""

    rotation: Float[Array, "3 3"]  # of the base in the world
    height: Float[Array, ""]  # m, of the base's origin above the surface
    linear: Float[Array, "3"]  # m/s, of the base, in its own frame
    angular: Float[Array, "3"]  # rad/s, likewise
    joints: Float[Array, " nu"]  # rad, less the posture
    speeds: Float[Array, " nu"]  # rad/s
    accelerations: Float[Array, " nu"]  # rad/s2, mean since the last action
    torque: Float[Array, " nu"]  # N m
    action: Float[Array, " nu"]
    last_action: Float[Array, " nu"]
    command: Float[Array, "3"]  # m/s, m/s, rad/s
    load: Float[Array, " F"]  # of the feet, normal force in weights of the robot
    depth: Float[Array, " F"]  # m, positive below the surface
    slip: Float[Array, " F"]  # m/s, along the surface
    tilt: Float[Array, " F"]  # rad, about +y
    feet: Float[Array, " k"]  # m, of their origins from the base, in its frame; empty unless asked for
    air_time: Float[Array, " F"]  # s, since a foot left the ground
    landed: Bool[Array, " F"]  # feet that came down in this period
    ground: Float[Array, " p"]  # parameters of the ground that vary, 0 to 1
    ended: Bool[Array, ""]  # whether the episode ends here for another reason than time

    @property
    def up(self) -> Float[Array, "3"]:
        """The vertical in the base's frame."""
        return self.rotation[2]

    @property
    def pitch(self) -> Float[Array, ""]:
        """Of the base, rad, positive about +y."""
        return jnp.arctan2(self.rotation[0, 2], self.rotation[2, 2])

    @property
    def forward(self) -> Float[Array, ""]:
        """Velocity of the base along the world's x, m/s."""
        return self.rotation[0] @ self.linear

    @property
    def told(self) -> Bool[Array, ""]:
        """Whether the robot is to move."""
        return jnp.sqrt((self.command**2).sum()) > 0.05


@dataclass(frozen=True)
class Driven:
    """A robot under joint references: how actions become control, and what is seen of a state."""

    robot: Robot
    posture: np.ndarray  # (nu,) rad
    kp: np.ndarray  # (nu,) N m/rad
    kd: np.ndarray  # (nu,) N m s/rad
    scale: float  # rad, of an action of 1
    sees_feet: bool  # whether places of the feet are asked for, which need kinematics

    @classmethod
    def of(cls, robot: Robot, kp: float | None, kd: float | None, scale: float, sees_feet: bool) -> Driven:
        """Gains (N m/rad, N m s/rad) of all actuators; None: those that follow from the robot's inertia."""
        stiff, damped = pd_gains(robot) if kp is None or kd is None else (np.full(robot.nu, kp), np.full(robot.nu, kd))
        posture = actuator_positions(robot, np.asarray(robot.posture))
        return cls(robot, np.asarray(posture), stiff, damped, scale, sees_feet)

    def control(self, action: Float[Array, " nu"]) -> Control:
        """Joint references of an action."""
        dtype = action.dtype
        target = jnp.asarray(self.posture, dtype) + self.scale * action
        return Control(position=target, kp=jnp.asarray(self.kp, dtype), kd=jnp.asarray(self.kd, dtype))

    def torque(self, state: State, action: Float[Array, " nu"]) -> Float[Array, " nu"]:
        """Of the PD controllers in a state, N m."""
        control = self.control(action)
        joints, speeds = self.joints(state)
        return jnp.asarray(control.kp) * (jnp.asarray(control.position) - joints) - jnp.asarray(control.kd) * speeds

    def joints(self, state: State) -> tuple[Float[Array, " nu"], Float[Array, " nu"]]:
        """Positions (rad) and speeds (rad/s) of the actuated joints."""
        return actuator_positions_of(self.robot, state.q), state.v[np.array(self.robot.actuated)]

    def seen(self, state: State, surface: Surface, action: Float[Array, " nu"], command: Float[Array, "3"]) -> Moment:
        """What the robot itself and its surroundings show in a state; of its feet on the ground nothing yet."""
        dtype, count = state.q.dtype, len(self.robot.feet)
        position, rotation, linear, angular = base_of(self.robot, state)
        joints, speeds = self.joints(state)
        none = jnp.zeros(count, dtype)
        return Moment(
            rotation=rotation,
            height=surface.signed_distance(position),
            linear=rotation.T @ linear,
            angular=angular,
            joints=joints - jnp.asarray(self.posture, dtype),
            speeds=speeds,
            accelerations=jnp.zeros_like(speeds),
            torque=self.torque(state, action),
            action=action,
            last_action=action,
            command=command,
            load=none,
            depth=none,
            slip=none,
            tilt=none,
            feet=self._feet(state, position, rotation),
            air_time=none,
            landed=jnp.zeros(count, bool),
            ground=jnp.zeros(0, dtype),
            ended=jnp.zeros((), bool),
        )

    def _feet(self, state: State, position, rotation) -> Float[Array, " k"]:
        if not self.sees_feet:
            return jnp.zeros(0, state.q.dtype)
        places, turns = self.robot.foot_poses(state.q)
        away = (places - position) @ rotation
        return jnp.concatenate([away.ravel(), jnp.arctan2(turns[:, 0, 2], turns[:, 2, 2])])


def actuator_positions_of(robot: Robot, q: Float[Array, " nq"]) -> Float[Array, " nu"]:
    """Positions (rad, m) of the actuators, of a configuration that may be traced."""
    return q[np.array(robot.dof_q, dtype=int)[list(robot.actuated)]]


def base_of(robot: Robot, state: State) -> tuple[Array, Array, Array, Array]:
    """Position (m), rotation, linear velocity (m/s) of the base in the world; angular velocity (rad/s) in its frame."""
    q, v = state.q, state.v
    if robot.tree.joint_type[0] == FREE:
        return q[:3], quaternion_matrix(q[3:7]), v[:3], v[3:6]
    base = base_motion(robot)
    zero, one = jnp.zeros((), q.dtype), jnp.ones((), q.dtype)
    pitch, turn = q[base.attitude_q[0]], v[list(robot.dof_q).index(base.attitude_q[0])]
    sine, cosine = jnp.sin(pitch), jnp.cos(pitch)
    rotation = jnp.stack([cosine, zero, sine, zero, one, zero, -sine, zero, cosine]).reshape(3, 3)
    rise = v[list(robot.dof_q).index(base.up_q)]
    return (
        jnp.stack([q[base.forward_q], zero, q[base.up_q]]),
        rotation,
        jnp.stack([v[base.forward_v], zero, rise]),
        jnp.stack([zero, turn, zero]),
    )


def with_feet(moment: Moment, robot: Robot, record: Record, kind: str) -> Moment:
    """The moment with what a record says of the feet on the ground. kind: components of its twists."""
    dtype = moment.joints.dtype
    weight = jnp.asarray(float(robot.total_mass) * GRAVITY, dtype)
    along = record.twist[:, :1] if kind == "planar" else record.twist[:, :2]
    return moment._replace(
        torque=record.torque,
        load=record.wrench_world[:, 2] / weight,
        depth=record.depth,
        slip=jnp.sqrt((along**2).sum(-1)),
        tilt=record.tilt,
    )


def set_down(simulator: Simulator, q: Float[Array, " nq"], height: float, up: int) -> Float[Array, " nq"]:
    """The configuration, moved along coordinate `up` until the lowest foot is `height` (m) above the surface.

    One shift does on level ground; a slope leaves 1 - cos(slope) of the way to the next.
    """
    for _ in range(1 if is_level(simulator.ground.surface) else 4):
        q = jnp.asarray(q).at[up].add(feet_in_ground(simulator.robot, q, simulator.ground.surface).depth.max() + height)
    return q


def is_level(surface: Surface) -> bool:
    """Whether a surface is known to be a level plane."""
    slope = getattr(surface, "slope", None)
    return slope is not None and is_known(slope) and not np.any(np.asarray(slope))
