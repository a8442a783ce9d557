"""The rolling foot of chen2026: contact point, orientation, rolling angle (4), effective radius (5)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from softground.errors import RobotError
from softground.papers.chen2026.rolling import Contour, arc, effective_rolling_radius
from softground.papers.chen2026.rolling_feet import Rolling, flattest, rates_of

PITCH = np.linspace(-0.6, 0.6, 13)


def lowest(curve, pitch, rear, front):
    """The lowest point of a pitched contour, by search."""
    found = minimize_scalar(
        lambda x: -x * np.sin(pitch) + curve(x) * np.cos(pitch),
        bounds=(rear, front),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return np.array([found.x, curve(found.x)])


def test_contact_is_the_lowest_point_of_any_convex_contour():
    def curve(x):
        return 3.0 * x**2 + 40.0 * x**4 + 0.05 * x - 0.02

    contour = Contour.from_curve(curve, -0.1, 0.1)
    expected = np.array([lowest(curve, pitch, -0.1, 0.1) for pitch in PITCH])
    np.testing.assert_allclose(contour.contact(PITCH), expected, atol=1e-6)


def test_a_curve_with_a_hollow_does_not_roll():
    with pytest.raises(RobotError, match="must be convex"):
        Contour.from_curve(lambda x: x**2 - 1e-3 * jnp.cos(60 * x), -0.1, 0.1)


def test_arc_rolls_about_its_centre():
    """The contact point is straight below the centre, and the orientation is the pitch."""
    contour, radius = arc(0.04), 0.04
    contact = np.asarray(contour.contact(PITCH))
    np.testing.assert_allclose(contact, radius * np.c_[np.sin(PITCH), -np.cos(PITCH)], atol=1e-6)
    np.testing.assert_allclose(contour.orientation(contact), PITCH, atol=1e-5)
    np.testing.assert_allclose(contour.rolling_angle(PITCH, PITCH[0]), PITCH - PITCH[0], atol=1e-5)
    # The printed condition x_r / S = dS/dx_r, but for its sign, on every point of the arc:
    slope = np.tan(np.asarray(contour.orientation(contact)))
    np.testing.assert_allclose(contact[:, 0] / contact[:, 1], -slope, atol=1e-4)


def test_polyline_is_as_good_as_its_points_are_close():
    off = []
    for count in (41, 161):
        angle = np.linspace(-1.2, 1.2, count)
        contour = Contour(0.04 * np.c_[np.sin(angle), -np.cos(angle)])
        off.append(np.abs(contour.contact(PITCH) - 0.04 * np.c_[np.sin(PITCH), -np.cos(PITCH)]).max())
    assert off[0] < 1e-4
    assert off[1] < off[0] / 8  # second order


def test_a_foot_rolls_to_the_end_of_its_contour():
    np.testing.assert_allclose(
        arc(0.04, reach=0.5).contact(0.9), 0.04 * np.array([np.sin(0.5), -np.cos(0.5)]), atol=1e-12
    )


def test_traced_and_differentiated():
    """How the contact point moves along the sole: its radius of curvature times the cosine, for an arc."""
    rate = jax.jit(jax.grad(lambda pitch: arc(0.04).contact(pitch)[0]))(0.2)
    assert float(rate) == pytest.approx(0.04 * np.cos(0.2), rel=0.02)


def test_effective_radius_of_a_rolling_wheel():
    rate, slip, sinking = np.array([0.5, -2.0]), np.array([0.1, 0.1]), np.array([0.0, -0.2])
    velocity = np.stack([slip, sinking], axis=-1)
    gamma = np.arctan2(sinking, slip)
    np.testing.assert_allclose(
        effective_rolling_radius(velocity, rate), slip * np.sqrt(1 + np.tan(gamma) ** 2) / np.abs(rate), rtol=1e-12
    )
    assert np.isinf(effective_rolling_radius(jnp.array([0.1, 0.0]), jnp.array(0.0)))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0, 0], [1, 0.5], [2, 0.6]], r"must be convex.*from 0.5 to 0.1 at x = 1 m"),
        ([[0, 0], [1, -1], [2, -1.5], [3, -3]], "must be convex"),
        ([[0, 0], [1, 0]], "at least 3 points"),
        ([[0, 0], [2, 0], [1, 1]], "x must increase"),
        ([[0, 0], [1, np.nan], [2, 1]], "must be finite"),
    ],
)
def test_bad_contours(points, message):
    with pytest.raises(RobotError, match=message):
        Contour(np.array(points, dtype=float))


def test_bad_radius():
    with pytest.raises(RobotError, match="radius of a round sole must be positive"):
        arc(0.0)


def test_plateau_is_a_rest_between_two_turns():
    """Shares of an even roll, of one that stops in the middle, and of one that only slows down."""
    stance = np.linspace(0, 1, 201)
    assert rates_of(0.3 * stance).rest == pytest.approx(1.0)
    stopping = np.interp(stance, [0.0, 0.4, 0.6, 1.0], [0.0, 0.2, 0.21, 0.4])
    assert rates_of(stopping) == pytest.approx((0.5, 0.05, 0.475))
    assert rates_of(stopping).rest == pytest.approx(0.05 / 0.475)
    assert flattest(stopping)[0] == pytest.approx(0.4, abs=0.01)
    slowing = np.interp(stance, [0.0, 0.4, 0.6, 1.0], [0.0, 0.2, 0.25, 0.26])
    assert rates_of(slowing).rest > 1  # slow from the middle on, but at its slowest later


def test_rolling_without_slip_has_the_radius_of_the_foot():
    angle = np.linspace(0, 0.3, 101)[None] ** 2
    still = np.zeros_like(angle)
    rolling = Rolling(angle, slip=0.04 * angle, lateral=still, sinkage=still, ahead=still)
    np.testing.assert_allclose(rolling.radius[:, 1:], 0.04, rtol=1e-9)
