"""Environments: pure functions of one robot, whose physics is the simulator's and whose ground is its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import softground as sg
from softground.envs import TASKS, AutoReset, Grounds, make
from softground.errors import OptionError, RobotError
from softground.runs.verdict import wilson

from .env_cases import FOOT

ROBOTS = 4
ENV = make(FOOT, backend="xla")
LOOPED = AutoReset(ENV)
RESET, STEP = jax.jit(jax.vmap(ENV.reset)), jax.jit(jax.vmap(ENV.step))
LOOPED_STEP = jax.jit(jax.vmap(LOOPED.step))
ONE_STEP = eqx.filter_jit(lambda simulator, state, control: simulator.step(state, control))
KEYS = jax.random.split(jax.random.key(0), ROBOTS)
OTHERS = np.array([0, 2, 3])
ACTIONS = np.random.default_rng(0).uniform(-1, 1, (20, ROBOTS, 3))


def played(state, steps, step=STEP, actions=ACTIONS):
    for action in actions[:steps]:
        state = step(state, action)
    return state


def numbers(state):
    """What of a state is made of floats."""
    return [leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]


def test_the_same_key_gives_the_same_numbers_and_another_key_others():
    first, again = played(RESET(KEYS), 5), played(RESET(KEYS), 5)
    other = played(RESET(jax.random.split(jax.random.key(1), ROBOTS)), 5)
    for one, two in zip(numbers(first), numbers(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert np.abs(first.obs["state"] - other.obs["state"]).max() > 1e-3
    assert set(first.obs) == {"state", "privileged_state"}
    np.testing.assert_allclose(first.data.time, 5 * FOOT.period)


def test_a_robot_of_a_batch_has_the_ground_that_its_state_says():
    """Against simulators that were made with each strength, stepped one by one under the same joint references."""
    state = RESET(KEYS)
    strengths = np.asarray(state.info["ground"]["strength"])
    assert len(np.unique(strengths)) == ROBOTS
    assert strengths.min() >= 1
    assert strengths.max() <= 4
    end = played(state, 3)
    for k, strength in enumerate(strengths):
        ground = eqx.tree_at(lambda one: one.medium.strength, ENV.grounds.ground, np.asarray(strength))
        alone = sg.Simulator(ENV.robot, ground, FOOT.dt, backend="xla")
        now = jax.tree.map(lambda leaf, k=k: leaf[k], state.data)
        for action in ACTIONS[:3, k]:
            for _ in range(2):
                now, _ = ONE_STEP(alone, now, ENV.driven.control(jnp.asarray(action)))
        np.testing.assert_allclose(end.data.q[k], now.q, atol=1e-9)


def test_other_strengths_compile_nothing():
    state = played(RESET(KEYS), 1)
    compiled = STEP._cache_size()
    ground = {"strength": jnp.linspace(2.0, 9.0, ROBOTS)}
    played(state.replace(info=state.info | {"ground": ground}), 1)
    assert STEP._cache_size() == compiled


def test_rewards_and_endings_are_those_of_the_task():
    state = RESET(KEYS)
    tilted = state.replace(data=eqx.tree_at(lambda d: d.q, state.data, state.data.q.at[1, 2].set(0.7)))
    after = STEP(tilted, np.zeros((ROBOTS, 3)))
    np.testing.assert_array_equal(after.done, [0.0, 1.0, 0.0, 0.0])
    error = after.data.v[:, 0] - state.info["command"][:, 0]
    torque = after.metrics["reward/torque"] / -1e-5
    expected = 0.5 * (-10 * error**2 - 1e-5 * torque + 1 - 5 * after.done)
    np.testing.assert_allclose(after.reward, expected, rtol=1e-9)
    assert (torque > 0).all()


def test_one_bad_robot_leaves_the_others_alone():
    state = played(RESET(KEYS), 2)
    bad = ACTIONS[2].copy()
    bad[1, 0] = np.nan
    sound, broken = STEP(state, ACTIONS[2]), STEP(state, bad)
    np.testing.assert_array_equal(broken.metrics["invalid"], [0.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(broken.done, [0.0, 1.0, 0.0, 0.0])
    thrown = state.replace(data=eqx.tree_at(lambda d: d.v, state.data, state.data.v.at[1].set(np.inf)))
    for one in (broken, STEP(thrown, ACTIONS[2])):
        assert one.metrics["invalid"][1] == 1
        assert all(np.isfinite(leaf[OTHERS]).all() for leaf in numbers(one))
        np.testing.assert_array_equal(one.obs["state"][OTHERS], sound.obs["state"][OTHERS])
    assert all(np.isfinite(leaf).all() for leaf in numbers(broken))


def test_episodes_follow_one_another():
    state = jax.jit(jax.vmap(LOOPED.reset))(KEYS)
    assert LOOPED.actions == 20
    ground = np.asarray(state.info["ground"]["strength"])
    before = played(state, 19, LOOPED_STEP)
    after = LOOPED_STEP(before, ACTIONS[19])
    alive = np.asarray(before.info["steps"]) == 19
    assert alive.any()
    np.testing.assert_array_equal(after.info["truncation"][alive], 1.0)
    np.testing.assert_array_equal(after.done[alive], 1.0)
    np.testing.assert_array_equal(after.info["steps"][alive], 0)
    np.testing.assert_allclose(after.data.time[alive], 0.0)
    np.testing.assert_array_equal(after.info["last_episode"]["length"][alive], 20)
    assert (np.asarray(after.info["ground"]["strength"])[alive] != ground[alive]).all()
    assert np.abs(after.info["final_obs"]["state"] - after.obs["state"])[alive].max() > 1e-3


def test_an_episode_that_ends_is_not_cut_short():
    state = jax.jit(jax.vmap(LOOPED.reset))(KEYS)
    tilted = state.replace(data=eqx.tree_at(lambda d: d.q, state.data, state.data.q.at[1, 2].set(0.7)))
    after = LOOPED_STEP(tilted, ACTIONS[0])
    np.testing.assert_array_equal(after.done, [0.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(after.info["truncation"], 0.0)
    assert abs(float(after.data.q[1, 2])) < 0.1


def test_native_code_and_xla_agree():
    """To the solver's tolerance, 1e-9 J of a foot of 7 kg, over ten steps."""
    state = RESET(KEYS)
    native = jax.jit(jax.vmap(make(FOOT, backend="native").step))
    np.testing.assert_allclose(
        played(state, 5, native).obs["privileged_state"], played(state, 5).obs["privileged_state"], atol=1e-4
    )


def test_holding_is_stepping():
    simulator = ENV.simulator
    control = sg.Control(position=np.array([0.02, 0.0, 0.1]), kp=500.0, kd=20.0)
    state = simulator.initial_state(height=0.0)
    held, record = eqx.filter_jit(lambda simulator, state: simulator.hold(state, control, 3))(simulator, state)
    for _ in range(3):
        state, last = ONE_STEP(simulator, state, control)
    np.testing.assert_allclose(held.q, state.q, atol=1e-12)
    np.testing.assert_allclose(record.wrench_world, last.wrench_world, atol=1e-9)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_the_shapes_that_it_says(name):
    """Traced, not compiled."""
    env = make(name, backend="xla")
    state = jax.eval_shape(env.reset, jax.random.key(0))
    after = jax.eval_shape(env.step, state, jnp.zeros(env.action_size))
    assert jax.tree.structure(after) == jax.tree.structure(state)
    assert {name: part.shape for name, part in after.obs.items()} == env.observation_size
    assert [leaf.shape for leaf in jax.tree.leaves(after)] == [leaf.shape for leaf in jax.tree.leaves(state)]


def test_parameters_of_grounds_are_drawn_from_their_ranges():
    grounds = Grounds("foam", {"strength": (0.5, 2.0), "friction": (0.3, 0.9), "slope": (-0.1, 0.1)})
    drawn = jax.vmap(grounds.draw)(jax.random.split(jax.random.key(0), 4000))
    shares = np.asarray(jax.vmap(grounds.shares)(drawn))
    for name, share in zip(grounds.names, shares.T, strict=True):
        assert stats.kstest(share, "uniform").pvalue > 1e-3, name
    ground = grounds.with_parameters({"strength": np.asarray(2.0), "slope": np.asarray(0.1)})
    assert float(ground.medium.stiffness / sg.foam().stiffness) == 2.0
    assert float(ground.surface.slope) == 0.1


def test_a_task_brings_its_ranges_to_its_own_ground_and_to_no_other():
    """Sand named is the task's sand: at its strength of 1, as measured, Go1 tips over while standing."""
    go1 = TASKS["go1"]
    assert make("go1", "sand", backend="xla").grounds.ranges == make(go1, backend="xla").grounds.ranges == go1.vary
    assert make("robosimian", "sand", backend="xla").grounds.ranges == {"strength": (2.0, 2.0)}
    assert make(FOOT, "sand", {}, backend="xla").grounds.ranges == {}
    assert make(FOOT, "sand", {"slope": 0.1}, backend="xla").grounds.ranges == {"slope": (0.1, 0.1)}
    for other in ("foam", sg.sand(2.0), sg.Ground(sg.sand())):
        assert make(FOOT, other, backend="xla").grounds.ranges == {}


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: make("walk the dog"), "unknown task 'walk the dog'"),
        (lambda: make(FOOT, "sand", {"wetness": (0, 1)}), "unknown parameter of the ground 'wetness'"),
        (lambda: make(FOOT, "sand", {"strength": (2, 1)}), "low first"),
        (lambda: make(FOOT, "sand", {"strength": "much"}), "must be a number or two"),
        (lambda: sg.envs.Task(**{**vars(FOOT), "rewards": {"fame": 1.0}}), "unknown reward 'fame'"),
        (lambda: ENV.step(jax.jit(ENV.reset)(KEYS[0]), jnp.zeros(5)), r"must have shape \(3,\).*jax.vmap"),
    ],
)
def test_mistakes_are_named(make_it, message):
    with pytest.raises(OptionError, match=message):
        make_it()


def test_a_model_without_feet_is_told_how_to_name_them(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text("<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>")
    with pytest.raises(RobotError, match=r'no feet given and none marked.*<custom><text name="softground_feet"'):
        make(sg.envs.Task(**{**vars(FOOT), "robot": str(path)}))


@pytest.mark.parametrize(("successes", "trials"), [(0, 20), (13, 20), (500, 500)])
def test_wilsons_interval(successes, trials):
    expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(successes, trials), expected, atol=2e-5)
