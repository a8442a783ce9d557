"""Footsteps: where the walk goes, that feet alternate and stay apart, and what is refused."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.control.walking import ICUB_GAIT, Side, footsteps
from softground.control.walking.gait import Stance
from softground.errors import OptionError
from softground.robots import Robot

from .walks import CROOKED, WALKS


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_feet_take_turns_with_a_double_support_between(walk):
    steps = walk.plan.steps
    for step, following in pairwise(steps):
        assert following.foot == step.foot.other
        assert following.lift_off - step.lift_off == pytest.approx(walk.gait.step_duration, rel=1e-12)
        share = (following.lift_off - step.touch_down) / walk.gait.step_duration
        assert share == pytest.approx(walk.gait.double_support_share, rel=1e-9)
    assert steps[0].lift_off == walk.gait.start_duration
    assert walk.plan.duration - steps[-1].touch_down == pytest.approx(walk.gait.end_duration)


@pytest.mark.parametrize("name", ["straight", "turning", "turning on the spot", "from a crooked stance", "quick"])
def test_a_walk_ends_with_the_feet_side_by_side(name):
    left, right = (WALKS[name].plan.of_foot(side)[-1] for side in Side)
    assert left.yaw == pytest.approx(right.yaw, abs=1e-12)
    leftward = np.array([-np.sin(left.yaw), np.cos(left.yaw), 0.0])
    np.testing.assert_allclose(left.position - right.position, WALKS[name].gait.step_width * leftward, atol=1e-12)


def test_step_lengths_grow_and_shrink():
    """With one step of ramp the advances are 1/2, 1, ..., 1, 1/2, 0 of the full one: seen in every other foot's x."""
    x = np.array([step.position[0] for step in WALKS["straight"].plan.steps])
    np.testing.assert_allclose(np.diff(x, prepend=0.0), [0.1, *[0.2] * 5, 0.1, 0.0], atol=1e-12)


@pytest.mark.parametrize(("speed", "rate"), [(0.1, 0.2), (0.1, -0.2), (-0.08, 0.1)])
def test_a_turning_walk_follows_its_circle(speed, rate):
    """Turning at w and advancing at v, the middle between the feet stays on the circle of radius v / w, and ten steps
    (eight full ones and two halves, less the last) turn by 8 w T."""
    plan = footsteps(ICUB_GAIT, speed=speed, turn_rate=rate, steps=10)
    last = plan.steps[-1]
    assert last.yaw == pytest.approx(8 * rate * ICUB_GAIT.step_duration, rel=1e-12)
    centre, radius = np.array([0.0, speed / rate]), abs(speed / rate)
    for step in plan.steps:
        leftward = np.array([-np.sin(step.yaw), np.cos(step.yaw)])
        middle = step.position[:2] - step.foot.outward * ICUB_GAIT.step_width / 2 * leftward
        assert np.linalg.norm(middle - centre) == pytest.approx(radius, rel=1e-12)
        np.testing.assert_allclose(middle - centre, -speed / rate * leftward, atol=1e-12)


def test_the_largest_speed_gives_the_longest_step():
    """At it the outer foot lands just at the limit, ahead of the inner one; a hair faster is refused."""
    for rate in (0.0, 0.15, -0.15):
        speed = ICUB_GAIT.largest_speed(rate)
        plan = footsteps(ICUB_GAIT, speed=speed, turn_rate=rate, steps=8)
        ahead = [
            (step.position - before.position)[:2] @ [np.cos(before.yaw), np.sin(before.yaw)]
            for before, step in pairwise(plan.steps)
        ]
        assert max(ahead) == pytest.approx(ICUB_GAIT.step_length_limit, rel=1e-9)
        with pytest.raises(OptionError, match=rf"walk at most at {speed:.4g} m/s"):
            footsteps(ICUB_GAIT, speed=speed * 1.001, turn_rate=rate, steps=8)


def test_seconds_ask_for_no_more_steps_than_needed():
    for seconds in (1.0, 3.875, 3.876, 8.0, 10.0):
        plan = footsteps(ICUB_GAIT, speed=0.1, seconds=seconds)
        assert plan.duration >= seconds - 1e-9
        if len(plan.steps) > 1:
            assert footsteps(ICUB_GAIT, speed=0.1, steps=len(plan.steps) - 1).duration < seconds


def test_stance_of_a_robot_turns_and_moves_with_it():
    robot = Robot.load("icub")
    home, q = Stance.of(robot), np.asarray(robot.posture).copy()
    assert home.heading == pytest.approx(0.0, abs=1e-9)
    turn, shift = Rotation.from_euler("z", 3.0), np.array([1.0, 2.0, 0.1])
    q[:3] = turn.as_matrix() @ q[:3] + shift
    q[3:7] = (turn * Rotation.from_quat(q[3:7], scalar_first=True)).as_quat(scalar_first=True)
    moved = Stance.of(robot, q)
    np.testing.assert_allclose(moved.position, home.position @ turn.as_matrix().T + shift, atol=1e-12)
    np.testing.assert_allclose(moved.yaw, 3.0, atol=1e-9)


def test_yaws_of_a_stance_across_pi_are_near_each_other():
    stance = Stance(np.array([[0.0, -0.08, 0.0], [0.0, 0.08, 0.0]]), np.array([3.1, -3.1]))
    assert stance.heading == pytest.approx(np.pi)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step_duration": -1.0}, "step_duration of a gait must be positive, got -1.0"),
        ({"double_support_share": 0.0}, "double_support_share of a gait must be positive"),
        ({"double_support_share": 1.0}, "double_support_share of a gait must lie between 0 and 1, got 1.0"),
        ({"com_height": float("nan")}, "com_height of a gait must be positive, got nan"),
        ({"ramp_steps": 1.5}, "ramp_steps of a gait must be a whole number from 0 on, got 1.5"),
        ({"zmp_offset": (0.1,)}, "zmp_offset of a gait must be two lengths"),
    ],
)
def test_impossible_gaits_are_refused(change, message):
    with pytest.raises(OptionError, match=message):
        replace(ICUB_GAIT, **change)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"speed": 0.17, "steps": 8}, r"limit of 0.2 m in 1.25 s: walk at most at 0.16 m/s"),
        ({"speed": np.inf, "steps": 8}, "must be finite"),
        ({"speed": 0.0, "turn_rate": 0.3, "steps": 8}, "turn at most at 0.24 rad/s"),
        ({"speed": 0.1}, "either steps or seconds"),
        ({"speed": 0.1, "steps": 3, "seconds": 3.0}, "either steps or seconds"),
        ({"speed": 0.1, "steps": 0}, "steps of a walk must be a whole number from 1 on, got 0"),
        ({"speed": 0.1, "seconds": -2.0}, "seconds of a walk must be positive, got -2.0"),
        ({"speed": 0.1, "steps": 3, "first_foot": "front"}, "unknown first foot 'front': must be one of left, right"),
    ],
)
def test_impossible_walks_are_refused(command, message):
    with pytest.raises(OptionError, match=message):
        footsteps(ICUB_GAIT, **command)


def test_a_stance_too_far_apart_for_the_first_step_is_refused():
    apart = Stance(np.array([[0.0, 0.08, 0.0], [-0.3, -0.08, 0.0]]), np.zeros(2))
    with pytest.raises(OptionError, match=r"step 1 lands 0.\d+ m ahead of the standing foot"):
        footsteps(ICUB_GAIT, apart, speed=0.16, steps=8)


def test_bad_stances_are_refused():
    with pytest.raises(OptionError, match="the left foot of a stance must be left of the right one"):
        Stance(CROOKED.position[::-1], CROOKED.yaw)
    with pytest.raises(OptionError, match="finite positions"):
        Stance(CROOKED.position[:, :2], CROOKED.yaw)
    with pytest.raises(OptionError, match="walking needs two feet, robosimian has 4"):
        Stance.of(Robot.load("robosimian"))
