"""Gains that follow from inertia make any robot stand."""

import numpy as np
import pytest

from softground.control import hold_posture, pd_gains
from softground.media import Firm
from softground.robots import Robot
from softground.runs import run
from softground.simulation import Simulator


def test_gains_give_the_asked_frequency_and_damping():
    """The lifting actuator of the rig is free; the others see m + m (slide) or I + m r^2 (hinge)."""
    robot = Robot.load("foot")
    kp, kd = pd_gains(robot, frequency=10.0, damping_ratio=0.7)
    mass = float(robot.total_mass)
    np.testing.assert_allclose(kp[0], 100 * 2 * mass)
    assert kp[1] == kd[1] == 0
    np.testing.assert_allclose(kd, 2 * 0.7 * kp / 10.0)


@pytest.mark.parametrize("name", ["robosimian", "anymal"])
def test_robots_stand_on_firm_ground(name):
    """Sag below g / w^2 = 1 cm (a load of the whole weight on a spring of frequency w), no fall."""
    robot = Robot.load(name)
    simulator = Simulator(robot, Firm(), 0.002)
    start = simulator.initial_state(height=0.0)
    dataset = run(simulator, start, hold_posture(robot), 1.0, every=10, progress=False)
    height = dataset["base_position"].sel(xyz="z").values
    assert abs(height[-1] - height[0]) < 0.012
    assert abs(float(dataset["base_pitch"][-1] - dataset["base_pitch"][0])) < 0.02
    assert float(np.abs(dataset["velocity"].values[-1]).max()) < 0.02
