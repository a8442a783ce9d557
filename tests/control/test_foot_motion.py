"""Feet along keyframes: the joints of the table put them there, and the policy plays the table."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.control.foot_motion import move_feet
from softground.control.inverse_kinematics import feet_in_base
from softground.errors import OptionError
from softground.media.named import sand
from softground.robots import Robot
from softground.simulation import Simulator


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load("robosimian")


def lifted(offset: float) -> np.ndarray:
    offsets = np.zeros((3, 4, 3))
    offsets[1:, 0, 2] = offset
    offsets[2, 1, 0] = -0.05
    return offsets


def test_feet_pass_the_keyframes_and_the_policy_holds_the_last(robot):
    motion = move_feet(robot, [0.5, 1.0, 2.0], lifted(0.05))
    home = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))
    state = Simulator(robot, sand()).initial_state()
    for time, offsets in ((0.0, 0), (0.5, 0), (1.0, 1), (2.0, 2), (9.0, 2)):
        at = jax.tree.map(lambda x: x, state)
        object.__setattr__(at, "time", jnp.asarray(time))
        control = motion(at)
        q = jnp.asarray(robot.posture).at[3:].set(control.position)
        desired = home[:, :3] + lifted(0.05)[offsets]
        np.testing.assert_allclose(feet_in_base(robot, q)[:, [0, 2]], desired[:, [0, 2]], atol=2e-4)
        np.testing.assert_allclose(control.velocity, 0.0, atol=0.05)  # it rests at keyframes


@pytest.mark.parametrize(
    ("times", "offsets", "message"),
    [([0.0], np.zeros((1, 4, 3)), "two increasing times"), ([0.0, 1.0], np.zeros((3, 4, 3)), r"shape \(2, 4, 3\)")],
)
def test_keyframes_that_do_not_fit_are_refused(robot, times, offsets, message):
    with pytest.raises(OptionError, match=message):
        move_feet(robot, times, offsets)
