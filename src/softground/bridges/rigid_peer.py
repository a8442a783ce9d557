"""The same robot in MuJoCo on a rigid plane: the peer that our speed is compared with."""

from __future__ import annotations

import mujoco
import numpy as np

from softground.robots import Robot
from softground.robots.loading import build

#: Radius of the ball that stands for a flat foot, m: one contact point a foot, the cheapest rigid contact.
BALL = 0.02


def rigid_peer(robot: Robot, dt: float, kp, kd) -> mujoco.MjModel:
    """MuJoCo model of the robot with ball feet on a plane, and the same joint PD control as actuators.

    Nothing else collides, so that MuJoCo has no more to do than we have.
    """
    spec = build(robot.recipe).spec
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=1)
    for foot in robot.feet:
        radius = foot.clearance if foot.shape.rolls else BALL
        lift = radius - foot.clearance
        position = np.asarray(foot.position) + lift * np.asarray(foot.rotation)[:, 2]
        body = spec.body(robot.body_names[foot.body])
        sphere = mujoco.mjtGeom.mjGEOM_SPHERE
        body.add_geom(type=sphere, size=[radius, 0, 0], pos=position, contype=1, conaffinity=1, mass=0)
    use_pd(spec, robot, kp, kd)
    spec.option.timestep = dt
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST  # PD control needs its damping implicit
    return spec.compile()


def use_pd(spec: mujoco.MjSpec, robot: Robot, kp, kd) -> None:
    """Servos in place of the actuators of a model: PD control of the joints, within the robot's limits."""
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    gains = zip(np.broadcast_to(kp, robot.nu), np.broadcast_to(kd, robot.nu), strict=True)
    for dof, limit, (stiff, damp) in zip(robot.actuated, robot.torque_limit, gains, strict=True):
        joint = robot.joint_names[robot.tree.dof_link[dof]]
        actuator = spec.add_actuator(name=f"pd_{joint}", target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=float(stiff), kv=float(damp))
        if np.isfinite(limit):
            actuator.forcelimited = True
            actuator.forcerange = [-float(limit), float(limit)]
