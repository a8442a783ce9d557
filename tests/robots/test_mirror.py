"""Robots in the mirror: left and right exchanged."""

import jax
import numpy as np
import pytest

from softground.robots import Robot
from softground.robots.mirror import mirror_of, unchanged

ACROSS = np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize("name", ["robosimian", "walker2d", "ant"])
def test_the_mirrored_motion_obeys_the_mirrored_forces(name):
    """Inverse dynamics and the places of the feet, at a random state: neither was used to find the mirror."""
    robot = Robot.load(name)
    mirror = mirror_of(robot)
    assert mirror is not None
    rng = np.random.default_rng(0)
    q = np.asarray(robot.posture) + 0.3 * rng.normal(size=robot.nq)
    if robot.nq != robot.nv:
        q[3:7] /= np.linalg.norm(q[3:7])
    v, a = rng.normal(size=(2, robot.nv))

    @jax.jit
    def forces_and_feet(q, v, a):
        kin = robot.kinematics(q)
        return robot.inverse_dynamics(kin, v, a), robot.foot_poses(kin)[0]

    force, feet = forces_and_feet(q, v, a)
    mirrored, mirrored_feet = forces_and_feet(mirror.q(q), mirror.v(v), mirror.v(a))
    np.testing.assert_allclose(mirrored, mirror.v(np.asarray(force)), atol=1e-8 * np.abs(force).max())
    seen = np.asarray(feet)[mirror.feet_from] * ACROSS
    planes = [0, 2] if robot.planar else [0, 1, 2]
    np.testing.assert_allclose(np.asarray(mirrored_feet)[:, planes], seen[:, planes], atol=1e-9)


@pytest.mark.parametrize("name", ["robosimian", "ant"])
def test_twice_in_the_mirror_is_as_before(name):
    robot = Robot.load(name)
    mirror = mirror_of(robot)
    q, torque = np.arange(robot.nq, dtype=float), np.arange(robot.nu, dtype=float)
    np.testing.assert_array_equal(mirror.q(mirror.q(q)), q)
    np.testing.assert_array_equal(mirror.torque(mirror.torque(torque)), torque)
    assert (mirror.torque_from != np.arange(robot.nu)).all()
    np.testing.assert_array_equal(unchanged(robot).q(q), q)


def test_a_robot_whose_sides_weigh_differently_has_no_image():
    assert mirror_of(Robot.load("go1")) is None
