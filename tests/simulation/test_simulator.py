"""The simulator: free flight, batches, precision, flags, and what it refuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.contact import BatchNewton, Newton
from softground.contact.feet import feet_in_ground
from softground.errors import OptionError
from softground.simulation import Control, Ground, Simulator
from softground.simulation.batch import rollout_batch
from softground.surfaces import Plane, Wave

from .physics_cases import (
    LIGHT_FOOT,
    MEDIA,
    ground_medium,
    hold,
    inline,
    pendulum,
    robot,
    rollout,
    simulator,
    step,
    stored_energy,
    trajectory,
)

GRAINS = [14.714, 14.714, 0.122]  # kg, kg, kg m2: zhu2019

# -- free flight -----------------------------------------------------------------------------------


@pytest.mark.parametrize("medium", MEDIA)
def test_free_fall_is_ballistic(medium):
    """Semi-implicit Euler is exact in v and ahead by g t dt / 2 in z. The centre of mass of a tumbling chain
    does not know of its tumbling, up to the integrator's first order."""
    sim, dt, steps = simulator("foot", medium), 2e-3, 100
    v = np.array([0.7, 1.5, 0.0])
    after, records = rollout(sim, sim.initial_state(np.array([0.0, 1.0, 0.3]), v), None, steps)
    t = dt * steps
    np.testing.assert_allclose(after.v, [0.7, 1.5 - 9.81 * t, 0.0], atol=1e-12)
    np.testing.assert_allclose(after.q, [0.7 * t, 1.0 + 1.5 * t - 9.81 * t * (t + dt) / 2, 0.3], atol=1e-12)
    np.testing.assert_array_equal(records.wrench_world, 0.0)
    np.testing.assert_array_equal(np.asarray(after.time), pytest.approx(t))


def test_centre_of_mass_of_robosimian_falls_freely():
    sim, random = simulator("robosimian", "sand"), np.random.default_rng(0)
    first = sim.initial_state(v=0.5 * random.normal(size=15), height=3.0)
    torque = jnp.asarray(20 * random.normal(size=12))
    states, records = trajectory(sim, first, torque, 100)
    after = jax.tree.map(lambda x: x[100], states)
    momentum = lambda s: np.asarray(sim.robot.centroidal_momentum(s.q, s.v))  # noqa: E731
    change = (momentum(after) - momentum(first))[:3] / float(sim.robot.total_mass)
    # M(q0) (v1 - v0) balances at the start of each step: the momentum's error is of first order, 1 % here.
    np.testing.assert_allclose(change, [0.0, 0.0, -9.81 * 0.2], atol=0.02)
    assert (np.asarray(records.depth) < 0).all()


# -- runs and batches ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "medium"), [("foot", "sand"), ("foot", "visco_elastic"), ("robosimian", "sand")])
def test_rollout_is_repeated_steps(name, medium):
    sim = simulator(name, medium)
    state = first = sim.initial_state(height=-0.002)
    control = hold(sim) if name == "robosimian" else None
    for _ in range(10):
        state, record = step(sim, state, control)
    end, records = eqx.filter_jit(lambda state: sim.rollout(state, control, 10))(first)
    # One program or another: rounding, and the solver's tolerance of 1e-12 J on 100 kg.
    np.testing.assert_allclose(end.v, state.v, atol=1e-8)
    np.testing.assert_allclose(records.wrench_world[-1], record.wrench_world, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(records.time, 2e-3 * np.arange(10), atol=1e-12)


def test_rollout_takes_torques():
    """Under `filter_jit` as under `jit` around a closure."""
    sim = pendulum()
    torques = jnp.asarray(np.random.default_rng(0).normal(size=(20, 1)))
    for run in (eqx.filter_jit(sim.rollout), jax.jit(lambda *args: sim.rollout(*args))):
        after, records = run(sim.initial_state(), torques)
        np.testing.assert_allclose(after.v[1], torques.sum() * 2e-3 / 0.1, rtol=1e-12)
        np.testing.assert_array_equal(records.torque, torques)


@pytest.mark.by_both_backends
def test_rollout_takes_policies():
    sim = pendulum()
    policy = lambda state: Control(-2.0 * state.v[1:])  # noqa: E731
    by_policy, _ = eqx.filter_jit(lambda s: sim.rollout(s, policy, 20))(sim.initial_state(v=np.array([0.0, 1.0])))
    np.testing.assert_allclose(by_policy.v[1], (1 - 2.0 * 2e-3 / 0.1) ** 20, rtol=1e-12)


@pytest.mark.parametrize(("name", "medium"), [("robosimian", "sand"), ("foot", "visco_elastic")])
def test_batches_equal_a_loop(name, medium):
    sim, random = simulator(name, medium), np.random.default_rng(1)
    states = [sim.initial_state(v=0.2 * random.normal(size=sim.robot.nv), height=-0.01 * i) for i in range(4)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    control = hold(sim) if name == "robosimian" else None
    run = lambda state: sim.rollout(state, control, 10)  # noqa: E731
    together, records = eqx.filter_jit(jax.vmap(run))(batch)
    for i, state in enumerate(states):
        alone, record = rollout(sim, state, control, 10)
        np.testing.assert_allclose(together.v[i], alone.v, atol=1e-7)
        np.testing.assert_array_equal(records.iterations[i], record.iterations)


@pytest.mark.parametrize("medium", ["sand", "visco_elastic"])
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_rollout_batch_equals_a_loop_of_rollouts(medium, device, monkeypatch):
    """One after another, as on a CPU, and all together with `BatchNewton`, as XLA does on an accelerator (here on the
    CPU too). Both converge to 1e-12 J."""
    monkeypatch.setattr("softground.simulation.batch.jax.default_backend", lambda: device)
    solver = BatchNewton() if device == "gpu" else Newton()
    sim = Simulator(robot("foot"), ground_medium(medium), 2e-3, solver=solver, backend="xla")
    q = [np.array([0.0, 0.002 * i, 0.1 - 0.1 * i]) for i in range(3)]
    states = [sim.initial_state(one, np.array([0.2, -0.5, 0.5])) for one in q]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    policy = lambda state: Control(-2.0 * state.v)  # noqa: E731
    found = jax.jit(lambda s: rollout_batch(sim, s, policy, 20))(batch)
    plain = eqx.tree_at(lambda s: s.solver, sim, Newton())
    alone = jax.jit(lambda s: plain.rollout(s, policy, 20)[0])
    for i, state in enumerate(states):
        one = alone(state)
        np.testing.assert_allclose(found.v[i], one.v, atol=1e-6)
        np.testing.assert_allclose(found.q[i], one.q, atol=1e-8)
        np.testing.assert_allclose(found.time[i], one.time)


def test_twists_are_kept_for_the_next_guess():
    """Twists of the last step and of the one before are kept; from rest both are zero."""
    sim = simulator("foot", "sand")
    first = sim.initial_state(np.array([0.0, -0.02, 0.1]), np.array([0.05, -0.1, 0.2]))
    np.testing.assert_array_equal(first.twists[0], np.zeros((3, 1, 3)))
    second, one = step(sim, first)
    third, two = step(sim, second)
    np.testing.assert_array_equal(third.twists[0], [two.twist, one.twist, np.zeros((1, 3))])


@pytest.mark.parametrize("medium", MEDIA)
def test_single_precision_works_and_stays_close(medium):
    """0.1 s of a landing under a PD controller. Single precision holds 1e-7 of a 1 m height: 1e-7 m of depth, or
    1e-5 of it, and v to 1e-6 m/s a step; contact and PD controller damp what comes in, so 1e-3 over 50 steps is
    ample."""
    sim = simulator("robosimian", medium)
    control = hold(sim)
    double, _ = rollout(sim, sim.initial_state(height=0.001), control, 50)
    to_single = lambda tree: jax.tree.map(  # noqa: E731
        lambda x: jnp.asarray(x, jnp.float32) if eqx.is_inexact_array(x) else x, tree
    )
    single, records = rollout(sim, to_single(sim.initial_state(height=0.001)), to_single(control), 50)
    assert single.v.dtype == jnp.float32
    assert records.wrench_world.dtype == jnp.float32
    assert records.finite.all()
    np.testing.assert_allclose(single.v, double.v, atol=2e-3)
    np.testing.assert_allclose(single.q, double.q, atol=1e-4)
    worst, mean = np.abs(single.v - double.v).max(), records.iterations.mean()
    print(f"\nsingle precision on {medium}: iterations {mean:.1f}, dv {worst:.1e}")
    assert records.converged.all()


def test_single_precision_with_controls_in_double():
    """A NumPy array of targets is float64: it must not turn the state of a run into another type."""
    sim = simulator("robosimian", "sand")
    state = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), sim.initial_state(height=0.001))
    after, _ = rollout(sim, state, hold(sim), 2)
    assert after.v.dtype == jnp.float32


# -- flags -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("medium", MEDIA)
def test_nan_is_flagged_and_nothing_raises(medium):
    sim = simulator("robosimian", medium)
    state = sim.initial_state(height=0.01)
    for broken in (
        eqx.tree_at(lambda s: s.v, state, state.v.at[3].set(jnp.nan)),
        eqx.tree_at(lambda s: s.q, state, state.q.at[1].set(jnp.nan)),
        eqx.tree_at(lambda s: s.v, state, state.v.at[3].set(jnp.inf)),
    ):
        _, record = step(sim, broken)
        assert not record.finite
        assert not record.converged


@pytest.mark.by_both_backends
def test_too_few_iterations_are_flagged():
    sim = Simulator(robot("foot"), ground_medium("sand"), 2e-3, solver=Newton(max_iterations=0))
    state = sim.initial_state(np.array([0.0, -0.02, 0.0]), np.array([0.05, -0.01, 0.2]))
    state = eqx.tree_at(lambda s: s.twists[0], state, jnp.full_like(state.twists[0], 5.0))
    _, record = step(sim, state)
    assert not record.converged
    assert record.finite


def test_leaving_the_data_is_flagged():
    sim = simulator("foot", "sand")
    _, shallow = step(sim, sim.initial_state(np.array([0.0, -0.02, 0.0])))
    _, deep = step(sim, sim.initial_state(np.array([0.0, -0.5, 0.0])))
    assert shallow.outside_data.tolist() == [False]
    assert deep.outside_data.tolist() == [True]


# -- initial states --------------------------------------------------------------------------------


depths = eqx.filter_jit(lambda robot, q, surface: feet_in_ground(robot, q, surface).depth)


@pytest.mark.parametrize("surface", [Plane(), Plane(0.3), Plane(-0.4), Wave(0.05, 0.8)], ids=lambda s: s.type_name)
@pytest.mark.parametrize("height", [0.0, 0.1, -0.02])
def test_height_places_the_lowest_foot(surface, height):
    sim = Simulator(robot("robosimian"), Ground(ground_medium("sand"), surface), 2e-3)
    q = np.array(sim.robot.posture)
    q[0] = 0.37
    state = sim.initial_state(q, height=height)
    depth = depths(sim.robot, state.q, surface)
    np.testing.assert_allclose(-np.asarray(depth).max(), height, atol=1e-9)
    np.testing.assert_array_equal(np.delete(np.asarray(state.q), 1), np.delete(q, 1))


@pytest.mark.parametrize("medium", ["visco_elastic", "firm"])
def test_feet_that_start_in_the_ground_are_not_stretched(medium):
    """Touch-down is now: only depth loads the springs."""
    sim = simulator("robosimian", medium)
    state = sim.initial_state(height=-1e-4)
    batch = jax.tree.map(lambda x: x[None], state)
    area, k = np.pi * 0.05**2, float(ground_medium(medium).stiffness)
    np.testing.assert_allclose(stored_energy(sim, batch)[0], 4 * area * k * 1e-8 / 2, rtol=1e-6)


@pytest.mark.by_both_backends
def test_record_tells_what_happened():
    """The record's forces move the robot: M (v1 - v0) = dt (torque + J'f - bias)."""
    sim, random = simulator("robosimian", "sand"), np.random.default_rng(4)
    state = sim.initial_state(v=0.2 * random.normal(size=15), height=-0.02)
    after, record = step(sim, state, jnp.asarray(20 * random.normal(size=12)))
    rob = sim.robot
    change = np.asarray(rob.mass_matrix(state.q) @ (after.v - state.v)) / 2e-3
    force = np.einsum("fi,fiv->v", record.wrench_world, rob.foot_jacobians(state.q))
    force[3:] += np.asarray(record.torque)
    np.testing.assert_allclose(change, force - np.asarray(rob.bias_force(state.q, state.v)), atol=1e-6)
    np.testing.assert_array_equal(record.q, state.q)
    assert np.abs(record.wrench_world).max() > 10


def test_grain_inertia_slows_a_foot_in_sand():
    """Grains that move along make the ground's choice of wrench stiffer against motion: less speed is
    left."""
    plain = Simulator(robot("foot"), ground_medium("sand"), 2e-3)
    grains = Simulator(robot("foot"), ground_medium("sand"), 2e-3, grain_inertia=GRAINS)
    state = plain.initial_state(np.array([0.0, -0.02, 0.1]), np.array([0.02, -0.03, 0.1]))
    a, _ = step(plain, state)
    b, record = step(grains, state)
    assert record.converged
    energy = lambda v: float(np.asarray(v) @ np.diag(GRAINS) @ np.asarray(v))  # noqa: E731
    assert energy(b.v) <= energy(a.v)
    assert np.abs(np.asarray(a.v - b.v)).max() > 1e-6
    none = Simulator(robot("foot"), ground_medium("sand"), 2e-3, grain_inertia=[0.0, 0.0, 0.0])
    c, _ = step(none, state)
    np.testing.assert_allclose(c.v, a.v, atol=1e-9)


def test_record_tells_what_happened_with_grains():
    """The same balance; and the twist on record is that of the foot."""
    sim = Simulator(robot("robosimian"), ground_medium("sand"), 2e-3, grain_inertia=GRAINS)
    random = np.random.default_rng(0)
    state = sim.initial_state(v=0.2 * random.normal(size=15), height=-0.03)
    after, record = step(sim, state, jnp.asarray(20 * random.normal(size=12)))
    rob = sim.robot
    change = np.asarray(rob.mass_matrix(state.q) @ (after.v - state.v)) / 2e-3
    force = np.einsum("fi,fiv->v", record.wrench_world, rob.foot_jacobians(state.q))
    force[3:] += np.asarray(record.torque)
    np.testing.assert_allclose(change, force - np.asarray(rob.bias_force(state.q, state.v)), atol=1e-6)
    np.testing.assert_allclose(record.twist, rob.foot_twists(state.q, after.v)[:, [0, 2, 4]], atol=1e-9)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf])
def test_bad_time_step_is_refused(dt):
    with pytest.raises(OptionError, match="dt must be a positive time step in seconds, got"):
        Simulator(robot("foot"), ground_medium("firm"), dt)


@pytest.mark.parametrize(
    "grains",
    [
        [1.0, 1.0],
        [-1.0, 1.0, 1.0],
        np.eye(6),
        [np.nan, 1.0, 1.0],
        [np.inf, 1.0, 1.0],
        np.eye(3) + 5 * np.eye(3, k=1),  # not symmetric
    ],
)
def test_bad_grain_inertia_is_refused(grains):
    with pytest.raises(OptionError, match="grain_inertia must be 3 diagonal entries or a positive semidefinite 3 x 3"):
        Simulator(robot("foot"), ground_medium("firm"), 2e-3, grain_inertia=grains)


def test_pd_with_grains_is_refused():
    sim = Simulator(robot("foot"), ground_medium("sand"), 2e-3, grain_inertia=GRAINS)
    with pytest.raises(OptionError, match="grain_inertia goes with torques, not PD control"):
        sim.step(sim.initial_state(), Control(position=jnp.zeros(3), kp=1.0))


@pytest.mark.parametrize("gains", [{"kp": 1.0}, {"kd": 0.5}, {"kd": np.array([0.5])}])
def test_gains_without_a_position_are_refused(gains):
    with pytest.raises(OptionError, match=r"Control\(position=...\) beside its gains"):
        Control(**gains)


def test_bad_states_are_refused():
    sim = simulator("foot", "firm")
    with pytest.raises(OptionError, match=r"q must have shape \(3,\) for foot, got \(4,\)"):
        sim.initial_state(np.zeros(4))
    with pytest.raises(OptionError, match=r"v must have shape \(3,\) for foot, got \(2,\)"):
        sim.initial_state(v=np.zeros(2))
    with pytest.raises(OptionError, match=r"q must be finite, got \[nan\] at entries \[1\]"):
        sim.initial_state(np.array([0.0, np.nan, 0.0]))
    with pytest.raises(OptionError, match="height of the lowest foot must be finite"):
        sim.initial_state(height=np.nan)
    with pytest.raises(OptionError, match="v must be finite"):
        sim.initial_state(v=np.array([0.0, 0.0, np.inf]))


def test_rollout_without_length_is_refused():
    sim = simulator("foot", "firm")
    with pytest.raises(OptionError, match="number of steps"):
        sim.rollout(sim.initial_state(), None)


def test_unbound_media_are_bound_to_the_feet():
    sim = Simulator(inline(LIGHT_FOOT), media.Firm(), 2e-3)
    assert sim.feet_medium.kind == "planar"
    assert sim.feet_medium.sole.points.shape == (1, 4, 3)
