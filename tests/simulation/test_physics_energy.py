"""The ground never adds energy: not in one step from any state, and not over a fall."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softground import media
from softground.contact.feet import feet_in_ground
from softground.contact.reference import half_spaces
from softground.media.elements.foot import ElementsFoot
from softground.simulation import Ground, Simulator, State
from softground.surfaces import Wave

from .physics_cases import (
    BALL,
    LIGHT_FOOT,
    MEDIA,
    ground_medium,
    inline,
    robot,
    robot_energy,
    simulator,
    stored_energy,
    trajectory,
)

ROUNDING = 1e-11  # J, of energies up to 1e4 J in double precision


@eqx.filter_jit
def over_steps(quantities, sim: Simulator, states: State):
    """Quantities, functions of (sim, before, after), in every step (n,) between states."""
    before = jax.tree.map(lambda x: x[:-1], states)
    after = jax.tree.map(lambda x: x[1:], states)
    return jax.vmap(lambda a, b: tuple(quantity(sim, a, b) for quantity in quantities))(before, after)


def allowance(sim: Simulator, before: State, after: State):
    """How much more than its stored energy the ground's model may give in one step, J.

    Wrench space: the power -u.dPhi is at most Phi(0) - Phi(u), that is eps log K a foot. Elements: Phi(0) is what the
    rounded corners leave, (1 + sqrt 2)/2 eps at most, with cohesion twice.
    Springs: `stored_energy` moves with the foot in two ways that do no work. The area of a point is
    projected on the surface (eqs 9 and 10 of romualdi2021), and the lemma's torque has no term for its
    change. And a point of a turning foot ends half omega^2 dt^2 |arm| away from where its velocity points.
    """
    medium = sim.feet_medium
    if isinstance(medium, media.WrenchSpace):
        return sim.dt * (medium.eps * jnp.log(medium.coefficients.shape[2] + 1)).sum()

    if isinstance(medium, ElementsFoot):
        return sim.dt * (1 + np.sqrt(2)) * jnp.sum(medium.medium.eps)

    def of_points(medium, foot0, foot1, memory, omega):
        _, _, stretch = medium._points(foot1, memory)
        area0, area1 = medium._areas(foot0), medium._areas(foot1)
        reach = jnp.linalg.norm(medium.sole.points, axis=-1)
        off = 0.5 * (omega * sim.dt) ** 2 * reach * 1.01
        size = jnp.linalg.norm(stretch, axis=-1)
        turned = jnp.maximum(area0, area1) * off * (size + off)
        return medium.medium.stiffness * (0.5 * jnp.abs(area1 - area0) * (size + off) ** 2 + turned).sum()

    place = lambda q: feet_in_ground(sim.robot, q, sim.ground.surface)  # noqa: E731
    omega = jnp.linalg.norm(sim.robot.foot_twists(before.q, after.v)[:, 3:], axis=-1)
    return jax.vmap(of_points)(medium, place(before.q), place(after.q), after.memory[0], omega).sum()


@eqx.filter_jit
def work_of_ground(sim: Simulator, q, v, wrench):
    """Work (n,) over the steps from q that ended with v, J."""
    twists = jax.vmap(sim.robot.foot_twists)(q, v)
    return sim.dt * (twists * wrench).sum((1, 2))


def check_steps(sim: Simulator, states: State, records):
    """In every step: work of the ground + growth of its stored energy <= allowance."""
    work = np.asarray(work_of_ground(sim, states.q[:-1], states.v[1:], records.wrench_world))
    growth = np.diff(np.asarray(stored_energy(sim, states)))
    (allowed,) = map(np.asarray, over_steps((allowance,), sim, states))
    assert records.converged.all()
    excess = work + growth - allowed
    assert excess.max() <= ROUNDING, f"step {excess.argmax()} gives {excess.max():.2e} J"
    return work


# -- one step, from anywhere -----------------------------------------------------------------------

speeds = st.floats(-3, 3)


@pytest.mark.parametrize("medium", MEDIA)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    depth=st.floats(-0.01, 0.06),
    pitch=st.floats(-1.2, 1.2),
    v=st.tuples(speeds, speeds, st.floats(-10, 10)),
    stretch=st.lists(st.floats(-0.01, 0.01), min_size=4, max_size=4),
)
def test_ground_gives_no_more_than_it_stored(medium, depth, pitch, v, stretch):
    sim = simulator("foot", medium)
    state = sim.initial_state(np.array([0.0, -depth, pitch]), np.array(v))
    if isinstance(sim.ground.medium, media.ViscoElastic):
        stretched = state.memory[0].anchor.at[0, :, 0].add(jnp.array(stretch))
        state = eqx.tree_at(lambda s: s.memory[0].anchor, state, stretched)
    check_steps(sim, *trajectory(sim, state, None, 3))


# -- many steps ------------------------------------------------------------------------------------


@pytest.mark.parametrize("medium", MEDIA)
def test_robosimian_under_random_torques(medium):
    sim, random = simulator("robosimian", medium), np.random.default_rng(0)
    state = sim.initial_state(v=0.3 * random.normal(size=15), height=-0.001)
    states, records = trajectory(sim, state, jnp.asarray(100 * random.normal(size=12)), 150)
    work = check_steps(sim, states, records)
    assert work.sum() < -1.0  # J: it was a fall


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("v", [(2.0, -0.5, 0.0), (0.3, -0.5, 3.0), (0.0, -2.0, -8.0)])
def test_energy_of_a_light_foot_never_grows(medium, v):
    """Constant inertia and a linear potential: a step changes the robot's energy by work - |dv|_M^2 / 2,
    exactly, and in free fall by -m (g dt)^2 / 2. So kinetic + potential + stored energy falls in every step
    (in the sand but for eps log K dt, on springs but for the turning of the sole)."""
    sim = Simulator(inline(LIGHT_FOOT), ground_medium(medium), 2e-3)
    states, records = trajectory(sim, sim.initial_state(np.array([0.0, 0.005, 0.1]), np.array(v)), None, 500)
    check_steps(sim, states, records)
    kinetic, potential = map(np.asarray, robot_energy(sim, states))
    stored = np.asarray(stored_energy(sim, states))
    total = kinetic + potential + stored
    (allowed,) = map(np.asarray, over_steps((allowance,), sim, states))
    assert (np.diff(total) <= allowed + ROUNDING).all()
    free = np.asarray(records.depth[:, 0]) < -1e-3
    free &= ~np.asarray(records.wrench_world != 0).any((1, 2))
    free &= stored[:-1] == 0  # a foot that leaves faster than springs follow leaves them behind
    np.testing.assert_allclose(np.diff(total)[free], -0.2 * (9.81 * 2e-3) ** 2 / 2, atol=1e-12)
    assert total[-1] < total[0] - 0.5 * kinetic[0]


def integrator_error(sim: Simulator, before: State, after: State):
    """Energy that a semi-implicit step makes on its own: none if inertia is constant and gravity's potential
    linear.

    M(q0) (v1 - v0) = dt (Q - bias(q0, v0)) and q1 = q0 + dt v1 give, without ground,
    T1 + V1 - T0 - V0 = -|v1 - v0|_M^2 / 2 + [T(q1, v1) - T(q0, v1) + V(q1) - V(q0) - dt v1.bias(q0, v0)].
    """
    rob, v1 = sim.robot, after.v
    kinetic = rob.kinetic_energy(after.q, v1) - rob.kinetic_energy(before.q, v1)
    potential = rob.potential_energy(after.q) - rob.potential_energy(before.q)
    return kinetic + potential - sim.dt * v1 @ rob.bias_force(before.q, before.v)


def speed_change(sim: Simulator, before: State, after: State):
    """|v1 - v0|_M^2 / 2, J."""
    return sim.robot.kinetic_energy(before.q, after.v - before.v)


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("name", ["foot", "robosimian"])
def test_energy_of_a_passive_robot_grows_by_the_integrators_error_only(name, medium):
    sim = simulator(name, medium)
    q = np.array(robot(name).posture)
    q[2] += 0.1
    states, records = trajectory(sim, sim.initial_state(q, height=0.01), None, 110)  # 0.22 s: below the limits
    kinetic, potential = map(np.asarray, robot_energy(sim, states))
    stored = np.asarray(stored_energy(sim, states))
    quantities = (integrator_error, speed_change, allowance)
    made, lost, allowed = map(np.asarray, over_steps(quantities, sim, states))
    work = np.asarray(work_of_ground(sim, states.q[:-1], states.v[1:], records.wrench_world))
    # The balance is exact up to the last Newton step, whose decrement is below 1e-12 J.
    np.testing.assert_allclose(np.diff(kinetic + potential), work - lost + made, atol=1e-8)
    total = kinetic + potential + stored
    assert (np.diff(total) <= made + allowed + 1e-8).all()
    # The error is of first order in dt over a run, and small beside what the ground dissipates.
    assert np.abs(made.sum()) < 0.05 * (total[0] - total[-1])
    assert total.max() - total[0] < 1e-3 * (total[0] - total[-1])


# -- wrenches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("medium", ["sand", "pebbles"])
def test_wrenches_of_a_run_stay_in_the_wrench_space(medium):
    """W by half-spaces at every foot of a walkless but lively run; the linear model of the last Newton step
    may leave it by 1e-3 of its size (see tests/contact)."""
    sim, random = simulator("robosimian", medium), np.random.default_rng(1)
    state = sim.initial_state(v=0.3 * random.normal(size=15), height=-0.02)
    states, records = trajectory(sim, state, jnp.asarray(60 * random.normal(size=12)), 150)

    def vertices(q):
        feet = feet_in_ground(sim.robot, q, sim.ground.surface)
        return jax.vmap(lambda m, foot: m.vertices(foot))(sim.feet_medium, feet)

    sets = np.asarray(jax.jit(jax.vmap(vertices))(states.q[:-1]))
    world = np.asarray(records.wrench_world)[..., [0, 2, 4]]  # level ground: the surface frame is the world's
    checked = 0
    for i in range(0, len(sets), 4):
        for hull, wrench in zip(sets[i], world[i], strict=True):
            if np.abs(hull).max() > 0:
                normals, bounds = half_spaces(hull[:-1])
                assert (normals @ wrench - bounds).max() < 1e-3 * np.abs(hull).max()
                checked += 1
    assert checked > 30


# -- on curved ground ------------------------------------------------------------------------------


def energy_gained_on_a_wave(dt: float) -> float:
    """The most that a ball rolling over waves ever has above what it started with, J."""
    sim = Simulator(inline(BALL), Ground(ground_medium("firm"), Wave(0.05, 0.8)), dt)
    first = sim.initial_state(v=np.array([1.2, 0.0, 24.0]))
    states, records = trajectory(sim, first, None, round(1.0 / dt))
    assert records.converged.all()
    total = np.sum(robot_energy(sim, states), axis=0) + np.asarray(stored_energy(sim, states))
    return float((total - total[0]).max())


def test_on_curved_ground_what_is_gained_vanishes_with_the_step():
    """A step goes along the tangent of the ground where it began: on a crest that lifts the foot off by
    kappa (v dt)^2 / 2, at a rate of first order in dt. One step never gives energy; the drift must vanish."""
    coarse, fine = energy_gained_on_a_wave(2e-3), energy_gained_on_a_wave(5e-4)
    assert coarse < 0.01 * (0.5 * 1.2**2)
    assert fine < 0.4 * coarse + ROUNDING
