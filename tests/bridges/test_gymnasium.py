"""Gymnasium's robots and our tasks on soft ground: its own checker, seeds, vectors, and what a fall ends."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.envs.mujoco.mujoco_env import expand_model_path
from gymnasium.utils.env_checker import check_env

import softground as sg
import softground.bridges.gymnasium
from softground.bridges.gymnasium import TaskEnv, TaskVectorEnv
from softground.bridges.gymnasium.locomotion import with_floor_of
from softground.errors import MediumError, OptionError

from ..envs.env_cases import FOOT

IDS = ["softground/Ant-v0", "softground/Walker2d-v0"]
#: All others that are registered: our own tasks.
TASKS = sorted(name for name in gymnasium.registry if name.startswith("softground/") and name not in IDS)


@cache
def task_env(name) -> Any:
    """One environment of a task for several tests, compiled once."""
    return gymnasium.make(name).unwrapped


def rollout(env, seed, steps=30):
    """Observations and rewards under random actions."""
    random = np.random.default_rng(seed)
    seen = [env.reset(seed=seed)[0]]
    rewards = []
    for _ in range(steps):
        observation, reward, ended, _, _ = env.step(random.uniform(-0.3, 0.3, env.action_space.shape))
        seen.append(observation)
        rewards.append(reward)
        if ended:
            break
    return np.array(seen), np.array(rewards)


@pytest.mark.parametrize("ground", ["sand", "foam"])
@pytest.mark.parametrize("name", IDS)
def test_gymnasiums_own_checker(name, ground):
    check_env(gymnasium.make(name, ground=ground).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", IDS)
def test_seeds_repeat_and_the_ground_carries(name):
    env = gymnasium.make(name, ground="sand")
    first, again, other = rollout(env, 1), rollout(env, 1), rollout(env, 2)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert np.abs(first[0][0] - other[0][0]).max() > 1e-3
    robot: Any = env.unwrapped
    assert robot.dt == pytest.approx({"softground/Ant-v0": 0.05, "softground/Walker2d-v0": 0.008}[name])
    assert np.isfinite(first[0]).all()
    assert robot.ground.converged


def test_ground_that_varies_is_drawn_for_every_episode():
    """The ant's, with one program for all: what is chosen is what an environment of that ground alone has."""
    env = gymnasium.make(IDS[0], ground="sand", vary={"strength": (1.0, 4.0), "slope": (-0.1, 0.1)})
    check_env(env.unwrapped, skip_render_check=True)
    drawn = [env.reset(seed=seed)[1]["ground"] for seed in (3, 4, 3)]
    assert drawn[0] == drawn[2] != drawn[1] != env.reset()[1]["ground"]
    assert all(1 <= one["strength"] <= 4 and abs(one["slope"]) <= 0.1 for one in drawn)
    alone = gymnasium.make(IDS[0], ground="sand")
    one = env.reset(seed=3, options={"ground": {"strength": 1.0, "slope": 0.0}})[0]
    other = alone.reset(seed=3)[0]
    for action in np.random.default_rng(0).uniform(-0.3, 0.3, (10, 8)):
        np.testing.assert_allclose(one, other, atol=1e-8)
        one, _, _, _, info = env.step(action)
        other = alone.step(action)[0]
    assert info["ground"] == {"strength": 1.0, "slope": 0.0}
    for bad, message in (({"strength": -1.0}, "must not be negative"), ({"wetness": 1.0}, "unknown parameter")):
        with pytest.raises(OptionError, match=message):
            env.reset(options={"ground": bad})
    with pytest.raises(OptionError, match="let it vary when the environment is made"):
        alone.reset(options={"ground": {"strength": 2.0}})
    robot: Any = env.unwrapped
    env.reset(options={"ground": {"slope": 0.1}})
    ray, body = np.array([1.0, 0.0, 3.0]), np.zeros(1, np.int32)
    down = mujoco.mj_ray(robot.model, robot.data, ray, np.array([0.0, 0.0, -1.0]), None, 1, -1, body)
    assert 3.0 - down == pytest.approx(np.tan(0.1), abs=1e-6)  # the floor that is drawn has moved


def test_observations_have_the_grounds_force():
    """cfrc_ext of the ant's shanks, in its observation, is the sand's force on them."""
    env: Any = gymnasium.make(IDS[0], ground="sand", contact_force_range=(-100.0, 100.0)).unwrapped
    env.reset(seed=0)
    observation = np.zeros(0)
    for _ in range(40):
        observation = env.step(np.zeros(8))[0]
    before = env.data.qpos.copy()
    with pytest.raises(OptionError, match=r"finite numbers, got \[nan\] at entries \[3\]: nothing has moved"):
        env.step(np.where(np.arange(8) == 3, np.nan, 0.0))
    with pytest.raises(ValueError, match=r"Expected \(8,\), found \(3,\)"):  # Gymnasium's own
        env.step(np.zeros(3))
    np.testing.assert_array_equal(env.data.qpos, before)
    force = observation[-78:].reshape(13, 6)[:, 5].sum()
    assert force == pytest.approx(env.ground.wrenches[:, 2].sum() + env.ground.body_wrenches[:, 2].sum())
    assert force == pytest.approx(env.model.body_subtreemass[0] * 9.81, rel=0.5)


def test_vector_environments_are_single_ones():
    several: Any = gymnasium.make_vec(IDS[0], num_envs=2, vectorization_mode="sync", ground="foam")
    seen = several.reset(seed=[3, 4])[0]
    actions = np.random.default_rng(0).uniform(-0.3, 0.3, (10, 2, 8))
    for action in actions:
        seen = several.step(action)[0]
    for k, seed in enumerate((3, 4)):
        env = gymnasium.make(IDS[0], ground="foam")
        alone = env.reset(seed=seed)[0]
        for action in actions:
            alone = env.step(action[k])[0]
        np.testing.assert_array_equal(seen[k], alone)


def test_the_programs_of_the_pages():
    """docs/from_gymnasium.md and docs/from_playground.md, as printed."""
    docs = Path(__file__).parents[2] / "docs"
    names: dict = {}
    for page in (docs / "from_gymnasium.md", docs / "from_playground.md"):
        for program in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
            exec(compile(program, str(page), "exec"), names)
    assert np.isfinite(names["observation"]).all()
    assert np.isfinite(names["observations"]).all()
    assert np.isfinite(names["state"].reward).all()
    assert len(set(names["state"].info["ground"]["strength"].tolist())) == 8


def test_a_medium_or_a_ground_will_do_and_others_are_named():
    env: Any = gymnasium.make(IDS[0], ground=sg.Ground(sg.sand(2.0), sg.Plane(slope=0.1), bodies=sg.firm()))
    assert rollout(env, 0, 3)[0].shape[1] == env.observation_space.shape[0]
    with pytest.raises(MediumError, match="unknown medium 'quicksand'"):
        gymnasium.make(IDS[0], ground="quicksand")


@pytest.mark.parametrize("surface", [sg.Plane(slope=0.1, heading=0.5), sg.surfaces.Wave(0.1, 4.0)])
def test_the_floor_that_gymnasium_draws_is_the_true_ground(surface):
    """By MuJoCo's own rays. A field's cells (20 cm) leave out l^2 z'' / 8 of a wave, 1.2 mm."""
    model = with_floor_of(surface, expand_model_path("ant.xml"))
    data, body = mujoco.MjData(model), np.zeros(1, np.int32)
    mujoco.mj_forward(model, data)
    for x, y in [(-7.0, 3.0), (0.33, -2.2), (11.1, 8.0)]:
        down = mujoco.mj_ray(model, data, np.array([x, y, 5.0]), np.array([0.0, 0.0, -1.0]), None, 1, -1, body)
        assert model.geom(body[0]).name == "floor"
        assert 5.0 - down == pytest.approx(float(surface.height(np.array([x, y]))), abs=2e-3)


@pytest.mark.parametrize("name", TASKS)
def test_gymnasiums_own_checker_on_our_tasks_and_seeds_repeat(name):
    env = task_env(name)
    check_env(env, skip_render_check=True)
    first, again, other = rollout(env, 1, 5), rollout(env, 1, 5), rollout(env, 2, 5)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert np.abs(first[0][0] - other[0][0]).max() > 1e-3


def test_all_are_registered_with_their_time_limits():
    assert {name.split("/")[1] for name in TASKS} == {"RoboSimian-v0", "Go1-v0", "ANYmal-v0", "G1-v0"}
    for spec in map(gymnasium.spec, TASKS):
        assert spec.max_episode_steps == sg.envs.TASKS[spec.kwargs["task"]].actions
        assert spec.vector_entry_point is not None
    for name in IDS:
        theirs = gymnasium.spec(name.replace("softground/", "").replace("v0", "v5"))
        assert gymnasium.spec(name).max_episode_steps == theirs.max_episode_steps


def test_vectors_of_our_tasks_are_single_ones_to_the_last_bit_by_native_code():
    several: Any = gymnasium.make_vec("softground/Go1-v0", num_envs=2)
    alone = task_env("softground/Go1-v0")
    seen, one = several.reset(seed=[4, 5])[0], alone.reset(seed=5)[0]
    np.testing.assert_array_equal(seen[1], one)
    for actions in np.random.default_rng(0).uniform(-0.5, 0.5, (5, 2, 12)).astype(np.float32):
        seen, reward, *_ = several.step(actions)
        one, alone_reward, *_ = alone.step(actions[1])
        np.testing.assert_array_equal(seen[1], one)
        assert reward[1] == alone_reward


def test_robots_of_a_vector_are_single_ones_and_begin_anew():
    """To rounding, until an episode ends; the vector then has the last observation and the next episode's first."""
    several = TaskVectorEnv(FOOT, num_envs=3, backend="xla", max_episode_steps=8)
    alone = TaskEnv(FOOT, backend="xla")
    seen, info = several.reset(seed=[4, 5, 6])
    one, told = alone.reset(seed=5)
    np.testing.assert_array_equal(seen[1], one)
    assert told["ground"]["strength"] == info["ground"]["strength"][1]
    actions = np.random.default_rng(0).uniform(-1, 1, (8, 3, 3)).astype(np.float32)
    with pytest.raises(OptionError, match=r"robots \[2\] are not"):
        several.step(np.where(np.arange(3)[:, None] == 2, np.nan, actions[0]))
    for k, action in enumerate(actions):  # nothing was lost
        seen, reward, ended, late, info = several.step(action)
        one, alone_reward, alone_ended, _, _ = alone.step(action[1])
        assert reward[1] == pytest.approx(alone_reward, rel=1e-9)
        assert ended[1] == alone_ended
        last = k == len(actions) - 1
        np.testing.assert_allclose(info["final_obs"][1] if last else seen[1], one, atol=1e-6)
    assert late.all()
    assert (seen != np.stack(list(info["final_obs"]))).any()
    again, _ = several.reset(seed=4)
    np.testing.assert_array_equal(again[1], alone.reset(seed=5)[0])


def test_a_ground_can_be_chosen_and_mistakes_are_named():
    env = TaskEnv(FOOT, backend="xla")
    assert env.reset(seed=0, options={"ground": {"strength": 3.0}})[1]["ground"]["strength"] == 3.0
    with pytest.raises(OptionError, match=r"must have shape \(3,\), one number for every.*gymnasium\.make_vec"):
        env.step(np.zeros(4))
    with pytest.raises(OptionError, match=r"robots \[0\] are not"):
        env.step(np.array([0.0, np.nan, 0.0]))
    assert np.isfinite(env.step(np.zeros(3))[0]).all()  # nothing was lost
    with pytest.raises(OptionError, match="unknown render mode"):
        TaskEnv(FOOT, render_mode="human")
    with pytest.raises(OptionError, match="reset the environment"):
        TaskEnv(FOOT, backend="xla").step(np.zeros(3))


def test_pictures_have_the_true_ground():
    """A slope that was drawn for the episode is in the picture: its two halves differ, and from the level one."""
    env = TaskEnv(FOOT, "sand", {"slope": (-0.5, 0.5)}, backend="xla", render_mode="rgb_array")
    pictures = []
    for slope in (0.0, 0.4):
        env.reset(seed=0, options={"ground": {"slope": slope}})
        pictures.append(env.render())
    level, inclined = pictures
    assert level.shape == inclined.shape == (320, 480, 3)
    assert np.abs(level.astype(float) - inclined).mean() > 3
    env.close()
