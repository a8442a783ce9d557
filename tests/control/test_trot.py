"""Inverse kinematics against forward kinematics; the trot's paths; a trot that walks on sand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.control import joints_for_feet, trot
from softground.control.inverse_kinematics import feet_in_base
from softground.control.trot import diagonal_phase, foot_path
from softground.demo import STRENGTH
from softground.errors import OptionError
from softground.media.named import sand
from softground.robots import Robot
from softground.runs import run
from softground.simulation import Simulator


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load("robosimian", posture="crouched")


def test_feet_arrive_where_they_should(robot):
    random = np.random.default_rng(0)
    home = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))
    targets = home[:, :3] + random.uniform(-0.06, 0.06, (5, 4, 3))
    pitch = random.uniform(-0.2, 0.2, (5, 4))
    joints = joints_for_feet(robot, targets, pitch)
    reached = np.asarray(jax.jit(jax.vmap(lambda q: feet_in_base(robot, q)))(joints))
    np.testing.assert_allclose(reached[..., [0, 2]], targets[..., [0, 2]], atol=1e-4)
    np.testing.assert_allclose(reached[..., 3], pitch, atol=1e-3)
    low, high = robot.joint_range[3:].T
    assert ((joints[:, 3:] >= low) & (joints[:, 3:] <= high)).all()


def test_out_of_reach_names_the_foot(robot):
    targets = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))[:, :3].copy()
    targets[2, 2] -= 1.0
    with pytest.raises(OptionError, match=r"'rear_left_sole' cannot reach target 0 of 1"):
        joints_for_feet(robot, targets)


def test_foot_path_is_smooth_and_still_over_the_ground_at_lift_off_and_landing():
    """In stance the foot moves at -L/duty a period; the swing joins it with equal position and velocity."""
    duty, length = 0.6, 0.2
    near = np.array([-1e-6, 1e-6])
    for instant in (duty, 1.0):
        around = foot_path((instant + near) % 1.0, duty, length, 0.1)
        np.testing.assert_allclose(around[0], around[1], atol=1e-5)
    phase = np.linspace(0, 1, 2001)[:-1]
    speed = np.gradient(foot_path(phase, duty, length, 0.1)[:, 0], phase)
    np.testing.assert_allclose(speed[phase < duty - 0.01], -length / duty, rtol=1e-6)
    assert np.abs(np.diff(speed))[1:-1].max() < 0.02  # no jump of velocity anywhere
    lift = foot_path(phase, duty, length, 0.1)[:, 1]
    assert lift.max() == pytest.approx(0.1, rel=1e-5)
    assert (lift[phase < duty] == 0).all()


def test_diagonal_feet_move_together(robot):
    home = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))
    phase = dict(zip([foot.name for foot in robot.feet], diagonal_phase(home), strict=True))
    assert phase["front_left_sole"] == phase["rear_right_sole"] != phase["front_right_sole"]
    assert phase["front_right_sole"] == phase["rear_left_sole"]


def test_reference_velocity_is_the_derivative_of_position(robot):
    gait = trot(robot, start=0.2)
    times = np.linspace(0.25, 2.2, 40)
    step = 1e-4
    difference = (_positions(gait, times + step) - _positions(gait, times - step)) / (2 * step)
    velocity = np.asarray(jax.jit(jax.vmap(lambda t: gait.reference(t)[1]))(times))
    # The tables are joined by straight lines between 120 knots: second differences of up to 1 % of the speed.
    np.testing.assert_allclose(difference, velocity, atol=0.05 * np.abs(velocity).max())


def _positions(gait, times):
    return np.asarray(jax.jit(jax.vmap(lambda t: gait.reference(t)[0]))(times))


def test_trot_walks_on_sand(robot):
    """Three periods at 0.385 m/s: it walks most of that way, level, its feet leaving the ground in turn."""
    simulator = Simulator(robot, sand(STRENGTH), 0.002)
    gait = trot(robot, period=1.0, duty=0.65, step_length=0.25, lift=0.15, start=0.3)
    dataset = run(simulator, simulator.initial_state(height=0.005), gait, 3.3, every=10, progress=False)
    way = float(dataset["base_position"].sel(xyz="x")[-1])
    assert 0.5 < way < 1.2
    assert np.abs(dataset["base_pitch"]).max() < 0.1
    assert (dataset["depth"].min("time") < -0.01).all()
    assert dataset.attrs["steps_not_converged"] == 0


@pytest.mark.parametrize(
    ("options", "message"), [({"duty": 0.3}, "duty"), ({"period": 0.0}, "period"), ({"ramp": 0.0}, "ramp")]
)
def test_bad_gaits(robot, options, message):
    with pytest.raises(OptionError, match=message):
        trot(robot, **options)


def test_a_trot_needs_four_feet():
    with pytest.raises(OptionError, match="needs four feet"):
        trot(Robot.load("foot"))
