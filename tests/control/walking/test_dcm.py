"""The pendulum in closed form against quadrature, and against numerical integration of its differential equations."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import CubicSpline, PPoly

from softground.control.walking.dcm import Mode, Pendulum

from .walks import WALKS


@pytest.mark.parametrize("rate", [4.3, -2.0])
def test_bounded_solution_is_a_weighted_mean_of_the_zmp(rate):
    """y(t) = integral of |rate| exp(-|rate| |s - t|) p(s) from t to the boundary, and beyond it p as there; also for
    polynomials that jump from piece to piece."""
    random = np.random.default_rng(0)
    zmp = PPoly(random.normal(size=(5, 4, 2)), np.array([0.0, 0.4, 1.1, 1.3, 2.0]))
    mode = Mode.driven_by(zmp, rate)
    boundary = zmp.x[-1] if rate > 0 else zmp.x[0]
    beyond = zmp(np.nextafter(2.0, 0.0)) if rate > 0 else zmp(0.0)
    for time in (0.0, 0.3, 1.2, 1.95):
        low, high = sorted((time, boundary))
        inside = [p for p in zmp.x if low < p < high]
        expected = [
            quad(
                lambda s, t=time, k=k: abs(rate) * np.exp(-abs(rate) * abs(s - t)) * zmp(s)[k],
                *(low, high), points=inside or None, epsabs=1e-13, epsrel=1e-12,
            )[0]
            for k in range(2)
        ] + np.exp(-abs(rate) * (high - low)) * beyond  # fmt: skip
        np.testing.assert_allclose(mode(np.array([time]))[0], expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["straight", "turning", "quick"])
def test_dcm_and_centre_of_mass_solve_their_equations(name):
    """The unstable equation integrated backwards from the end, the stable one forwards from com_start, over the whole
    walk at once. The ZMP is read off the samples (cubic splines, which are off by some h^3 of the third derivative, and
    more in the short double supports of the quick walk)."""
    walk = WALKS[name]
    omega = walk.gait.omega
    pattern = walk.pattern(5e-4)
    time, zmp = np.asarray(pattern.time), CubicSpline(pattern.time, pattern.zmp)
    longest = walk.gait.double_support_share * walk.gait.step_duration / 4

    def integrate(rate, span: tuple[float, float], start):
        return solve_ivp(
            rate, span, start, t_eval=np.linspace(span[0], span[1], len(time)), rtol=1e-9, atol=1e-10, max_step=longest
        )

    backwards = integrate(lambda t, xi: omega * (xi - zmp(t)), (time[-1], 0.0), pattern.zmp[-1])
    dcm = backwards.y.T[::-1]
    np.testing.assert_allclose(pattern.dcm[:, :2], dcm, atol=1e-7)
    guide = CubicSpline(time, dcm)
    forwards = integrate(lambda t, x: omega * (guide(t) - x), (0.0, time[-1]), walk.com_start[:2])
    np.testing.assert_allclose(pattern.com[:, :2], forwards.y.T, atol=1e-7)


def test_push_off_changes_only_the_first_and_the_last_piece():
    zmp = PPoly(np.array([[[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]), np.array([0.0, 1.0, 2.0, 3.0]))
    pendulum = Pendulum.at_rest_at_both_ends(zmp, omega=3.0)
    np.testing.assert_array_equal(pendulum.zmp(np.linspace(1.0, 1.99, 5)), zmp(np.linspace(1.0, 1.99, 5)))
    assert np.abs(pendulum.zmp(0.5) - zmp(0.5)).max() > 0.01
    ends = np.array([0.0, 3.0])
    np.testing.assert_allclose(pendulum.com(ends), [[0.0, 0.0], [1.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(pendulum.com(ends, 1), 0.0, atol=1e-12)
    np.testing.assert_allclose(pendulum.dcm(ends), [[0.0, 0.0], [1.0, 1.0]], atol=1e-12)
