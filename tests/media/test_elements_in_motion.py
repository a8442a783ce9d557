"""Grains that follow, speed, cohesion: steady motion meets plain theory, momentum is kept, suction is bounded."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.media import Elements
from softground.media.base import FootInGround
from softground.media.elements.fit import directions
from softground.media.elements.following import plain_stress, plane_stresses, spatial_stresses
from softground.media.elements.inertia import CONE, cone_mass
from softground.media.resistive.stress import GENERIC, plane_stress, spatial_stress
from softground.media.resistive.wrench import wrenches
from softground.robots import Robot
from softground.robots.shapes import Box, Cylinder
from softground.simulation import Simulator

DT = jnp.asarray(1e-3)
SHAPE = Box(0.2, 0.1, 0.05)
DOWN = jnp.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])


def foot_at(depth: float, shape=SHAPE) -> FootInGround:
    return FootInGround(jnp.asarray(depth), jnp.zeros(3), jnp.eye(3), jnp.eye(3))


@eqx.filter_jit
def moved(medium, foot, twist, steps: int = 30, dt=DT):
    """Wrenches (steps, 6) on a body that is held where it is and moved, as the ground remembers it."""

    def step(memory, _):
        law = medium.law(foot, memory, dt)
        return medium.remember(foot, memory, law, twist, dt), law.wrench(twist)

    return jax.lax.scan(step, medium.initial_memory(foot), None, length=steps)[1]


def test_plain_stress_is_that_of_the_theory():
    normal, velocity = directions(60), directions(80)
    n, v = np.repeat(normal, 80, 0), np.tile(velocity, (60, 1))
    expected = np.where((n * v).sum(1, keepdims=True) > 0, spatial_stress(n, v, 0.5) / GENERIC, 0.0)
    found = jax.jit(plain_stress, static_argnums=0)(spatial_stresses, n, v, 0.5)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_plane_law_is_that_of_its_plane_however_it_is_turned():
    """Plates and motions in the x-z plane, then both turned about the vertical."""
    normal, velocity = (
        one / np.linalg.norm(one, axis=1)[:, None] for one in directions(62)[:60].reshape(2, 30, 3) * [1, 0, 1]
    )
    expected = plane_stress(normal, velocity) / GENERIC
    np.testing.assert_allclose(plane_stresses(normal, velocity), expected, atol=1e-14)
    turn = Rotation.from_euler("z", 0.7).as_matrix()
    np.testing.assert_allclose(plane_stresses(normal @ turn.T, velocity @ turn.T), expected @ turn.T, atol=1e-14)


@pytest.mark.parametrize("shape", [Box(0.2, 0.1, 0.05), Box(0.1, 0.1, 0.05)], ids=str)
def test_a_level_sole_bears_what_vesic_says(shape):
    """Pressure at a depth by which all of it is there, over that of resistive force theory: with rho g N_q s_q = scale
    the two terms of bearing-capacity theory, as published."""
    angle, depth = np.radians(30.0), 0.06
    n_q, n_gamma, ratio = 18.40, 22.40, shape.width / shape.length  # Vesic 1973, table for 30 degrees
    s_q, s_gamma = 1 + ratio * np.tan(angle), 1 - 0.4 * ratio
    scale = 0.3e6  # N/m3
    surface_term = 0.5 * scale / (n_q * s_q) * shape.width * n_gamma * s_gamma
    down = jnp.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    forces = [
        float(moved(medium.for_foot(shape, False), foot_at(depth, shape), down, 1)[0, 2])
        for medium in (Elements(0.3), Elements(0.3, bearing=angle))
    ]
    area = shape.length * shape.width
    mobilised = 1 - np.exp(-depth / (0.05 * shape.width))
    np.testing.assert_allclose((forces[1] - forces[0]) / area, mobilised * surface_term, rtol=0.02)  # table: 3 digits


@pytest.mark.parametrize("heading", [(1.0, 0.0, 0.0), (0.6, 0.3, -0.5), (-0.2, 0.9, -0.1), (0.0, 0.5, 0.5)])
def test_a_body_in_steady_motion_meets_plain_theory(heading):
    """No spin: all elements go one way, and forces are those of the plain stresses, from any convex set of the past."""
    medium = Elements(length=0.005).for_foot(SHAPE, False)
    twist = jnp.concatenate([0.1 * jnp.array(heading) / np.linalg.norm(heading), jnp.zeros(3)])
    found = moved(medium, foot_at(0.04), twist, steps=400)[-1]
    plain = wrenches(SHAPE.panels(), "3d", np.eye(3)[None], np.array([0.04]), np.asarray(twist)[None])[0, 0, 0]
    size = np.linalg.norm(plain[:3]) + 1.0
    # 0.5 % of the depth is lost by rounding, as much of the past is fresh, and corners are round over eps / load.
    np.testing.assert_allclose(found[:3], plain[:3], atol=0.03 * size)


def test_grains_forget_over_their_length():
    """After a way s the direction of the past is (1 - exp(-s / length)) of the present one."""
    length, speed, steps = 0.005, 0.05, 80
    medium = Elements(length=length).for_foot(SHAPE, False)
    foot, memory = foot_at(0.03), Elements(length=length).for_foot(SHAPE, False).initial_memory(foot_at(0.03))
    remember = jax.jit(lambda foot, memory: medium.remember(foot, memory, None, speed * DOWN, DT))
    for _ in range(steps):
        memory = remember(foot, memory)
    assert float(-memory.past[2]) == pytest.approx(1 - np.exp(-speed * steps * 1e-3 / length), rel=1e-9)
    in_air = remember(foot_at(-0.01), memory)
    np.testing.assert_array_equal(in_air.past, 0.0)


def test_drag_grows_with_the_square_of_speed():
    """density * area * speed^2 on the sole, on top of what does not depend on speed; nothing on the way up."""
    density = 1600.0
    slow, fast = (Elements(density=density, inertia=one).for_foot(SHAPE, False) for one in (None, 1.0))
    foot = foot_at(0.03)
    for speed in (0.1, 1.0, 2.0):
        lifts = [float(moved(one, foot, speed * DOWN, 1)[0, 2]) for one in (slow, fast)]
        assert lifts[1] - lifts[0] == pytest.approx(density * SHAPE.area * speed**2, rel=1e-9)
    up = [moved(one, foot, -DOWN, 1)[0] for one in (slow, fast)]
    np.testing.assert_allclose(*up, atol=1e-12)


def test_cone_is_complete_at_its_depth():
    """Mass of a cone of height r tan(60) / 2: a third of that of the cylinder around it."""
    area, radius = jnp.array([0.01]), 0.05
    deep, deeper = (
        cone_mass(jnp.asarray(1500.0), area, jnp.array([-1.0]), jnp.array([z]), radius) for z in (0.0434, 0.2)
    )
    assert float(deep[0]) == pytest.approx(1500 * 0.01 * CONE * radius / 3, rel=1e-3)
    assert float(deeper[0]) == pytest.approx(float(deep[0]), rel=1e-3)


def test_momentum_given_to_grains_is_what_the_body_loses():
    """Impulse on a body that is suddenly moved at v: mass of the grains times v, and none once they move along."""
    shape, speed, depth = Cylinder(0.05, 0.05), 0.5, 0.02
    still, heavy = (Elements(1e-6, added_mass=one).for_foot(shape, False) for one in (None, 1.0))
    lifts = [moved(one, foot_at(depth), speed * DOWN, 3)[:, 2] for one in (still, heavy)]
    impulse = float(DT) * np.asarray(lifts[1] - lifts[0])
    mean = heavy.placed(foot_at(depth)).depth[np.asarray(heavy.normal[:, 2]) < -0.9][0]
    mass = float(cone_mass(jnp.asarray(1500.0), jnp.array([shape.area]), jnp.array([-1.0]), mean[None], 0.05)[0])
    np.testing.assert_allclose(impulse, [mass * speed, 0.0, 0.0], atol=1e-6 * mass)


def test_grains_that_still_move_away_do_not_resist():
    """A body that stops for a step and goes on: its grains were slowed by the ground, as much as the ground resists."""
    medium, foot = Elements(0.2, added_mass=1.0).for_foot(Cylinder(0.05, 0.05), False), foot_at(0.02)
    plain = Elements(0.2).for_foot(Cylinder(0.05, 0.05), False)

    @jax.jit
    def stopped_for_a_step():
        fresh = medium.initial_memory(foot)
        law = medium.law(foot, fresh, DT)
        memory = medium.remember(foot, fresh, law, 0.5 * DOWN, DT)
        coasting = medium.law(foot, memory, DT)
        after = medium.remember(foot, memory, coasting, jnp.zeros(6), DT)
        forces = law.wrench(1e-9 * DOWN)[2], coasting.wrench(jnp.zeros(6))[2]
        return *forces, plain.law(foot, (), DT).wrench(0.5 * DOWN)[2], memory.momentum - after.momentum

    force, coasting, resisted, slowed = stopped_for_a_step()
    sole = np.flatnonzero(np.asarray(medium.normal[:, 2]) < -0.9)
    lost = float(slowed[sole].sum())
    assert force >= 0
    assert lost == pytest.approx(float(resisted * DT), rel=0.1)  # walls rub a little
    assert abs(coasting) < 0.2 * resisted


def test_a_foot_is_held_by_suction_and_no_more():
    """Pulled up: suction times area; dragged along at the surface: cohesion times area; pushed: 2 + pi times it."""
    cohesion, suction = 2000.0, 800.0
    medium = Elements(1e-6, cohesion=cohesion, suction=suction).for_foot(SHAPE, False)
    sole = np.asarray(medium.normal[:, 2]) < -0.9
    only = eqx.tree_at(lambda one: one.area, medium, np.where(sole, medium.area, 0.0))
    up, along, down = (moved(only, foot_at(0.01), twist, 1)[0] for twist in (-DOWN, jnp.eye(6)[0], DOWN))
    assert float(up[2]) == pytest.approx(-suction * SHAPE.area, rel=1e-3)
    assert float(along[0]) == pytest.approx(-cohesion * SHAPE.area, rel=1e-3)
    assert float(down[2]) == pytest.approx((2 + np.pi) * cohesion * SHAPE.area, rel=1e-3)


@pytest.mark.parametrize("options", [{"length": 0.007, "level": 0.5}, {"inertia": 1.0, "added_mass": 1.0}], ids=str)
def test_a_foot_that_falls_comes_to_rest_and_never_gains_energy(options):
    simulator = Simulator(Robot.load("foot"), Elements(0.5, **options), 1e-3)
    state = simulator.initial_state(height=0.05)

    @jax.jit
    def roll(state):
        def step(state, _):
            after, record = simulator.step(state)
            mass = simulator.robot.mass_matrix(after.q)
            kinetic = after.v @ mass @ after.v / 2
            return after, (kinetic + 9.81 * mass[0, 0] * after.q[1], record.converged, after.v)

        return jax.lax.scan(step, state, None, length=600)[1]

    energy, converged, velocity = roll(state)
    assert converged.all()
    # Free fall in explicit steps gains m g^2 dt^2 / 2 a step; corners give up to eps log 2 watts each.
    assert np.diff(energy).max() < 7.4 * 9.81**2 * 1e-6 + 20e-3 * 1e-3
    assert np.abs(velocity[-1]).max() < 1e-3
