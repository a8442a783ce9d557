"""Runs that share a compiled program: never more than what they have in common."""

import numpy as np
import pytest

from softground.media import firm
from softground.robots import Robot
from softground.runs import compiled_loop
from softground.simulation import Control, Simulator

DT, ROWS = 0.002, 6


@pytest.fixture(scope="module")
def simulator():
    return Simulator(Robot.load("foot"), firm(), DT)


@pytest.fixture
def torques(simulator):
    return np.random.default_rng(0).uniform(-5, 5, (ROWS, simulator.robot.nu))


def test_torques_that_were_written_to_are_new_torques(simulator, torques):
    simulator.run(torques, height=0.1)
    torques *= -1
    np.testing.assert_allclose(simulator.run(torques, height=0.1)["torque"], torques, rtol=1e-12)


def test_the_same_torques_from_a_later_state_start_with_the_first(simulator, torques):
    state, _ = simulator.rollout(simulator.initial_state(height=0.1), torques)
    simulator.run(torques, height=0.1)
    np.testing.assert_allclose(simulator.run(torques, state=state)["torque"], torques, rtol=1e-12)


def test_a_function_that_changed_is_asked_again(simulator):
    gain = [1.0]
    push = lambda state: Control(gain[0] * np.ones(simulator.robot.nu))  # noqa: E731
    simulator.run(push, 2 * DT, height=0.1)
    gain[0] = 2.0
    np.testing.assert_allclose(simulator.run(push, 2 * DT, height=0.1)["torque"], 2.0)


def test_equal_runs_compile_once(simulator):
    """Also from other heights and for other times, and under a control that was made anew."""
    compiled_loop._PROGRAMS.clear()
    for seconds, height in ((2 * DT, 0.1), (5 * DT, 0.2)):
        simulator.run(Control(np.ones(simulator.robot.nu)), seconds, height=height)
    assert len(compiled_loop._PROGRAMS) == 1
    simulator.run(Control(np.zeros(simulator.robot.nu)), DT, height=0.1)
    assert len(compiled_loop._PROGRAMS) == 2
