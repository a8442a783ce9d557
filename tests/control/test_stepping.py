"""Stepping bipeds: the placement rule against the pendulum it is made for, the swing, round feet, a walk."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.control.stepping import (
    Stepper,
    SteppingController,
    SteppingGains,
    SteppingGait,
    Walks,
    starting_state,
)
from softground.control.stepping.relief import relief
from softground.control.stepping.stepper import cycloid, next_foot, pitching_trunk
from softground.control.whole_body.constraints.feasibility import wrench_cone
from softground.control.whole_body.constraints.rolling_contact import rolling_contact
from softground.errors import OptionError, RobotError
from softground.media import Firm
from softground.robots import Robot
from softground.robots.shapes import HalfCylinder
from softground.runs.measures import heading
from softground.simulation import Simulator

GAIT = SteppingGait()


def pendulum(omega, x, v, foot, time):
    """Exact motion of x'' = omega^2 (x - foot)."""
    c, s = np.cosh(omega * time), np.sinh(omega * time)
    return foot + (x - foot) * c + v / omega * s, (x - foot) * omega * s + v * c


@pytest.mark.parametrize("gravity", [9.81, 3.7])
def test_placement_leads_a_pendulum_to_the_wanted_speed_and_width(gravity):
    omega = float(GAIT.omega(gravity))
    x, v, foot = np.zeros(2), np.array([0.05, 0.1]), np.array([0.0, 0.05])
    desired, places = np.array([0.3, 0.0]), []
    for step in range(30):
        left = 1.0 if step % 2 else -1.0
        early = np.asarray(next_foot(GAIT, omega, x, v, foot, left, GAIT.stance, desired))
        x, v = pendulum(omega, x, v, foot, GAIT.stance)
        foot = np.asarray(next_foot(GAIT, omega, x, v, foot, left, 0.0, desired))
        np.testing.assert_allclose(early, foot, atol=1e-12)  # told at the start of a stance as at its end
        places.append(foot)
    steps = np.diff(places, axis=0)
    # The stable part of the motion dies out by exp(-omega T) a step: 0.375, on Mars 0.547.
    np.testing.assert_allclose(steps[-4:, 0], 0.3 * GAIT.stance, atol=1e-6)
    np.testing.assert_allclose(np.abs(steps[-4:, 1]), GAIT.width, atol=1e-6)


def test_a_robot_tips_under_its_own_gravity():
    robot = Robot.load("biped")
    on_the_moon = eqx.tree_at(lambda r: r.gravity, robot, np.array([0.0, 0.0, -1.62]))
    stepper = Stepper(SteppingController(on_the_moon, period=0.002), GAIT)
    assert float(stepper.omega) == pytest.approx(np.sqrt(1.62 / GAIT.com_height))


def test_cycloid_starts_and_lands_at_rest():
    start, end, duration = np.array([0.0, 0.1, 0.04]), np.array([0.1, 0.08, 0.02]), 0.2
    for time, place in ((0.0, start), (duration, end)):
        position, velocity, _ = cycloid(start, end, 0.1, duration, time)
        np.testing.assert_allclose(position, place, atol=1e-12)
        np.testing.assert_allclose(velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(cycloid(start, end, 0.1, duration, 0.1)[0][2], 0.03 + 0.1, atol=1e-12)
    h = 1e-5
    way, speed = (
        (lambda t: cycloid(start, end, 0.1, duration, t)[0]),
        (lambda t: cycloid(start, end, 0.1, duration, t)[1]),
    )
    np.testing.assert_allclose((way(0.07 + h) - way(0.07 - h)) / (2 * h), speed(0.07), rtol=1e-6)
    np.testing.assert_allclose(
        (speed(0.07 + h) - speed(0.07 - h)) / (2 * h), cycloid(start, end, 0.1, duration, 0.07)[2], rtol=1e-6
    )


def test_wrench_cone_of_a_half_cylinder():
    cone = wrench_cone(HalfCylinder(0.04, 0.08), friction=0.5, torsion=0.0)

    def at(place, force):
        """Wrench about the axis of a force at a point of the line on which the foot stands."""
        arm = np.array([0.0, place, -0.04])
        wrench = np.concatenate([force, np.cross(arm, force)])
        wrench[5] = 0.0  # what a force off the middle adds about the vertical is left to torsion
        return (cone @ wrench <= 1e-12).all()

    assert at(0.03, [10.0, -20.0, 100.0])
    assert not at(0.05, [10.0, -20.0, 100.0])  # beyond the edge
    assert not at(0.0, [60.0, 0.0, 100.0])  # beyond friction
    assert not (cone @ np.array([0.0, 0.0, 100.0, 0.0, 1.0, 0.0]) <= 0).all()  # a line gives no torque about itself


def test_rolling_contact_refuses_flat_feet():
    with pytest.raises(RobotError, match="half-cylinders or balls"):
        rolling_contact(Robot.load("icub"))


@pytest.fixture(scope="module")
def walks():
    robot = Robot.load("biped")
    simulator = Simulator(robot, Firm(stiffness=2e7, damping=2e5), 0.002)
    controller = SteppingController(robot, SteppingGains(height_of="trunk"), period=0.002)
    stepper = Stepper(controller, GAIT)
    return Walks(simulator, stepper, starting_state(simulator, stepper, 0.0015), 8.0)


def test_walks_twenty_steps_at_the_wanted_speed(walks):
    run = walks(0.3)
    assert run.fall() is None
    way = run["center_of_mass"].sel(xyz="x")
    speed = float(way.sel(time=4.996, method="nearest") - way.sel(time=3.0, method="nearest")) / 1.996
    assert speed == pytest.approx(0.3, abs=0.03)
    carried = run["wrench_world"].sel(wrench_axis="fz").values
    feet = np.argmax(carried[50::100], axis=1)  # in the middle of every stance
    np.testing.assert_array_equal(feet, np.arange(len(feet)) % 2)
    assert len(feet) >= 20


def test_keeps_its_trunk_level(walks):
    """Its trunk, not its centre of mass, which rises and falls with the leg that swings."""
    run = walks(0.3)
    trunk, whole = run["configuration"].values[2000:, 2], run["center_of_mass"].sel(xyz="z").values[2000:]
    assert np.ptp(trunk) < np.ptp(whole) / 3
    with pytest.raises(OptionError, match="keeps the height of another"):
        walks(0.3, gains=SteppingGains(height_of="com"))


def test_stands_on_both_feet_for_a_while(walks):
    """The foot behind still carries when the other has touched down, less and less, and then leaves."""
    both = 0.1
    run = walks(0.2, gait=replace(GAIT, double_support=both))
    assert run.fall() is None
    up = run["wrench_world"].sel(wrench_axis="fz").values[2000:].reshape(-1, 2, 100, 2)  # strides, steps, samples, feet
    behind = np.stack([up[:, 0, :, 1], up[:, 1, :, 0]])  # left steps first
    last = round(both * 100)
    assert (behind[..., : last - 1] > 0).mean() > 0.95
    assert (behind[..., last + 5 : 80] == 0).all()
    faded = behind.mean(axis=(0, 1))[: last + 1]
    assert (np.diff(faded) < 0).all()
    assert faded[-1] < faded[0] / 4


def test_one_foot_carries_from_the_first_instant_of_a_step():
    """Times of steps are sums of time steps: rounding puts some of them just before the step that they begin."""
    stepper = Stepper(SteppingController(Robot.load("biped"), period=0.002), GAIT)
    robot = stepper.controller.robot
    times = np.cumsum(np.full(6000, 0.002))[99::100]
    assert (times < GAIT.stance * np.arange(1, 61)).any()

    @jax.jit
    @jax.vmap
    def carry(time):
        seen = stepper.see(robot.posture, np.zeros(robot.nv))
        memory = stepper.init(None)._replace(step=stepper._step(time))
        return stepper._references(memory, time, seen).in_contact

    np.testing.assert_array_equal(carry(times).sum(axis=1), 1)


def test_relief_fades_and_turns_nothing():
    to_com = np.array([0.03, -0.06, 0.4])
    first, half, last = (np.asarray(relief(share, 0.2, 118.0, to_com)) for share in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(first[2], 1.2 * 118.0)
    np.testing.assert_allclose(half, first / 2)
    np.testing.assert_allclose(last, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(to_com, first), 0.0, atol=1e-12)


def test_by_its_leg_a_robot_cannot_tell_that_its_foot_slides(walks):
    """All of it moving at one velocity is, to encoders and a gyroscope, standing still; and it believes to stand."""
    controller = SteppingController(walks.simulator.robot, SteppingGains(foot_damper=0.0), period=0.002)

    def answering(odometry):
        stepper = Stepper(controller, replace(GAIT, odometry=odometry))
        before = stepper.init(walks.start)

        @jax.jit
        def answer(v):
            memory, control = stepper(before, replace(walks.start, v=jnp.append(v, jnp.zeros(9))))
            return control.torque, memory.drift

        return answer

    sliding, answer = np.array([0.1, -0.05, -0.2]), answering(1.0)
    still, _ = answer(np.zeros(3))
    torque, drift = answer(sliding)
    np.testing.assert_allclose(torque, still, atol=1e-9)
    np.testing.assert_allclose(drift, 0.002 * sliding, atol=1e-12)
    assert np.abs(answering(0.0)(sliding)[0] - still).max() > 0.1


def test_a_speed_too_great_is_a_fall(walks):
    assert walks(1.5).fall() is not None


def test_nods_follow_on_each_other():
    """Upright between stances, and no jump of the rate from one to the next; rate and acceleration fit the pitch."""
    upright, duration, h = Rotation.from_rotvec([0.0, 0.0, 0.4]).as_matrix(), 0.2, 1e-5

    def motion(time, side=1.0):
        return pitching_trunk(upright, 12.0, side, duration, time)

    def pitch(time):
        return Rotation.from_matrix(np.asarray(motion(time).rotation) @ upright.T).as_rotvec() @ upright[:, 1]

    for time in (0.0, duration):
        np.testing.assert_allclose(motion(time).rotation, upright, atol=1e-12)
    np.testing.assert_allclose(motion(duration).twist, motion(0.0, -1.0).twist, atol=1e-12)
    assert pitch(duration / 2) == pytest.approx(-12.0 * duration**2 / 8)
    assert (pitch(0.05 + h) - pitch(0.05 - h)) / (2 * h) == pytest.approx(motion(0.05).twist[3:] @ upright[:, 1])
    change = (motion(0.05 + h).twist - motion(0.05 - h).twist) / (2 * h)
    np.testing.assert_allclose(change, motion(0.05).acceleration, atol=1e-6)


def test_turns_as_it_is_told(walks):
    """There is no actuator about the vertical: the trunk pitches, and the feet that carry twist on the ground."""
    run = walks(0.2, gait=replace(GAIT, turn=0.3, steering=15.0))
    assert run.fall() is None
    yaw = heading(run)
    # Over eight strides, after twelve in which the rate of turning still swings.
    assert (yaw[-1] - yaw[2400]) / (0.002 * (len(yaw) - 2401)) == pytest.approx(0.3, rel=0.15)
