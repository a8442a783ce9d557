"""Free flight without gravity: how momentum and energy drift, against Euler's equations and by halving the step.

A step takes the bias force at its start, M(q0) (v1 - v0) = -dt c(q0, v0), and moves on with v1: of first order.
docs/contact.md has the drift of robots over 10 s, and what other rules would do and cost.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from softground import media
from softground.robots import Robot
from softground.simulation import Simulator

from .physics_cases import inline, robot

INERTIA = np.array([0.01, 0.02, 0.025])  # kg m2
BODY = f"""
<mujoco>
  <compiler inertiafromgeom="false"/>
  <custom><text name="softground_feet" data="sole"/></custom>
  <worldbody>
    <body name="body">
      <freejoint/>
      <inertial pos="0 0 0" mass="2" diaginertia="{INERTIA[0]} {INERTIA[1]} {INERTIA[2]}"/>
      <site name="sole" type="box" size="0.1 0.05 0.025"/>
    </body>
  </worldbody>
</mujoco>
"""


def floating(robot: Robot, dt: float) -> Simulator:
    """Without gravity and joint damping."""
    sim = Simulator(robot, media.firm(), dt)
    at_rest = (np.zeros(3), np.zeros(robot.nv))
    return eqx.tree_at(lambda s: (s.robot.gravity, s.robot.damping), sim, at_rest)


@eqx.filter_jit
def flown(sim: Simulator, states, count):
    """States after `count` (an array) steps, momentum about the centre of mass (n, 6) and kinetic energy (n,) there."""

    def one(state):
        state = jax.lax.fori_loop(0, count, lambda _, state: sim.step(state)[0], state)
        return state, sim.robot.centroidal_momentum(state.q, state.v), sim.robot.kinetic_energy(state.q, state.v)

    return jax.lax.map(one, states)


def spinning(omega: np.ndarray, time: float, h: float) -> tuple[np.ndarray, float]:
    """Angular momentum in the world and kinetic energy of a free body, from its modified equation with step h.

    With Euler's f(w) = I^-1 (I w x w), explicit steps w1 = w + dt f(w), R1 = R exp(dt [w1]x) follow
    w' = f - h/2 f'(w) f and R' = R [w + h f/2]x up to second order.
    """

    def rate(w, h):
        f = np.cross(INERTIA * w, w) / INERTIA
        slope = (np.cross(INERTIA * f, w) + np.cross(INERTIA * w, f)) / INERTIA  # f'(w) f
        return f - h / 2 * slope, f

    def field(t, y):
        w, turn = y[:3], y[3:].reshape(3, 3)
        change, f = rate(w, h)
        return np.r_[change, np.cross(turn, w + h * f / 2).ravel()]  # a row r of R becomes r x a

    end = solve_ivp(field, (0, time), np.r_[omega, np.eye(3).ravel()], rtol=1e-11, atol=1e-12).y[:, -1]
    w, turn = end[:3], end[3:].reshape(3, 3)
    return turn @ (INERTIA * w), float(w @ (INERTIA * w)) / 2


@pytest.mark.parametrize("omega", [(4.0, 1.0, 3.0), (3.0, 2.0, -4.0)])
def test_body_drifts_as_its_modified_equation_says(omega):
    """Over a second. Steps of dt err by C dt in L and E, and beside that by (|w| dt)^2 of them for each radian."""
    omega, time = np.array(omega), 1.0
    momentum, energy = spinning(omega, time, 0.0)
    np.testing.assert_allclose(momentum, INERTIA * omega, rtol=1e-8)  # the oracle conserves both
    np.testing.assert_allclose(energy, omega @ (INERTIA * omega) / 2, rtol=1e-8)
    h = 1e-6
    drift = [(a - b) / h for a, b in zip(spinning(omega, time, h), (momentum, energy), strict=True)]
    size, radians = np.linalg.norm(momentum), np.linalg.norm(omega) * time
    for dt in (2e-3, 1e-3):
        sim = floating(inline(BODY), dt)
        start = sim.initial_state(v=np.r_[0.3, -0.2, 0.1, omega], height=10.0)
        _, found, kinetic = flown(sim, jax.tree.map(lambda x: x[None], start), jnp.array(round(time / dt)))
        off = np.asarray(found)[0, 3:] - momentum
        gained = float(kinetic[0]) - energy - (0.3**2 + 0.2**2 + 0.1**2)  # of 2 kg
        second = radians * (np.linalg.norm(omega) * dt) ** 2
        print(f"\n{dt} s: L {np.linalg.norm(off) / size:.2e}, E {gained / energy:.2e}, second order {second:.1e}")
        assert np.linalg.norm(off - dt * drift[0]) < second * size
        assert abs(gained - dt * drift[1]) < second * energy
        np.testing.assert_allclose(np.asarray(found)[0, :3], [0.6, -0.4, 0.2], atol=1e-12)
        assert np.linalg.norm(dt * drift[0]) > 2 * second * size  # and what drifts is well above what is allowed
        assert dt * drift[1] > 0  # explicit bias forces feed a tumbling body: E grows by dt/2 |dw/dt|_I^2 a second


def test_drift_of_a_robot_halves_with_the_step():
    """ANYmal with random velocities (1 m/s, 1 rad/s), four throws of 0.3 s: the greatest of each kind of drift."""
    found, random = {}, np.random.default_rng(0)
    velocities = random.normal(size=(4, robot("anymal").nv))
    start = floating(robot("anymal"), 2e-3).initial_state(height=10.0)
    states = jax.tree.map(lambda x: jnp.stack([x] * len(velocities)), start)
    states = eqx.tree_at(lambda s: s.v, states, jnp.asarray(velocities))
    for dt in (2e-3, 1e-3, 5e-4):
        sim = floating(robot("anymal"), dt)
        _, before, energy = flown(sim, states, jnp.array(0))
        _, after, later = flown(sim, states, jnp.array(round(0.3 / dt)))
        change = np.asarray(after - before).reshape(4, 2, 3)
        size = np.linalg.norm(np.asarray(before).reshape(4, 2, 3), axis=2)
        drift = np.c_[np.linalg.norm(change, axis=2) / size, np.abs(later - energy) / energy]
        found[dt] = np.linalg.norm(drift, axis=0) / 2
        print(f"\n{dt} s: P {found[dt][0]:.2e}, L {found[dt][1]:.2e}, E {found[dt][2]:.2e} in 0.3 s")
    # First order: the next term of the ratio is of relative size rate * dt, with joints at some rad/s well below 5 %.
    np.testing.assert_allclose(found[2e-3] / found[1e-3], 2.0, atol=0.2)
    np.testing.assert_allclose(found[1e-3] / found[5e-4], 2.0, atol=0.1)
    assert (found[2e-3] > 1e-6).all()
