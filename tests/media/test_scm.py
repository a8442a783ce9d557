"""SCM ground: Bekker's pressure on a plate that sinks, plastic depth when it rises, Janosi's shear, energy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import MediumError
from softground.media import Scm
from softground.media.base import FootInGround
from softground.media.elements.scm import PRESETS, SHEARED
from softground.media.elements.submerged import FLAT, ROUNDING
from softground.robots import Robot
from softground.robots.shapes import Box
from softground.simulation import Simulator

PLATE = Box(0.2, 0.1, 0.05)
DT = 1e-3


@eqx.filter_jit
def driven(medium, depths, sideways):
    """Wrenches (steps, 6) on a plate that goes through depths (m) and is moved sideways by so much in each step (m)."""
    bound = medium.for_foot(PLATE, False)

    def at(depth):
        return FootInGround(depth, jnp.zeros(3), jnp.eye(3), jnp.eye(3))

    def step(memory, way):
        depth, after, side = way
        twist = jnp.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).at[0].set(side / DT).at[2].set((depth - after) / DT)
        law = bound.law(at(depth), memory, jnp.asarray(DT))
        return bound.remember(at(depth), memory, law, twist, jnp.asarray(DT)), law.wrench(twist)

    way = depths[:-1], depths[1:], sideways
    return jax.lax.scan(step, bound.initial_memory(at(depths[0])), way)[1]


@pytest.mark.parametrize("name", PRESETS)
def test_a_plate_that_sinks_meets_bekkers_pressure(name):
    """Force = area (k_c / b + k_phi) z^n at the depth of the step's start, b = 10 cm."""
    medium, depths = Scm.preset(name), jnp.linspace(0.005, 0.05, 400)
    lift = driven(medium, depths, jnp.zeros(399))[:, 2]
    given = PRESETS[name]
    z = np.asarray(depths[:-1]) - ROUNDING / 2 - FLAT
    bekker = PLATE.area * (given["k_c"] / 0.1 + given["k_phi"]) * z ** given["power"]
    np.testing.assert_allclose(lift[5:], bekker[5:], rtol=1e-6)


def test_what_has_yielded_stays():
    """Down to 4 cm, up by 1 cm and down again: nothing on the way up, and nothing again until 4 cm are reached."""
    down, up = jnp.linspace(0.01, 0.04, 300), jnp.linspace(0.04, 0.03, 100)
    depths = jnp.concatenate([down, up, up[::-1]])
    lift = np.asarray(driven(Scm(damping=0.0), depths, jnp.zeros(len(depths) - 1))[:, 2])
    assert lift[298] > 80  # N
    assert np.abs(lift[305:490]).max() < 1e-9
    assert lift[-1] == pytest.approx(lift[298], rel=0.1)


def test_shear_builds_up_as_janosi_says():
    """tau = p tan(phi) (1 - exp(-j / J)) at constant pressure, before what is remembered is at its limit."""
    medium, steps = Scm(), 60
    way = np.linspace(0, 2.0, steps + 1) * 0.01  # shear lengths
    wrench = np.asarray(driven(medium, jnp.full(steps + 1, 0.02), jnp.diff(jnp.asarray(way))))
    pressure, drag = wrench[:, 2], -wrench[:, 0]
    # The spring is that of the step's start, its slope the steepest: the curve is passed by at most one step's way.
    ratio = drag / (pressure * np.tan(np.deg2rad(30)))
    early, late = 1 - np.exp(-way[:-1] / 0.01), 1 - np.exp(-way[:-1] / 0.01) + np.diff(way) / 0.01
    assert (ratio >= early - 1e-6).all()
    assert (ratio <= late + 1e-6).all()
    assert way[-1] < SHEARED * 0.01


def test_a_foot_that_falls_on_soil_comes_to_rest_and_energy_falls():
    simulator = Simulator(Robot.load("foot"), Scm(), DT)

    @jax.jit
    def roll(state):
        def step(state, _):
            after, record = simulator.step(state)
            mass = simulator.robot.mass_matrix(after.q)
            kinetic = after.v @ mass @ after.v / 2
            return after, (kinetic + 9.81 * mass[0, 0] * after.q[1], record.converged, after.v, record.depth)

        return jax.lax.scan(step, state, None, length=500)[1]

    energy, converged, velocity, depth = roll(simulator.initial_state(height=0.05))
    assert converged.all()
    stored = 7.4 * 9.81 * 1e-4  # J: what pressure stores is given back over less than 0.1 mm
    assert np.diff(energy).max() < 7.4 * 9.81**2 * DT**2 + stored
    assert np.abs(velocity[-1]).max() < 1e-3
    assert depth[-1, 0] > 0.02


def test_bad_soil_is_refused():
    with pytest.raises(MediumError, match="elasticity of SCM ground must be positive"):
        Scm(elasticity=0.0)
    with pytest.raises(MediumError, match="must be one of hard, soft"):
        Scm.preset("lunar")
