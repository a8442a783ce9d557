"""The PID against closed forms: its terms, the load it learns to carry, and no wind-up when clipped."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.control.pid import Pid
from softground.errors import OptionError

DT = 1e-3


def test_terms_add_up():
    pid = Pid([2.0, 3.0], [5.0, 7.0], [11.0, 13.0])
    effort, integral = pid(jnp.array([0.1, 0.2]), jnp.array([1.0, -1.0]), jnp.array([0.5, 0.25]), DT)
    np.testing.assert_allclose(integral, [0.101, 0.199])
    np.testing.assert_allclose(effort, [2 + 5 * 0.101 + 11 * 0.5, -3 + 7 * 0.199 + 13 * 0.25])


def falling_mass(pid: Pid, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Heights (m) and efforts (N) of a mass of 7.357 kg that the PID shall keep at height 0."""
    mass = 7.357

    def step(carry, _):
        height, speed, integral = carry
        effort, integral = pid(integral, -height, -speed, DT)
        speed = speed + DT * (effort / mass - 9.81)
        height = height + DT * speed
        return (height, speed, integral), (height, effort)

    start = (jnp.zeros(1), jnp.zeros(1), pid.initial())
    _, (height, effort) = jax.lax.scan(step, start, None, length=round(seconds / DT))
    return np.asarray(height)[:, 0], np.asarray(effort)[:, 0]


def test_the_integral_carries_a_weight_and_without_it_the_mass_sags_by_mg_over_kp():
    sagging, _ = falling_mass(Pid([20000.0], [0.0], [400.0]), 2.0)
    assert sagging[-1] == pytest.approx(-7.357 * 9.81 / 20000, rel=1e-4)
    carried, effort = falling_mass(Pid([20000.0], [60000.0], [400.0]), 4.0)
    assert abs(carried[-1]) < 1e-6
    assert effort[-1] == pytest.approx(7.357 * 9.81, rel=1e-4)


def test_a_clipped_effort_does_not_wind_up():
    pid = Pid([10.0], [100.0], [0.0], limit=[5.0])
    integral = pid.initial()
    for _ in range(1000):
        effort, integral = pid(integral, jnp.array([1.0]), jnp.zeros(1), DT)
    assert float(effort[0]) == 5.0
    assert float(integral[0]) == 0.0  # kp alone is beyond the limit
    effort, integral = pid(integral, jnp.array([-0.1]), jnp.zeros(1), DT)
    assert float(effort[0]) == pytest.approx(-1.0 - 100 * 0.1 * DT)  # reacts at once


@pytest.mark.parametrize("gains", [([1.0], [1.0, 2.0], [0.0]), ([1.0], [-1.0], [0.0]), ([np.nan], [1.0], [0.0])])
def test_gains_without_meaning_are_refused(gains):
    with pytest.raises(OptionError, match="of a PID must be 1 numbers >= 0"):
        Pid(*gains)
