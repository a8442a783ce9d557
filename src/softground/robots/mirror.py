"""A robot seen in the mirror: left and right exchanged.

A robot that is its own mirror image about its x-z plane moves alike on either side: what is true of a motion is true of
the motion with left and right exchanged. Which joint stands for which is found from where the joints' axes are, not
from their names, and the answer is checked: the mirrored configuration must have the mirrored mass matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from softground.arrays import Array
from softground.robots.robot import Robot
from softground.robots.tree import FREE, HINGE, SLIDE

ANGULAR = np.array([-1.0, 1.0, -1.0])
"""How axes of rotation change in a mirror across y; positions and velocities change by the opposite."""
CLOSE = 1e-6  # m, and of unit axes: joints that are each other's image
ALIKE = 1e-6
"""Share of the largest entry by which a mass matrix may differ from that of the mirror image."""


class Mirror(NamedTuple):
    """Entry i of the mirrored q is q_sign[i] q[q_from[i]]; so with v, torques (by actuator) and feet."""

    q_from: np.ndarray
    q_sign: np.ndarray
    v_from: np.ndarray
    v_sign: np.ndarray
    torque_from: np.ndarray
    torque_sign: np.ndarray
    feet_from: np.ndarray

    def q(self, q):
        """Configurations (..., nq) in the mirror."""
        return self.q_sign * q[..., self.q_from]

    def v(self, v):
        """Velocities (..., nv) in the mirror."""
        return self.v_sign * v[..., self.v_from]

    def torque(self, torque):
        """Torques (..., nu) of the actuators in the mirror."""
        return self.torque_sign * torque[..., self.torque_from]


def unchanged(robot: Robot) -> Mirror:
    """The mirror that leaves everything where it is."""
    (q, q_sign), (v, v_sign), (torque, torque_sign) = (
        (np.arange(size), np.ones(size)) for size in (robot.nq, robot.nv, robot.nu)
    )
    return Mirror(q, q_sign, v, v_sign, torque, torque_sign, np.arange(len(robot.feet)))


def mirror_of(robot: Robot) -> Mirror | None:
    """What the mirror across the x-z plane does to a robot's coordinates; None where it is not its own image."""
    kinds = robot.tree.joint_type
    if any(kind not in (FREE, HINGE, SLIDE) for kind in kinds) or FREE in kinds[1:]:
        return None
    v_from, v_sign = _dofs(robot)
    if v_from is None:
        return None
    q_from, q_sign = np.arange(robot.nq), np.ones(robot.nq)
    if kinds[0] == FREE:
        q_sign[[1, 4, 6]] = -1.0  # y; x and z of the quaternion's vector part, which turns as axes do
    for dof, coordinate in enumerate(robot.dof_q):
        if coordinate >= 0:
            q_from[coordinate], q_sign[coordinate] = robot.dof_q[v_from[dof]], v_sign[dof]
    actuated = list(robot.actuated)
    if not {int(v_from[dof]) for dof in actuated} <= set(actuated):
        return None
    torque_from = np.array([actuated.index(v_from[dof]) for dof in actuated], dtype=int)
    feet_from = _feet(robot, q_from, q_sign)
    if feet_from is None:
        return None
    mirror = Mirror(q_from, q_sign, v_from, v_sign, torque_from, v_sign[actuated], feet_from)
    return mirror if _is_image(robot, mirror) else None


def _dofs(robot: Robot) -> tuple[np.ndarray | None, np.ndarray]:
    """For every degree of freedom the one that is its image, and the sign between them."""
    looks = _looks(robot, robot.posture)
    screw, place = looks.screw, looks.place
    turning = np.abs(screw[:, :3]).sum(axis=1, keepdims=True) > 0
    here = np.where(turning, screw[:, :3], screw[:, 3:])
    image = np.where(turning, ANGULAR * here, -ANGULAR * here)
    found, sign = np.zeros(robot.nv, dtype=int), np.ones(robot.nv)
    for dof in range(robot.nv):
        near = (np.abs(place + ANGULAR * place[dof]).max(axis=1) < CLOSE) & (turning[:, 0] == turning[dof, 0])
        same = near & (np.abs(here - image[dof]).max(axis=1) < CLOSE)
        opposite = near & (np.abs(here + image[dof]).max(axis=1) < CLOSE)
        candidates = np.flatnonzero(same | opposite)
        if not len(candidates):
            return None, sign
        others = candidates[candidates != dof]  # twins in one plane (a planar biped's legs) are each other's images
        found[dof] = others[0] if len(others) else dof
        sign[dof] = 1.0 if same[found[dof]] else -1.0
    if (found[found] != np.arange(robot.nv)).any():
        return None, sign
    return found, sign


def _feet(robot: Robot, q_from, q_sign) -> np.ndarray | None:
    """For every foot the one that is its image: where the one is, in the mirror, the other stands."""
    q = _away(robot)
    place, image = _looks(robot, q).feet, _looks(robot, q_sign * q[q_from]).feet * -ANGULAR
    planar = np.array([1.0, 0.0 if robot.planar else 1.0, 1.0])
    apart = np.abs((image[:, None] - place[None]) * planar).max(axis=2)
    found = apart.argmin(axis=1)
    good = (apart.min(axis=1) < CLOSE).all() and len(set(found)) == len(found)
    return found if good else None


def _away(robot: Robot) -> np.ndarray:
    """A configuration without symmetry: the posture, every joint turned a little by an amount of its own."""
    q = np.array(robot.posture, dtype=float)
    joints = np.array(robot.dof_q)[list(robot.actuated)]
    q[joints] += 0.1 * np.sin(1.0 + np.arange(len(joints)))
    return q


def _is_image(robot: Robot, mirror: Mirror) -> bool:
    q = _away(robot)
    here, there = _looks(robot, q).mass, _looks(robot, mirror.q(q)).mass
    image = mirror.v_sign[:, None] * here[np.ix_(mirror.v_from, mirror.v_from)] * mirror.v_sign
    return bool(np.abs(image - there).max() <= ALIKE * np.abs(here).max())


class Looks(NamedTuple):
    """What is compared."""

    screw: Array  # (nv, 6) of every degree of freedom
    place: Array  # (nv, 3) of its axis, m
    feet: Array  # (F, 3) m
    mass: Array  # (nv, nv)


def _looks(robot: Robot, q) -> Looks:
    return jax.tree.map(np.asarray, _program(robot, np.asarray(q, dtype=float)))


@eqx.filter_jit
def _program(robot: Robot, q) -> Looks:
    kin = robot.kinematics(q)
    place = (kin.link_position - kin.origin)[np.array(robot.tree.dof_link)]
    return Looks(kin.screw, place, robot.foot_poses(kin)[0], robot.mass_matrix(kin))
