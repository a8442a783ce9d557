"""Ways of the feet: still at both ends of a swing, over the apex, and of least jerk."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.integrate import quad

from softground.control.walking import ICUB_GAIT, FootstepPlan, Side, Step, footsteps
from softground.control.walking.footsteps import foot_path
from softground.control.walking.gait import Stance
from softground.control.walking.piecewise import FALL, MINIMUM_JERK, RISE

from .walks import WALKS


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize("side", Side)
def test_feet_lift_off_and_land_without_velocity_or_acceleration(walk, side):
    path = foot_path(walk.plan, side, walk.gait.swing_height)
    before = np.append(walk.plan.stance.position[side], walk.plan.stance.yaw[side])
    for step in walk.plan.of_foot(side):
        after = np.append(step.position, step.yaw)
        times = np.array([step.lift_off, step.touch_down])
        for instant in (times, np.nextafter(times, times[::-1])):  # the pieces on both sides of each instant
            np.testing.assert_allclose(path.pose(instant), [before, after], atol=1e-12)
            for order in (1, 2):
                np.testing.assert_allclose(path.pose(instant, order), 0.0, atol=1e-9)
        apex = path.pose(times[:1] + np.diff(times) / 2)[0]
        np.testing.assert_allclose(apex, (before + after) / 2 + [0, 0, walk.gait.swing_height, 0], atol=1e-12)
        during = path.pose(np.linspace(step.lift_off, step.touch_down, 200))
        assert during[:, 2].max() <= max(before[2], after[2]) + walk.gait.swing_height + 1e-9
        before = after


def test_feet_on_the_ground_stay_exactly_where_they_are():
    path = foot_path(WALKS["turning"].plan, Side.LEFT, 0.02)
    step, following = WALKS["turning"].plan.of_foot(Side.LEFT)[:2]
    standing = path.pose(np.linspace(step.touch_down, following.lift_off, 50))
    assert (standing == standing[0]).all()


def test_a_foot_may_lift_out_of_a_hole_and_land_in_another():
    stance = Stance(np.array([[0.0, 0.08, -0.03], [0.0, -0.08, 0.0]]), np.zeros(2))
    step = Step(Side.LEFT, np.array([0.1, 0.08, -0.01]), 0.0, 1.0, 2.0)
    z = foot_path(FootstepPlan(stance, (step,), 3.0), Side.LEFT, 0.05).pose(np.array([0.5, 1.5, 2.5]))[:, 2]
    np.testing.assert_allclose(z, [-0.03, -0.02 + 0.05, -0.01], atol=1e-15)


def test_no_admissible_change_lowers_the_jerk():
    """A path of least jerk has a third derivative orthogonal to that of every change that respects its conditions: rest
    at both ends, and, for the lift, nothing at the apex half way."""
    s = Polynomial([0.0, 1.0])
    rise, fall, travel = (Polynomial(shape[::-1]) for shape in (RISE, FALL, MINIMUM_JERK))
    for degree in range(4):
        free = s**3 * (1 - s) ** 3 * (s - 0.3) ** degree
        work = (travel.deriv(3) * free.deriv(3)).integ()
        assert work(1.0) - work(0.0) == pytest.approx(0.0, abs=1e-9)
        through_apex = free * (s - 0.5)

        def lift_jerk(t):
            return 8 * (rise.deriv(3)(2 * t) if t < 0.5 else fall.deriv(3)(2 * t - 1))

        change = through_apex.deriv(3)
        total = quad(lambda t, change=change: lift_jerk(t) * change(t), 0.0, 1.0, points=[0.5])[0]
        size = quad(lambda t, change=change: abs(lift_jerk(t) * change(t)), 0.0, 1.0, points=[0.5], limit=200)[0]
        assert abs(total) < 1e-9 * size


def test_turning_feet_turn_only_in_the_air():
    plan = footsteps(ICUB_GAIT, speed=0.0, turn_rate=0.2, steps=6)
    path = foot_path(plan, Side.RIGHT, 0.02)
    time = np.linspace(0.0, plan.duration, 2000)
    in_air = np.any([(time > s.lift_off) & (time < s.touch_down) for s in plan.of_foot(Side.RIGHT)], axis=0)
    rate = path.pose(time, 1)[:, 3]
    assert (rate[~in_air] == 0).all()
    assert rate[in_air].max() > 0.3
