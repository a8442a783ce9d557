"""The whole pattern: everything the derivative of what it says, the pendulum's law, the ZMP over the feet, symmetry."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from softground.control.walking import ICUB_GAIT, Gait, walking_pattern
from softground.control.walking.figure import pattern_figure
from softground.control.walking.gait import Stance
from softground.errors import OptionError
from softground.robots import Robot
from softground.runs.figures import save_figure

from .walks import CROOKED, ICUB_SOLE, WALKS, walk

DT = 2.5e-4


@pytest.fixture(scope="module", params=WALKS)
def case(request):
    chosen = WALKS[request.param]
    return chosen, chosen.pattern(DT)


def assert_slope(values, rate, tolerance):
    """Central differences agree with the rate, relative to its peak."""
    off = np.abs((values[2:] - values[:-2]) / (2 * DT) - rate[1:-1]).max(axis=0)
    assert (off <= tolerance * np.abs(rate).max(axis=0) + 1e-9).all()


def test_each_is_the_derivative_of_the_one_before(case):
    """Central differences over h: within a minimum-jerk move of duration T they are off by h^2/6 times 32/T^2 (its
    third derivative over its first), allowed twice because the body's velocity cancels part of the jerk. Where the next
    derivative jumps (the feet's jerk, the snap of the height) they are off by h/4 times the jump, which is 10/T of the
    feet's acceleration and 16/T of the height's jerk."""
    walk, pattern = case
    double_support = walk.gait.double_support_share * walk.gait.step_duration
    second_order, first_order = 12 * (DT / double_support) ** 2, 5 * DT / walk.gait.start_duration
    for values, rate in pairwise([pattern.com, pattern.com_velocity, pattern.com_acceleration, pattern.com_jerk]):
        assert_slope(values[:, :2], rate[:, :2], second_order)
        assert_slope(values[:, 2], rate[:, 2], first_order)
    pose = np.concatenate([pattern.foot_position, np.zeros((len(pattern), 2, 2)), pattern.foot_yaw[..., None]], axis=-1)
    in_half_swing = 5 * DT / (walk.gait.swing_duration / 2)
    for values, rate in pairwise([pose, pattern.foot_twist, pattern.foot_acceleration]):
        assert_slope(values, rate, in_half_swing)
    for values, rate in pairwise([pattern.torso_yaw, pattern.torso_yaw_rate, pattern.torso_yaw_acceleration]):
        assert_slope(values, rate, in_half_swing)


def test_jerk_is_continuous(case):
    """From sample to sample it changes by no more than the rate that a minimum-jerk move of the ZMP allows."""
    walk, pattern = case
    double_support = walk.gait.double_support_share * walk.gait.step_duration
    change = np.abs(np.diff(pattern.com_jerk, axis=0)).max(axis=0)
    assert (change <= 8 * DT / double_support * np.abs(pattern.com_jerk).max(axis=0) + 1e-9).all()


def test_linear_inverted_pendulum(case):
    walk, pattern = case
    expected = pattern.com[:, :2] - pattern.com_acceleration[:, :2] * walk.gait.com_height / walk.gait.gravity
    np.testing.assert_allclose(pattern.zmp, expected, atol=1e-9)
    np.testing.assert_allclose(pattern.dcm, pattern.com + pattern.com_velocity / walk.gait.omega, atol=1e-12)


def test_starts_and_ends_at_rest(case):
    walk, pattern = case
    np.testing.assert_allclose(pattern.com[0], walk.com_start, atol=1e-12)
    for values in (pattern.com_velocity, pattern.com_acceleration, pattern.com_jerk):
        np.testing.assert_allclose(values[0], 0.0, atol=1e-9)
    # Where the walk's duration is no multiple of the time step, the last sample comes a little before its end.
    np.testing.assert_allclose(pattern.com_velocity[-1], 0.0, atol=1e-5)
    np.testing.assert_allclose(pattern.com[-1, :2], pattern.dcm[-1, :2], atol=1e-5)
    steps_end = pattern.time >= walk.plan.steps[0].lift_off
    np.testing.assert_allclose(pattern.com[steps_end, 2], walk.plan.ground_height + walk.gait.com_height, atol=1e-12)
    if walk.gait.zmp_offset == (0.0, 0.0):
        middle = np.mean(pattern.foot_position[-1, :, :2], axis=0)
        np.testing.assert_allclose(pattern.dcm[-1, :2], middle, atol=1e-6)


def test_zmp_and_dcm_stay_over_the_supporting_soles(case):
    """The ZMP inside the convex hull of the soles on the ground; the DCM no further out than the ZMP ever goes."""
    walk, pattern = case
    for i in range(0, len(pattern), 79):
        on = np.asarray(pattern.contact)[i]
        hull = ConvexHull(np.concatenate([corners(walk, pattern, i, foot) for foot in (0, 1) if on[foot]]))
        outside = hull.equations[:, :2] @ pattern.zmp[i] + hull.equations[:, 2]
        assert outside.max() < -0.02  # 2 cm or more inside
    assert (pattern.dcm[:, :2] <= pattern.zmp.max(axis=0) + 1e-9).all()
    assert (pattern.dcm[:, :2] >= pattern.zmp.min(axis=0) - 1e-9).all()


def test_feet_carry_in_turn(case):
    _, pattern = case
    assert pattern.contact.any(axis=1).all()
    np.testing.assert_allclose(pattern.load_share.sum(axis=1), 1.0, atol=1e-12)
    assert pattern.load_share.min() >= 0.0
    assert (pattern.load_share[~pattern.contact] == 0.0).all()
    assert np.abs(np.diff(pattern.load_share, axis=0)).max() < 3 * DT / 0.02  # shortest double support; no jump
    np.testing.assert_allclose(pattern.foot_twist[pattern.contact], 0.0, atol=1e-12)
    height = pattern.foot_position[..., 2]
    assert (height[~pattern.contact] > np.minimum(height[0], height[-1]).min() - 1e-12).all()


def test_offset_of_the_zmp_is_forward_and_inward():
    """Walking straight along x, each foot standing alone has the ZMP 2 cm ahead of its centre and 1 cm inside."""
    pattern = WALKS["backwards, ZMP inward, soft ground"].pattern(1e-2)
    for foot, inward in ((0, -0.01), (1, 0.01)):
        alone = ~pattern.contact[:, 1 - foot]
        away = pattern.zmp[alone] - pattern.foot_position[alone, foot, :2]
        np.testing.assert_allclose(away, np.broadcast_to([0.02, inward], away.shape), atol=1e-12)


def test_soles_never_touch_each_other(case):
    """Separating axes: some edge of one sole has the whole other sole beyond it, at least 2 cm away."""
    walk, pattern = case
    for i in range(0, len(pattern), 157):
        soles = [corners(walk, pattern, i, foot) for foot in (0, 1)]
        gaps = [
            ((other @ normal).min() - (sole @ normal).max())
            for sole, other in (soles, soles[::-1])
            for normal in outward_normals(sole)
        ]
        assert max(gaps) > 0.02


def test_mirrored_walks_are_mirror_images():
    options = {"speed": 0.12, "steps": 7}
    pattern = walk(ICUB_GAIT, turn_rate=0.2, first_foot="left", offset=(0.01, 0.02), **options).pattern(1e-2)
    mirror = walk(ICUB_GAIT, turn_rate=-0.2, first_foot="right", offset=(0.01, -0.02), **options).pattern(1e-2)
    flip = np.array([1, -1, 1])
    for name in ("com", "com_velocity", "com_acceleration", "com_jerk", "dcm"):
        np.testing.assert_allclose(getattr(mirror, name), getattr(pattern, name) * flip, atol=1e-11)
    np.testing.assert_allclose(mirror.zmp, pattern.zmp * flip[:2], atol=1e-12)
    np.testing.assert_allclose(mirror.foot_position, pattern.foot_position[:, ::-1] * flip, atol=1e-12)
    twist_flip = np.array([1, -1, 1, -1, 1, -1])
    np.testing.assert_allclose(mirror.foot_acceleration, pattern.foot_acceleration[:, ::-1] * twist_flip, atol=1e-11)
    np.testing.assert_array_equal(mirror.contact, pattern.contact[:, ::-1])
    np.testing.assert_allclose(mirror.load_share, pattern.load_share[:, ::-1], atol=1e-12)
    np.testing.assert_allclose(mirror.torso_yaw, -pattern.torso_yaw, atol=1e-12)


def test_a_turned_start_turns_the_walk():
    angle, shift = 2.0, np.array([0.3, -0.5, 0.0])
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    turned = Stance(CROOKED.position @ turn.T + shift, CROOKED.yaw + angle)
    command = {"speed": 0.1, "turn_rate": 0.1, "steps": 5}
    plain, other = (walk(ICUB_GAIT, stance, **command).pattern(1e-2) for stance in (CROOKED, turned))
    np.testing.assert_allclose(other.com, plain.com @ turn.T + shift, atol=1e-11)
    np.testing.assert_allclose(other.com_jerk, plain.com_jerk @ turn.T, atol=1e-10)
    np.testing.assert_allclose(other.foot_position, plain.foot_position @ turn.T + shift, atol=1e-11)
    np.testing.assert_allclose(other.torso_yaw, plain.torso_yaw + angle, atol=1e-12)


def test_samples_by_number_also_where_traced():
    pattern = WALKS["straight"].pattern(1e-2)
    traced = jax.jit(lambda p, i: p.at(i))(pattern, jnp.array(321))
    np.testing.assert_array_equal(traced.foot_twist, pattern.foot_twist[321])
    np.testing.assert_array_equal(pattern.at(10**6).com, pattern.com[-1])
    np.testing.assert_array_equal(pattern[10:20].zmp, pattern.zmp[10:20])
    assert len(pattern[10:20]) == 10


def test_a_second_robot_needs_no_other_code():
    """G1's stance and numbers: it advances by the shares of the full steps, 1/2 + 5 + 1/2, and then closes up."""
    stance = Stance.of(Robot.load("g1"))
    gait = Gait(0.6, 0.25, 0.3, 0.22, 0.05, 0.68, 0.3, 1.0, 1.0)
    pattern = walk(gait, stance, speed=0.4, steps=8).pattern(1e-2)
    assert pattern.com[-1, 0] - stance.middle[0] == pytest.approx(6 * 0.4 * 0.6, abs=1e-6)


def test_bad_starts_are_refused():
    plan = WALKS["straight"].plan
    with pytest.raises(OptionError, match="three lengths"):
        walking_pattern(plan, ICUB_GAIT, np.zeros(2), 1e-3)
    with pytest.raises(OptionError, match="time step of a pattern must be positive"):
        walking_pattern(plan, ICUB_GAIT, np.array([0.0, 0.0, 0.5]), 0.0)
    with pytest.raises(OptionError, match="the ZMP would have to leave the feet"):
        walking_pattern(plan, ICUB_GAIT, np.array([0.0, 0.1, 0.5]), 1e-3)


def test_figure_is_drawn(tmp_path):
    walks = {name: WALKS[name].pattern(2e-2) for name in ("straight", "turning")}
    figure = pattern_figure(walks, ICUB_SOLE)
    above = figure.axes[0]
    contacts = 2 + len(WALKS["straight"].plan.steps)
    assert len(above.patches) == 2 * contacts  # a filling and an edge for every place where a foot stood
    assert save_figure(figure, tmp_path / "walk.png").stat().st_size > 20_000


def corners(walk, pattern, sample: int, foot: int) -> np.ndarray:
    yaw = pattern.foot_yaw[sample, foot]
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    return pattern.foot_position[sample, foot, :2] + walk.sole @ turn.T


def outward_normals(polygon: np.ndarray) -> np.ndarray:
    """Of the edges of a polygon whose corners run counter-clockwise."""
    edge = np.roll(polygon, -1, axis=0) - polygon
    return np.stack([edge[:, 1], -edge[:, 0]], axis=1) / np.linalg.norm(edge, axis=1, keepdims=True)
