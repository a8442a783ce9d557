"""How robots move on yielding ground, against other integrators, symmetries and the pull-back of slopes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.contact.feet import feet_in_ground
from softground.simulation import Control, Ground, Simulator
from softground.surfaces import Plane

from .physics_cases import (
    BALL,
    BLOCK,
    LIGHT_FOOT,
    MEDIA,
    ground_medium,
    hold,
    inline,
    rollout,
    simulator,
    trajectory,
    weight,
)

# -- what users report -----------------------------------------------------------------------------


@eqx.filter_jit
def explicitly(sim: Simulator, state, steps: int):
    """The same forces, but of the twist at the *start* of the step: what one gets by applying them from
    outside."""

    def body(state, _):
        kin = sim.robot.kinematics(state.q)
        feet = feet_in_ground(sim.robot, kin, sim.ground.surface)
        problem = sim.problem(state, Control())
        mass = sim.robot.mass_matrix(kin) + sim.dt * jnp.diag(sim.robot.damping)
        wrench, joint = problem.forces(state.v)
        velocity = jnp.linalg.solve(mass, problem.momentum + sim.dt * problem.generalised(wrench, joint))
        memory = jax.vmap(lambda m, *args: m.remember(*args, sim.dt))(
            sim.feet_medium, feet, state.memory[0], problem.contacts[0].laws, problem.twists(state.v)[0]
        )
        q = sim.robot.integrate(state.q, velocity, sim.dt)
        after = eqx.tree_at(lambda s: (s.q, s.v, s.memory), state, (q, velocity, (memory,)))
        return after, after

    return jax.lax.scan(body, state, None, length=steps)[1]


@pytest.mark.parametrize("medium", ["sand", "firm"])
def test_light_foot_is_flung_by_explicit_forces_and_not_by_the_convex_step(medium):
    """A foot of 0.2 kg, dropped from 10 cm with a tilt of 0.3 rad, at dt = 5 ms, for a second.

    One step of 40 N, which sand gives at 1 cm, changes its speed by 1 m/s: explicit forces overshoot, turn
    the foot over and throw it out again. The convex step finds the force that stops it: it is nowhere faster
    than it was in free fall, 1.4 m/s, and comes to rest.
    """
    sim = Simulator(inline(LIGHT_FOOT), ground_medium(medium), 5e-3)
    state = sim.initial_state(np.array([0.0, 0.1, 0.3]))
    explicit = explicitly(sim, state, 200)
    flipped = np.abs(explicit.q[:, 2]).max() > np.pi
    flung = not np.isfinite(explicit.v).all() or np.abs(explicit.v[:, :2]).max() > 2.0
    assert flipped or flung
    assert not np.abs(explicit.v[-1]).max() < 1.0  # and it goes on

    states, records = trajectory(sim, state, None, 200)
    assert records.converged.all()
    assert np.abs(states.v[:, :2]).max() < np.sqrt(2 * 9.81 * 0.1) + 9.81 * 5e-3
    assert np.abs(states.q[:, 2]).max() <= 0.5
    # At rest in sand it creeps by eps over its weight, 5e-4 m/s, and turns by that over its radius, 1e-2
    # rad/s.
    assert np.abs(states.v[-1]).max() < 2e-2
    assert -0.02 < states.q[-1, 1] < 0.005
    np.testing.assert_allclose(np.mean(records.wrench_world[-50:, 0, 2]), 0.2 * 9.81, rtol=1e-2)


# -- other integrators -----------------------------------------------------------------------------


def fall_on_springs(height: float, steps: int, fine: int) -> np.ndarray:
    """Heights at every millisecond of a flat foot dropped on the visco-elastic ground, by explicit steps."""
    area, mass, medium = np.pi * 0.05**2, 7.357, ground_medium("visco_elastic")
    k, b, dt = area * float(medium.stiffness), area * float(medium.damping), 1e-3 / fine
    z, v, heights = height, 0.0, [height]
    for i in range(steps * fine):
        push = max(-k * z - b * v, 0.0) if z < 0 else 0.0
        v += dt * (push / mass - 9.81)
        z += dt * v
        if (i + 1) % fine == 0:
            heights.append(z)
    return np.array(heights)


def test_implicit_steps_of_1_ms_follow_explicit_ones_of_10_us():
    """Fall, impact, lift-off (0.2 s) within 1 % of the way; then a second landing, which doubles the
    difference.

    Both are of first order: free fall ends g t dt / 2 = 0.5 mm apart after 0.1 s, and so half as much at
    half the step."""
    height, steps = 0.05, 400
    exact = fall_on_springs(height, steps, 100)
    way, errors = height - exact.min(), {}
    for dt, every in ((1e-3, 1), (5e-4, 2)):
        sim = simulator("foot", "visco_elastic", dt)
        states, _ = trajectory(sim, sim.initial_state(np.array([0.0, height, 0.0])), None, steps * every)
        errors[dt] = np.abs(np.asarray(states.q[::every, 1]) - exact)
    first = errors[1e-3][:200].max() / way
    print(f"\nimplicit 1 ms against explicit 10 us: {first:.2%}, later {errors[1e-3].max() / way:.2%}")
    assert exact.min() < -0.01
    assert first < 0.01
    assert errors[1e-3].max() < 0.03 * way
    assert 1.7 < errors[1e-3].max() / errors[5e-4].max() < 2.3


@pytest.mark.by_both_backends
@pytest.mark.parametrize(("medium", "friction"), [(media.Firm, 0.8), (media.Firm, 0.3), (media.ViscoElastic, 0.6)])
def test_sliding_block_decelerates_at_friction_times_gravity(medium, friction):
    """Coulomb: |dv/dt| = mu g whatever the direction, with the weight carried at the static sinkage.

    The friction of a step is bounded by the normal force of the one before; in steady sliding they are the
    same. The usual convex cone would lift the block by mu times its speed, times b / k.
    """
    sim = Simulator(inline(BLOCK), medium(friction=friction), 1e-3)
    stiffness = float(sim.ground.medium.stiffness) * 0.2 * 0.1
    sinkage = 0.5 * 9.81 / stiffness
    q, v = np.array([0.0, 0.0, -sinkage, 1.0, 0.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    steps = int(0.9 * np.hypot(1.0, 0.5) / (friction * 9.81) / 1e-3)
    states, records = trajectory(sim, sim.initial_state(q, v), None, 300)
    speed, heading = np.linalg.norm(states.v[:, :2], axis=1), np.arctan2(states.v[:, 1], states.v[:, 0])
    slowing = -np.diff(speed[:steps]) / 1e-3
    np.testing.assert_allclose(slowing.mean(), friction * 9.81, rtol=1e-6)
    np.testing.assert_allclose(slowing[5:], friction * 9.81, rtol=1e-2)
    np.testing.assert_allclose(heading[:steps], heading[0], atol=1e-4)
    np.testing.assert_allclose(states.q[:steps, 2], -sinkage, rtol=1e-6)
    force = np.asarray(records.wrench_world[5:steps, 0])
    np.testing.assert_allclose(np.linalg.norm(force[:, :2], axis=1), friction * force[:, 2], rtol=1e-6)
    if steps < 200:  # it has stopped, and stays
        assert speed[-1] < 1e-5
    assert records.converged.all()


def test_block_on_a_slope_sticks_below_the_angle_of_friction_and_slides_above():
    """mu = 0.5 holds up to 26.6 degrees; on 30 degrees it slides at g (sin - mu cos)."""
    for degrees, slides in ((20.0, False), (30.0, True)):
        slope = np.radians(degrees)
        sim = Simulator(inline(BLOCK), Ground(media.Firm(friction=0.5), Plane(slope)), 1e-3)
        turn = np.array([np.cos(slope / 2), 0.0, -np.sin(slope / 2), 0.0])  # ground that rises towards +x
        sinkage = 0.5 * 9.81 * np.cos(slope) / (1e8 * 0.02)
        place = -sinkage * np.array([-np.sin(slope), 0.0, np.cos(slope)])
        after, records = rollout(sim, sim.initial_state(np.r_[place, turn]), None, 300)
        along = -np.asarray(after.v) @ np.r_[np.cos(slope), 0.0, np.sin(slope), np.zeros(3)]
        expected = 9.81 * (np.sin(slope) - 0.5 * np.cos(slope)) * 0.3 if slides else 0.0
        np.testing.assert_allclose(along, expected, rtol=1e-2, atol=1e-5)
        assert records.converged.all()


@pytest.mark.by_both_backends
def test_ball_rolls_on():
    """Rolling without slip: nothing but the ball's sinking resists, and a resting depth has none left."""
    sim = Simulator(inline(BALL), ground_medium("firm"), 2e-3)
    settled, _ = rollout(sim, sim.initial_state(height=0.0), None, 500)
    pushed = eqx.tree_at(lambda s: s.v, settled, jnp.array([1.0, 0.0, 1.0 / 0.05]))
    after, _ = rollout(sim, pushed, None, 500)
    # The point of contact is the ball's lowest, radius from the centre: to rounding, speed stays and equals
    # r omega.
    np.testing.assert_allclose(after.v, [1.0, 0.0, 20.0], atol=1e-9)
    np.testing.assert_allclose(after.q[0] - settled.q[0], 1.0, atol=1e-9)


# -- symmetries ------------------------------------------------------------------------------------

MIRROR_FOOT = np.array([-1.0, 1.0, -1.0])


def mirrored(robot_name: str, x: np.ndarray) -> np.ndarray:
    """x -> -x: pitch and joint angles change sign, RoboSimian's front and rear limbs change places."""
    if robot_name == "foot":
        return MIRROR_FOOT * x
    return np.concatenate([MIRROR_FOOT * x[:3], -x[9:15], -x[3:9]])


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("name", ["foot", "robosimian"])
def test_mirrored_states_move_in_mirrored_ways(name, medium):
    """Over 50 steps (0.1 s) of a landing. Directions and tilts of the media's samples are mirror images, so
    their fits are to about 1e-9; contact does not amplify differences, free tumbling only a little."""
    sim, random = simulator(name, medium), np.random.default_rng(5)
    q = np.array(sim.robot.posture)
    q[2:] += 0.15 * random.normal(size=len(q) - 2)
    v = 0.4 * random.normal(size=len(q))
    one, records = trajectory(sim, sim.initial_state(q, v, height=-0.005), None, 50)
    other, _ = trajectory(sim, sim.initial_state(mirrored(name, q), mirrored(name, v), height=-0.005), None, 50)
    expected = np.array([mirrored(name, np.asarray(x)) for x in one.v])
    assert np.abs(records.wrench_world).max() > 1.0
    np.testing.assert_allclose(other.v, expected, atol=1e-5 * np.abs(expected).max())


def turned(x: np.ndarray, slope: float, angle: float) -> np.ndarray:
    """Planar base coordinates or velocities (x, z, pitch + angle, ...) turned with ground that rises by
    `slope`."""
    c, s = np.cos(slope), np.sin(slope)
    return np.concatenate([[c * x[0] - s * x[1], s * x[0] + c * x[1], x[2] + angle], x[3:]])


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("name", ["foot", "robosimian"])
def test_slope_is_flat_ground_under_turned_gravity(name, medium):
    """zhu2021's pull-back: the wrench set turns with the surface. Ground that rises by s towards +x is level
    ground seen by an observer turned by -s about y; to him gravity points s towards -x. The two runs are the
    same motion."""
    slope = 0.2
    random = np.random.default_rng(6)
    level = simulator(name, medium)
    gravity = 9.81 * np.array([-np.sin(slope), 0.0, -np.cos(slope)])
    level = eqx.tree_at(lambda s: s.robot.gravity, level, gravity)
    inclined = simulator(name, medium, slope=slope)
    q = np.array(level.robot.posture)
    q[2:] += 0.1 * random.normal(size=len(q) - 2)
    v = 0.3 * random.normal(size=len(q))
    flat, records = trajectory(level, level.initial_state(q, v, height=-0.005), None, 60)
    q = np.asarray(flat.q[0])
    hill, _ = trajectory(inclined, inclined.initial_state(turned(q, slope, -slope), turned(v, slope, 0.0)), None, 60)
    assert np.abs(records.wrench_world).max() > 1.0
    expected_v = np.array([turned(np.asarray(x), slope, 0.0) for x in flat.v])
    expected_q = np.array([turned(np.asarray(x), slope, -slope) for x in flat.q])
    # Rounding, grown by 60 steps of a tumbling chain and by the solver's tolerance (1e-12 J).
    np.testing.assert_allclose(hill.v, expected_v, atol=2e-7)
    np.testing.assert_allclose(hill.q, expected_q, atol=1e-8)
    wrong = np.abs(np.asarray(hill.v) - np.asarray(flat.v)).max()
    assert wrong > 1e-2  # the comparison could have failed


# -- rest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("name", ["foot", "robosimian"])
def test_weight_is_carried_at_rest(name, medium):
    sim = simulator(name, medium)
    control = (
        hold(sim) if name == "robosimian" else Control(position=jnp.zeros(3), kp=jnp.array([0.0, 0, 300]), kd=10.0)
    )
    after, records = rollout(sim, sim.initial_state(height=0.005), control, 2500)
    lift = np.asarray(records.wrench_world[-1, :, 2]).sum()
    # The PD controller of the foot damps z as well: at the speed of creep, which is below 1e-3 m/s, that is 1e-2 N.
    np.testing.assert_allclose(lift, weight(sim.robot), rtol=1e-3)
    assert np.abs(after.v).max() < 2e-3
    assert records.converged.all()


@pytest.mark.parametrize("slope", [0.0, 5.0])
@pytest.mark.parametrize("medium", ["sand", "pebbles"])
def test_resting_foot_creeps_less_than_a_millimetre_in_10_s(medium, slope):
    """At the default eps, after 3 s to settle; pitch is held upright, x and z are free."""
    sim = simulator("foot", medium, 5e-3, np.radians(slope))
    upright = -np.radians(slope)
    control = Control(
        position=jnp.array([0.0, 0.0, upright]),
        kp=jnp.array([0.0, 0.0, 300.0]),
        kd=jnp.array([0.0, 0.0, 10.0]),
    )
    settled, _ = rollout(sim, sim.initial_state(np.array([0.0, 0.0, upright]), height=0.001), control, 600)
    after, records = rollout(sim, settled, control, 2000)
    creep = np.linalg.norm(np.asarray(after.q - settled.q)[:2])
    print(f"\ncreep in 10 s on {medium} at {slope} degrees: {1e3 * creep:.3f} mm")
    assert records.converged.all()
    assert creep < 1e-3
