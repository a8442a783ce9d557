"""Trainers that people have, on the environments: rsl_rl's runner, our training by its PPO, Brax's PPO."""

import copy
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="training needs softground[rl]")
pytest.importorskip("rsl_rl", reason="training needs softground[rl]")

from softground.bridges.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from softground.bridges.rsl_rl import RslRlEnv, Settings, Training, train  # noqa: E402
from softground.cli import app  # noqa: E402
from softground.envs import TASKS, Grounds, Policy, make  # noqa: E402
from softground.errors import FileFormatError, OptionError  # noqa: E402
from softground.runs import Run  # noqa: E402

from ..envs.env_cases import FOOT  # noqa: E402

ENV = make(FOOT, backend="xla")
SETTINGS = Settings(robots=4, steps=3, hidden=(8,), epochs=1, batches=2)


def test_rsl_rls_runner_takes_the_environment_as_it_is(tmp_path, capsys):
    from rsl_rl.runners import OnPolicyRunner

    robots = RslRlEnv(ENV, 4)
    runner = OnPolicyRunner(robots, SETTINGS.for_rsl_rl(), str(tmp_path), "cpu")
    before = runner.alg.get_policy().state_dict()["mlp.0.weight"].clone()
    runner.learn(2, init_at_random_ep_len=True)
    assert "Mean action std" in capsys.readouterr().out
    assert list(tmp_path.glob("model_*.pt"))
    assert not torch.equal(before, runner.alg.get_policy().state_dict()["mlp.0.weight"])


def test_tensors_are_those_of_the_environment():
    robots = RslRlEnv(ENV, 4)
    seen = robots.get_observations()
    np.testing.assert_allclose(seen["state"], np.float32(robots.state.obs["state"]))
    assert seen["privileged_state"].shape == (4, *ENV.observation_size["privileged_state"])
    robots.episode_length_buf = torch.full((4,), robots.max_episode_length - 1)
    _, reward, done, extras = robots.step(torch.zeros(4, 3))
    assert reward.dtype == torch.float32
    np.testing.assert_array_equal(done, 1)
    np.testing.assert_array_equal(extras["time_outs"], 1.0)
    one_bad = torch.zeros(4, 3)
    one_bad[1, 0] = torch.nan
    seen, reward, done, extras = robots.step(one_bad)
    np.testing.assert_array_equal(done, [0, 1, 0, 0])  # its episode ends, and not because time was up
    np.testing.assert_array_equal(extras["time_outs"], 0.0)
    assert torch.isfinite(seen["state"]).all()
    assert torch.isfinite(reward).all()
    with pytest.raises(OptionError, match=r"must have shape \(4, 3\)"):
        robots.step(torch.zeros(3, 4))


def test_a_training_leaves_a_policy_and_goes_on_from_its_checkpoint(tmp_path):
    seen = []
    path = train(ENV, tmp_path, SETTINGS, iterations=2, every=1, report=lambda k, found: seen.append(found["reward"]))
    assert len(seen) == 2
    policy = Policy.load(path)
    assert policy.card["actions"] == 2 * SETTINGS.samples
    with pytest.raises(OptionError, match="is there already: resume"):
        train(ENV, tmp_path, SETTINGS, iterations=3)
    resumed = Training(ENV, SETTINGS)
    resumed.resume(tmp_path / "checkpoint.npz")
    assert resumed.iterations == 2
    for (weights, biases), (old_weights, old_biases) in zip(resumed.policy().layers, policy.layers, strict=True):
        np.testing.assert_array_equal(weights, old_weights)
        np.testing.assert_array_equal(biases, old_biases)
    actor, states = resumed.ppo.get_policy(), resumed.env.get_observations()
    np.testing.assert_allclose(policy(states["state"].numpy()), actor(states).detach(), atol=1e-5)
    for ground, settings, message in (
        (ENV.grounds, Settings(robots=4, steps=3, hidden=(4,)), "another settings"),
        (Grounds("foam", ENV.grounds.ranges), SETTINGS, r"another ground \(sand, not foam\): go on with the same"),
        (Grounds("sand", {"strength": 2.0}), SETTINGS, r"another vary \({'strength': \[1.0, 4.0\]}, not"),
    ):
        other = copy.copy(ENV)
        other.grounds = ground
        with pytest.raises(OptionError, match=message):
            train(other, tmp_path, settings, iterations=3, resume=True)
    with pytest.raises(OptionError, match="how long to train"):
        train(ENV, tmp_path / "other", SETTINGS)


@pytest.mark.slow
def test_the_commands_train_resume_and_play(tmp_path, monkeypatch):
    """As users call them, in single precision; playing imports nothing of the trainer."""
    monkeypatch.setitem(TASKS, "foot", FOOT)
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        with jax.enable_x64(False):
            result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return result

    begun = call("train", "foot", "--ground", "sand", "--out", "new", "--robots", 4, "--iterations", 1)
    assert "ground: sand, with strength=1:4" in begun.stderr
    card = json.loads(
        call("train", "foot", "--out", "new", "--robots", 4, "--iterations", 2, "--resume", "--json").stdout
    )
    assert card["ground"] == "sand"
    assert card["vary"] == {"strength": [1.0, 4.0]}
    assert card["actions"] == 2 * Settings(robots=4).samples
    refused = call("train", "foot", "--ground", "foam", "--out", "new", "--robots", 4, "--resume", code=2)
    assert "another ground (sand, not foam)" in refused.stderr
    for trainer in ("torch", "rsl_rl", "tensordict", "softground.bridges.rsl_rl"):
        monkeypatch.setitem(sys.modules, trainer, None)
    judged = ["play", "new/policy.npz", "--ground", "sand", "--episodes", 4]
    row = json.loads(call(*judged, "--json").stdout)["grounds"]["sand"]
    assert row["vary"] == card["vary"]
    assert row["episodes"] == 4
    assert "sand strength=1:4" in call(*judged).stdout
    walked = call("play", "new/policy.npz", "--command", "0.1,0,0", "--seconds", 0.1, "--out", "walk.nc", "--json")
    assert json.loads(walked.stdout)["steps"] == 20
    assert Run.load("walk.nc").sizes["time"] == 20


def test_checkpoints_give_back_what_was_saved_and_nothing_else(tmp_path):
    content = {"a": torch.arange(3.0), "b": {0: [1, None, torch.tensor(2)]}, "c": "text"}
    path = save_checkpoint(tmp_path / "one.npz", content)
    again = load_checkpoint(path)
    assert torch.equal(again["a"], content["a"])
    assert again["b"][0][:2] == [1, None]
    assert int(again["b"][0][2]) == 2
    np.savez(path, about=np.frombuffer(json.dumps({"format": "softground checkpoint 0"}).encode(), np.uint8))
    with pytest.raises(FileFormatError, match="softground checkpoint 0"):
        load_checkpoint(path)
    with pytest.raises(FileFormatError, match=r"there is no checkpoint.*begin without --resume"):
        load_checkpoint(tmp_path / "none.npz")


@pytest.mark.slow
def test_braxs_ppo_takes_the_environment(monkeypatch):
    """Brax 0.14.2 calls a function that JAX has taken away; this is what it did."""
    ppo = pytest.importorskip("brax.training.agents.ppo.train")
    from softground.bridges import brax

    def replicated(tree, devices):
        return jax.tree.map(lambda leaf: jnp.stack([leaf] * len(devices)), tree)

    monkeypatch.setattr(jax, "device_put_replicated", replicated, raising=False)
    make_policy, params, metrics = ppo.train(
        ENV,
        num_timesteps=32,
        episode_length=FOOT.actions,
        num_envs=4,
        batch_size=4,
        num_minibatches=1,
        unroll_length=4,
        num_updates_per_batch=1,
        num_evals=2,
        num_eval_envs=4,
        normalize_observations=True,
        wrap_env_fn=brax.wrap,
        network_factory=brax.network_factory((8,)),
    )
    assert np.isfinite(metrics["eval/episode_reward"])
    policy = brax.policy_of(params, ENV)
    policy.check_fits(ENV)
    seen = jax.jit(jax.vmap(ENV.reset))(jax.random.split(jax.random.key(0), 4)).obs
    actions, _ = make_policy(params, deterministic=True)(seen, jax.random.PRNGKey(0))
    np.testing.assert_allclose(policy(seen["state"]), FOOT.action_bound * actions, atol=1e-6)
    with pytest.raises(OptionError, match="held for the task's period"):
        brax.wrap(ENV, 10, action_repeat=2)
